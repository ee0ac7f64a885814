#pragma once
// Instance: one database and the process that uses it.
//
//   running ──kill()──► killed ──────────────────────► running     (started again at once)
//   running ──the process ends by itself──► failed ──kill()──► running
//   any ──destructor──► ended
//
// D1. One thread starts the process, reads its lines and waits for its end. A child asks the kernel
//     to be killed with the thread that started it, so that thread lives as long as the instance.
// D2. A signal goes to a process only while its number is in pid_, under the mutex: the number of a
//     process that was waited for may belong to another one.

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/foedus/demo/feed.h"

namespace foedus::cli {

class Instance {
 public:
  // Starts the process. `command`: the program and its arguments. `error_path`: the file of what it
  // writes to stderr. `feed` outlives the instance.
  Instance(std::string name, std::vector<std::string> command, std::string error_path, Feed* feed);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  // Kills the process and waits for its end.
  ~Instance();

  const std::string& name() const { return name_; }
  // Kills the process with SIGKILL and starts it again; one that has failed is only started.
  // Returns at once. Any thread.
  void kill();

 private:
  void run();
  // Returns the number of the process, whose stdout is the pipe `*output`; -1 and errno.
  pid_t start(int* output);
  void read_lines(int output);
  void announce(const std::string& event, const std::string& message = {});
  void announce_end(int wait_status);
  // Returns true if the process is to be started again; waits for that if it has failed.
  bool wait_for_restart();

  const std::string name_;
  const std::vector<std::string> command_;
  const std::string error_path_;
  Feed* const feed_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable asked_;
  pid_t pid_ = -1;  // -1: no process
  bool is_kill_asked_ = false;
  bool is_ending_ = false;

  std::thread thread_;  // last, so that all else outlives it
};

}  // namespace foedus::cli
