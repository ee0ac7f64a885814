#include "tests/isolation/run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>

#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/log/log_directory.h"
#include "tests/isolation/history_json.h"
#include "tests/isolation/tape.h"
#include "tests/isolation/worker.h"

namespace foedus::isolation {

namespace {

constexpr std::size_t kTapeWords = 4u << 20;

// State that processes of a run share, and results that they leave at their end.
struct SharedRun {
  SharedState state;
  RunResult result;  // of the current process
};

class Run {
 public:
  Run(const RunOptions& options, Checker* checker)
      : options_(options),
        checker_(*checker),
        shared_memory_(sizeof(SharedRun)),
        tape_memory_(options.sessions * kTapeWords * 8),
        shared_(new (shared_memory_.data()) SharedRun()),
        random_(options.seed * 7919 + 1) {
    auto* const words = static_cast<std::uint64_t*>(tape_memory_.data());
    for (std::uint32_t i = 0; i < options.sessions; ++i) {
      tapes_.emplace_back(words + i * kTapeWords, kTapeWords);
    }
  }

  Result<RunResult> run() {
    if (!options_.history.empty()) {
      history_.open(options_.history);
      if (!history_) {
        return Status::system_error(ErrorCode::kIoError, "open " + options_.history, errno);
      }
    }
    begin_ns_ = now_ns();
    add_header();
    FOEDUS_CHECK(options_.forks ? run_processes() : run_here());
    checker_.finish();
    return total_;
  }

 private:
  void add_header() {
    Line line;
    line.kind = LineKind::kHeader;
    const bool is_list = options_.workload == Workload::kList;
    line.text = std::string(R"({"t":"header","version":1,"workload":")") +
                (is_list ? "list-append" : "register") + R"(","seed":)" +
                std::to_string(options_.seed) + R"(,"sessions":)" +
                std::to_string(options_.sessions) + R"(,"socs":)" + std::to_string(options_.socs) +
                R"(,"storages":)" + std::to_string(options_.storages) +
                R"(,"clock":"CLOCK_MONOTONIC"})";
    add(std::move(line));
  }

  void add(Line line) {
    if (history_.is_open()) {
      text_.clear();
      append_json(line, &text_);
      history_ << text_;
    }
    if (line.kind == LineKind::kTxn) ++txns_;
    checker_.add(std::move(line));
  }
  void drain() {
    for (Tape& tape : tapes_)
      tape.drain([this](Line&& line) { drained_.push_back(std::move(line)); });
  }
  void add_drained() {
    for (Line& line : drained_) add(std::move(line));
    drained_.clear();
  }
  bool is_over() const {
    const double seconds = static_cast<double>(now_ns() - begin_ns_) / 1e9;
    return txns_ + drained_.size() >= options_.txns || checker_.has_enough() ||
           (options_.seconds > 0 && seconds >= options_.seconds);
  }
  void show_progress() {
    if (options_.progress_txns == 0 || txns_ < shown_ + options_.progress_txns) return;
    shown_ = txns_;
    std::fprintf(stderr, "%llu transactions, %.0f s\n", static_cast<unsigned long long>(txns_),
                 static_cast<double>(now_ns() - begin_ns_) / 1e9);
  }
  void sum_up() {
    total_.gleans += shared_->result.gleans;
    total_.pages_dropped += shared_->result.pages_dropped;
    total_.conflicts += shared_->result.conflicts;
    ++total_.processes;
    shared_->result = RunResult();
  }

  // ---- in this process -------------------------------------------------------------------------
  Status run_here() {
    const LineSink sink = [this](const Line& line) {
      if (line.kind == LineKind::kWindow) drain();
      const bool goes_on = !is_over();
      add_drained();
      add(line);
      return goes_on;
    };
    const Status status =
        run_worker({&options_, 1, &shared_->state, tapes_, sink, &shared_->result});
    sum_up();
    return status;
  }

  // ---- in processes that may die ---------------------------------------------------------------
  Status run_processes() {
    std::uint32_t crashes_left = options_.crashes;
    for (std::uint32_t process = 1;; ++process) {
      const std::uint64_t life_ms =
          crashes_left == 0 ? 0 : 1 + random_.below(options_.crash_ms_max);
      bool was_killed = false;
      FOEDUS_CHECK(run_process(process, life_ms, &was_killed));
      sum_up();
      if (!was_killed) return {};
      if (crashes_left != 0) --crashes_left;
      if (checker_.has_enough()) return {};
    }
  }

  Status run_process(std::uint32_t process, std::uint64_t life_ms, bool* was_killed) {
    int lines[2];
    int answers[2];
    if (pipe(lines) != 0 || pipe(answers) != 0) {
      return Status::system_error(ErrorCode::kIoError, "pipe", errno);
    }
    std::fflush(nullptr);
    if (history_.is_open()) history_.flush();
    const pid_t child = fork();
    if (child < 0) return Status::system_error(ErrorCode::kIoError, "fork", errno);
    if (child == 0) {
      close(lines[0]);
      close(answers[1]);
      _exit(be_process(process, life_ms, lines[1], answers[0]));
    }
    close(lines[1]);
    close(answers[0]);
    follow(lines[0], answers[1], crashes_may_come(life_ms));
    close(lines[0]);
    close(answers[1]);
    int ended = 0;
    waitpid(child, &ended, 0);
    *was_killed = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL;
    if (!*was_killed && ended != 0) {
      return Status::error(ErrorCode::kIoError, "process " + std::to_string(process) +
                                                    " ended with status " + std::to_string(ended) +
                                                    "; its message is above");
    }
    if (!*was_killed) return {};
    drain();
    add_drained();
    Line line;
    line.kind = LineKind::kCrash;
    line.process = process;
    line.ns = now_ns();
    FOEDUS_TRY(line.epoch, durable_epoch_of_log());
    add(std::move(line));
    return {};
  }
  // Returns where recovery will cut the log, from the files before the next process writes to them.
  // The epoch that the process reports after its open may be higher, if another one died in
  // between.
  Result<std::uint64_t> durable_epoch_of_log() const {
    Result<std::unique_ptr<device::FileDevice>> files =
        device::FileDevice::open_to_read(options_.dir);
    if (files.code() == ErrorCode::kNotFound) return std::uint64_t{0};  // not begun yet
    FOEDUS_CHECK(files.status());
    FOEDUS_TRY(const log::FoundLog found, log::examine_log(files->get()));
    return found.cut.number();
  }
  static bool crashes_may_come(std::uint64_t life_ms) { return life_ms != 0; }

  // Runs as the child.
  int be_process(std::uint32_t process, std::uint64_t life_ms, int lines, int answers) {
    if (life_ms != 0) {
      // The process kills itself, as another process could; none of its code runs afterwards.
      std::thread([life_ms] {
        std::this_thread::sleep_for(std::chrono::milliseconds(life_ms));
        kill(getpid(), SIGKILL);
      }).detach();
    }
    const LineSink sink = [&](const Line& line) {
      std::string text;
      append_json(line, &text);
      if (write(lines, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(3);
      if (line.kind != LineKind::kWindow) return true;
      char answer = 0;
      if (read(answers, &answer, 1) != 1) _exit(3);
      return answer == 'g';
    };
    const Status status =
        run_worker({&options_, process, &shared_->state, tapes_, sink, &shared_->result});
    if (status.is_ok()) return 0;
    std::fprintf(stderr, "process %u: %s\n", process, status.message().c_str());
    return 1;
  }

  // Takes the lines of the child until it ends. A window's transactions are taken off the tapes
  // before the child goes on, and checked while it does. The run is not over while crashes are
  // left.
  void follow(int lines, int answers, bool goes_on_anyway) {
    std::string text;
    char buffer[4096];
    for (;;) {
      const ssize_t bytes = read(lines, buffer, sizeof(buffer));
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) return;
      text.append(buffer, static_cast<std::size_t>(bytes));
      for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        Line line;
        std::string why;
        if (parse_line(std::string_view(text).substr(0, end), &line, &why)) {
          take(std::move(line), answers, goes_on_anyway);
        }
        text.erase(0, end + 1);
      }
    }
  }
  void take(Line line, int answers, bool goes_on_anyway) {
    if (line.kind == LineKind::kWindow) {
      drain();
      const char answer = (goes_on_anyway && !checker_.has_enough()) || !is_over() ? 'g' : 'q';
      // A child that has died meanwhile needs no answer.
      if (write(answers, &answer, 1) != 1) return;
    }
    add_drained();
    add(std::move(line));
    show_progress();
  }

  const RunOptions& options_;
  Checker& checker_;
  SharedMemory shared_memory_;
  SharedMemory tape_memory_;
  SharedRun* const shared_;
  std::vector<Tape> tapes_;
  base::Random random_;
  std::ofstream history_;
  std::string text_;
  std::vector<Line> drained_;
  std::uint64_t txns_ = 0;
  std::uint64_t shown_ = 0;
  std::uint64_t begin_ns_ = 0;
  RunResult total_;
};

}  // namespace

Result<RunResult> run_history(const RunOptions& options, Checker* checker) {
  if (options.forks) signal(SIGPIPE, SIG_IGN);
  return Run(options, checker).run();
}

}  // namespace foedus::isolation
