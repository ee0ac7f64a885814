#pragma once
// DemoServer: the page, its events and its buttons, at 127.0.0.1. A request that changes something
// needs the header X-Foedus-Demo, which a page of another site cannot send unasked.

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tools/foedus/demo/feed.h"
#include "tools/foedus/demo/instance.h"

namespace httplib {
class Server;
}

namespace foedus::cli {

class DemoServer {
 public:
  explicit DemoServer(Feed* feed);
  DemoServer(const DemoServer&) = delete;
  DemoServer& operator=(const DemoServer&) = delete;
  // Stops, as stop() does.
  ~DemoServer();

  // Takes the port; 0: any. Returns the port, or -1: it is in use.
  int bind(std::uint16_t port);
  // Begins to answer, on threads of its own. The instances live until stop().
  // REQUIRES: bind().
  void serve(const std::vector<Instance*>& instances);
  // Ends all requests; none reaches an instance afterwards. REQUIRES: the feed is closed.
  void stop();

 private:
  Feed* const feed_;
  std::unique_ptr<httplib::Server> http_;
  std::thread thread_;
};

}  // namespace foedus::cli
