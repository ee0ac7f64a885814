#pragma once
// FileCloser: a task that closes files whose names were removed. A file's space is given back when
// it has no name and is open nowhere; for some hundred megabytes that takes the system tens of
// milliseconds. So a thread that removes a file opens it first, removes the name, and leaves the
// close to this task.
//
//   V16 Whether the files are closed or not, their names are gone, and the removal is as durable as
//       V3 says: a crash leaves nothing to do. Space is given back once wait() has returned.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"

namespace foedus::device {

using OpenFiles = std::vector<std::unique_ptr<File>>;

class FileCloser final : public base::Task {
 public:
  // Starts itself on `runtime`; throws std::bad_alloc if that cannot be.
  explicit FileCloser(base::Runtime* runtime);
  // Closes, in the calling thread, the files that are left.
  ~FileCloser() override;
  FileCloser(const FileCloser&) = delete;
  FileCloser& operator=(const FileCloser&) = delete;

  // Takes files, which the task closes soon. Any thread may call this function and those that
  // follow.
  void close(OpenFiles files);
  // Waits until all files that were given so far are closed.
  void wait();
  // Returns the processor time that closing took since the last call.
  std::uint64_t take_cpu_us();

  const char* name() const override { return "foedus-closer"; }
  bool is_background() const override { return true; }
  std::uint64_t step() override;

 private:
  base::Runtime* const runtime_;
  base::WaitPoint closed_;

  std::mutex mutex_;
  // Guarded by mutex_.
  OpenFiles files_;
  std::uint64_t given_ = 0;
  std::uint64_t closed_count_ = 0;  // how many of the given files are closed, in any order
  std::uint64_t cpu_us_ = 0;
};

}  // namespace foedus::device
