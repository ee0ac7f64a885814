#pragma once
// Model: the contents that the database must have, in std::maps, and their digests at the end of
// each epoch.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/epoch.h"
#include "foedus/storage.h"

namespace foedus::simulation {

using Rows = std::map<std::string, std::string>;

struct StorageModel {
  std::uint32_t id = 0;  // of the engine: differs for the next storage of the same name
  StorageKind kind = StorageKind::kMasstree;
  std::string name;
  std::uint64_t records = 0;        // arrays
  std::uint32_t payload_bytes = 0;  // arrays
  // Payloads by key. Arrays: by index_key(), without records that are all zero. Sequential
  // storages: the key is the payload, which is unique, and the value is empty.
  Rows rows;
};
// The storages by id.
using Content = std::map<std::uint32_t, StorageModel>;

// Returns the key of a record of an array.
std::string index_key(std::uint64_t index);
bool is_zero(std::string_view payload);

// Returns a digest that is equal for equal contents, whatever the ids.
std::uint64_t digest_of_storage(const StorageModel& storage);
std::uint64_t digest_of_row(const StorageModel& storage, std::string_view key,
                            std::string_view payload);
std::uint64_t digest_of(const Content& content);
// Describes the first few differences; empty if there are none.
std::string difference(const Content& found, const Content& expected);

struct Change {
  enum class Kind : std::uint8_t { kPut, kErase, kCreate, kDrop };
  Kind kind = Kind::kPut;
  std::uint32_t storage = 0;
  std::string key;
  std::string payload;
  StorageModel created;  // kCreate
};

void apply_change(const Change& change, Content* content);

// All commits, in order; epochs never fall.
class History {
 public:
  const Content& now() const { return now_; }
  void commit(Epoch epoch, std::vector<Change> changes);
  Epoch newest() const { return entries_.empty() ? Epoch() : entries_.back().epoch; }

  // Returns the newest epoch up to `epoch` with a commit. The engine may announce later ones, which
  // are empty, and begin them again after a crash.
  Epoch last_commit(Epoch epoch) const;
  // Returns the digest of the state at the end of `epoch`.
  std::uint64_t digest_at(Epoch epoch) const;
  Content content_at(Epoch epoch) const;
  // Returns ends of epochs in [from, to] with commits between them, newest first; the first one is
  // `to` itself.
  std::vector<Epoch> ends_between(Epoch from, Epoch to) const;
  // Forgets commits after `epoch`.
  void cut(Epoch epoch);

 private:
  struct Entry {
    Epoch epoch;
    std::vector<Change> changes;
    std::uint64_t digest;  // after it
  };
  // A crash state asks for contents near the newest one, and most of a history is before these.
  static constexpr std::size_t kEntriesOfCheckpoint = 32;

  std::vector<Entry> entries_;
  // Contents after 32, 64, ... entries. Copies of the history share them.
  std::vector<std::shared_ptr<const Content>> checkpoints_;
  Content now_;
  std::uint64_t digest_ = 0;  // of now_
};

}  // namespace foedus::simulation
