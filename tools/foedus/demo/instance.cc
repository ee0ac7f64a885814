#include "tools/foedus/demo/instance.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "foedus-core/base/json.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace foedus::cli {

namespace {

// Returns the end of a file of text, where a program that failed says why.
std::string end_of_file(const std::string& path) {
  constexpr std::size_t kBytesMax = 600;
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > kBytesMax) text.erase(0, text.size() - kBytesMax);
  return text;
}

}  // namespace

Instance::Instance(std::string name, std::vector<std::string> command, std::string error_path,
                   Feed* feed)
    : name_(std::move(name)),
      command_(std::move(command)),
      error_path_(std::move(error_path)),
      feed_(feed),
      thread_([this] { run(); }) {}

Instance::~Instance() {
  {
    const std::lock_guard guard(mutex_);
    is_ending_ = true;
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  asked_.notify_all();
  thread_.join();
}

void Instance::kill() {
  {
    const std::lock_guard guard(mutex_);
    is_kill_asked_ = true;
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  asked_.notify_all();
}

void Instance::run() {
  do {
    int output = -1;
    {
      const std::lock_guard guard(mutex_);
      if (is_ending_) return;
      is_kill_asked_ = false;
      pid_ = start(&output);
    }
    if (output < 0) {
      announce("failed", "cannot start " + command_[0] + ": " + std::strerror(errno));
      continue;
    }
    announce("started");
    read_lines(output);
    ::close(output);
    // The process has closed its output, so it is about to end. It is looked at before it is waited
    // for, because its number stays its own until then (D2).
    siginfo_t ended{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    int status = 0;
    {
      const std::lock_guard guard(mutex_);
      ::waitpid(pid_, &status, 0);
      pid_ = -1;
    }
    announce_end(status);
  } while (wait_for_restart());
}

pid_t Instance::start(int* output) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, error_path_.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
  // A group of its own: Ctrl-C on the terminal is for the parent alone, which ends the children.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (const std::string& word : command_) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(pipe[1]);
  if (error != 0) {
    ::close(pipe[0]);
    errno = error;
    return -1;
  }
  *output = pipe[0];
  return pid;
}

void Instance::read_lines(int output) {
  std::string rest;
  char bytes[4096];
  for (;;) {
    const ssize_t count = ::read(output, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    rest.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      if (end > 1 && rest[0] == '{') feed_->add(name_, rest.substr(1, end - 2));
      rest.erase(0, end + 1);
    }
  }
}

void Instance::announce(const std::string& event, const std::string& message) {
  std::ostringstream line;
  base::Json json(&line);
  json.begin_object();
  json.text("event", event);
  if (!message.empty()) json.text("message", message);
  json.end_object();
  std::string members = line.str();  // of one line or more, between braces
  std::erase(members, '\n');
  feed_->add(name_, members.substr(1, members.size() - 2));
}

void Instance::announce_end(int wait_status) {
  bool is_kill_asked = false;
  {
    const std::lock_guard guard(mutex_);
    if (is_ending_) return;
    is_kill_asked = is_kill_asked_;
  }
  if (is_kill_asked) return announce("killed");
  std::string message =
      WIFSIGNALED(wait_status)
          ? "ended by signal " + std::to_string(WTERMSIG(wait_status)) + ". "
          : "ended with status " + std::to_string(WEXITSTATUS(wait_status)) + ". ";
  announce("failed", message + end_of_file(error_path_));
}

bool Instance::wait_for_restart() {
  std::unique_lock lock(mutex_);
  asked_.wait(lock, [this] { return is_kill_asked_ || is_ending_; });
  return !is_ending_;
}

}  // namespace foedus::cli
