#pragma once
// OpenStream: the engine's side of a change stream (foedus/changes.h). OpenStreams: all that are
// open.
//
//   E63 close() ends every stream before it stops the log: once OpenStreams::close() has returned,
//       no thread is in a stream, and no stream follows a pointer to the engine any more.
//   E64 A batch that could not be handed out for lack of memory, or because no name was found for a
//       storage, is tried again by the next call. Only then the log's reader moves on.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/sessions/catalog.h"
#include "foedus-core/log/change_reader.h"
#include "foedus-core/log/log.h"
#include "foedus/changes.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::engine {

class OpenStream {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    log::Log* log = nullptr;
    const Catalog* catalog = nullptr;
    std::uint64_t look_us = 0;  // a wait looks for new changes this often
  };

  static Result<std::shared_ptr<OpenStream>> open(const Parts& parts, std::optional<Epoch> after);

  ~OpenStream();
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

  // Does what ChangeStream::next() says.
  Result<ChangeBatch> next(std::uint64_t timeout_us);
  // Ends the stream; a thread that waits in next() returns first. Any thread. Does nothing in a
  // child of fork().
  void close();

 private:
  OpenStream(const Parts& parts, std::unique_ptr<log::ChangeReader> reader)
      : parts_(parts), reader_(std::move(reader)) {}
  Result<ChangeBatch> next_locked(std::uint64_t timeout_us);
  Result<ChangeBatch> hand_out();
  Status add(const log::Change& change);
  Result<const std::string*> name_of(const log::LogRecord& record);
  Status read_names();

  const Parts parts_;
  const std::uint64_t opened_in_ = base::process_generation();
  base::AtomicWord<std::uint32_t> is_closing_;  // ends waits, and refuses calls

  std::mutex mutex_;
  // Guarded by mutex_.
  std::unique_ptr<log::ChangeReader> reader_;  // null: closed
  std::optional<log::ChangeBatch> read_;       // read and not handed out yet (E64)
  std::map<page::StorageId, std::string> names_;
  bool has_read_names_ = false;
  std::vector<Change> changes_;
  std::vector<std::unique_ptr<StorageInfo>> created_;  // what changes_ point to
};

class OpenStreams {
 public:
  Result<std::shared_ptr<OpenStream>> open(const OpenStream::Parts& parts,
                                           std::optional<Epoch> after);
  // Ends all streams (E63). REQUIRES: open() is not called any more.
  void close();

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<OpenStream>> streams_;  // guarded by mutex_
};

}  // namespace foedus::engine
