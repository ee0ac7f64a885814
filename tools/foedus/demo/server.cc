#include "tools/foedus/demo/server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "tools/foedus/demo/assets.h"

namespace foedus::cli {

namespace {

constexpr char kHost[] = "127.0.0.1";

void send_events(Feed* feed, httplib::Response* response) {
  response->set_header("Cache-Control", "no-store");
  response->set_chunked_content_provider(
      "text/event-stream",
      [feed, next = std::uint64_t{0}](std::size_t, httplib::DataSink& sink) mutable {
        if (feed->is_closed()) {
          sink.done();
          return true;
        }
        std::string text;
        for (const std::string& line : feed->wait(&next)) text += "data: " + line + "\n\n";
        if (text.empty()) text = ":\n\n";  // a comment, which shows that a reader has gone
        return sink.write(text.data(), text.size());
      });
}

}  // namespace

DemoServer::DemoServer(Feed* feed) : feed_(feed), http_(std::make_unique<httplib::Server>()) {
  // Without SO_REUSEPORT, which would let two servers share a port unnoticed.
  http_->set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  constexpr std::size_t kThreads = 16;  // each open page takes one
  http_->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
}

DemoServer::~DemoServer() { stop(); }

void DemoServer::stop() {
  if (!thread_.joinable()) return;
  http_->stop();
  thread_.join();
}

int DemoServer::bind(std::uint16_t port) {
  if (port == 0) return http_->bind_to_any_port(kHost);
  return http_->bind_to_port(kHost, port) ? port : -1;
}

void DemoServer::serve(const std::vector<Instance*>& instances) {
  for (int i = 0; i < kDemoAssets; ++i) {
    const DemoAsset& asset = demo_assets()[i];
    http_->Get(
        std::string(asset.path), [&asset](const httplib::Request&, httplib::Response& response) {
          response.set_content(asset.bytes.data(), asset.bytes.size(), std::string(asset.type));
        });
  }
  http_->Get("/events", [this](const httplib::Request&, httplib::Response& response) {
    send_events(feed_, &response);
  });
  for (Instance* const instance : instances) {
    http_->Post("/kill/" + instance->name(),
                [instance](const httplib::Request& request, httplib::Response& response) {
                  response.status = 403;
                  if (!request.has_header("X-Foedus-Demo")) return;
                  instance->kill();
                  response.status = 204;
                });
  }
  thread_ = std::thread([this] { http_->listen_after_bind(); });
  while (!http_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace foedus::cli
