#include "tools/foedus/demo/demo.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/foedus/demo/feed.h"
#include "tools/foedus/demo/instance.h"
#include "tools/foedus/demo/server.h"

namespace foedus::cli {

namespace {

namespace fs = std::filesystem;

// A new directory that goes with the object.
class OwnDirectory {
 public:
  // errno says why name() is empty.
  explicit OwnDirectory(const std::string& parent) : name_(parent + "/foedus-demo-XXXXXX") {
    if (::mkdtemp(name_.data()) == nullptr) name_.clear();
  }
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;
  ~OwnDirectory() {
    std::error_code ignored;
    if (!name_.empty()) fs::remove_all(name_, ignored);
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

std::string parent_directory(const DemoPlan& plan) {
  if (!plan.dir.empty()) return plan.dir;
  if (::access("/dev/shm", W_OK) == 0) return "/dev/shm";
  const char* const temporary = std::getenv("TMPDIR");
  return temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
}

// Returns the program of the instances, which lies beside this one; empty: there is none.
std::string instance_program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path program = self.parent_path() / "tpcc_live";
  return !error && ::access(program.c_str(), X_OK) == 0 ? program.string() : std::string();
}

std::unique_ptr<Instance> make_instance(const std::string& name, const char* glean,
                                        const std::string& program, const std::string& root,
                                        const DemoPlan& plan, Feed* feed) {
  const std::string acks = root + "/" + name + "-acks";
  std::error_code ignored;  // without the directory the process fails, and says so
  fs::create_directory(acks, ignored);
  std::vector<std::string> command = {program,
                                      "--dir=" + root + "/" + name,
                                      "--ack_dir=" + acks,
                                      std::string("--glean=") + glean,
                                      "--warehouses=" + std::to_string(plan.warehouses),
                                      "--sessions=" + std::to_string(plan.sessions)};
  if (plan.is_small) {
    command.insert(command.end(), {"--small", "--memory_bytes=536870912"});
  }
  return std::make_unique<Instance>(name, std::move(command), root + "/" + name + ".stderr", feed);
}

ExitStatus fail(std::ostream* err, const std::string& message) {
  *err << "foedus demo: " << message << '\n';
  return ExitStatus::kCannotRead;
}

}  // namespace

ExitStatus run_demo(const DemoPlan& plan, std::ostream* out, std::ostream* err) {
  const std::string program = instance_program();
  if (program.empty()) {
    return fail(err,
                "this build has no demo: there is no tpcc_live beside the program. Build with "
                "FOEDUS_BUILD_EXPERIMENTS=ON");
  }
  // All threads inherit the mask, so that the signals wait for sigwait() below.
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Feed feed;
  DemoServer server(&feed);
  const int port = server.bind(plan.port);
  if (port < 0) {
    return fail(err, "port " + std::to_string(plan.port) +
                         " of 127.0.0.1 is in use: choose another one with --port");
  }
  const std::string parent = parent_directory(plan);
  const OwnDirectory root(parent);
  if (root.name().empty()) {
    return fail(err, "cannot make a directory in " + parent + ": " + std::strerror(errno));
  }
  const auto with = make_instance("snapshots", "on", program, root.name(), plan, &feed);
  const auto without = make_instance("log-only", "off", program, root.name(), plan, &feed);
  server.serve({with.get(), without.get()});
  *out << "http://127.0.0.1:" << port << "/\n"
       << "The databases are in " << root.name() << ". Ctrl-C ends the demo and removes them."
       << std::endl;
  int signal = 0;
  ::sigwait(&signals, &signal);
  feed.close();
  server.stop();
  return ExitStatus::kFine;
}

}  // namespace foedus::cli
