// The operations of storage/keyed/operations.h on a hash storage, and prefetch.
#include "foedus-core/storage/keyed/operations.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/hash/find.h"
#include "foedus-core/storage/hash/insert.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/snapshot_read.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/storage/hash/trie.h"

namespace foedus::storage::hash {

namespace {

// The kind for storage/keyed/kind.h.
struct Trie {
  struct Key {
    std::string_view bytes;
    std::uint64_t hash;
  };
  using Position = KeyPosition;
  // No scope is needed: a search of snapshot pages copies the wanted part in a ColdReads of its
  // own.
  struct ReadScope {
    explicit ReadScope(occ::TxnContext&) {}
  };

  static Key key_of(std::string_view bytes) { return {bytes, hash_of(bytes)}; }

  static Status find_to_read(occ::TxnContext& ctx, occ::StorageControl* control, const Key& key,
                             occ::ReadRange* range, KeyPosition* found) {
    return look_up(ctx, control, key.bytes, key.hash, Intent::kRead, found, range);
  }
  static bool is_cold(const KeyPosition& found) { return found.is_cold; }
  static Status read_cold(occ::TxnContext&, occ::StorageControl*, const KeyPosition& found,
                          occ::ReadRange*) {
    return found.is_cold_found ? Status() : Status(ErrorCode::kNotFound);
  }

  static Status find_to_write(occ::TxnContext& ctx, occ::StorageControl* control, const Key& key,
                              keyed::Access, KeyPosition* found) {
    return look_up(ctx, control, key.bytes, key.hash, Intent::kWrite, found);
  }
  static bool is_found(const KeyPosition& found) { return found.record != nullptr; }
  static page::RecordHeader* record(const KeyPosition& found) { return found.record; }
  static std::uint32_t place(const KeyPosition& found) { return found.place; }
  static keyed::Payload payload(const KeyPosition& found) {
    const HashSlot slot = found.slot();
    return {slot.is_chain(), slot.length()};
  }
  static void remember_missing(occ::TxnContext& ctx, occ::StorageControl* control,
                               const KeyPosition& found) {
    ctx.sets().remember_page(&found.bin->header, found.version, control);
  }
  static occ::ReadOutcome read(occ::TxnContext& ctx, occ::StorageControl* control,
                               const KeyPosition& found, occ::ReadRange* range) {
    const HashSlot slot = found.slot();
    return read_payload(ctx, control, found.record, payload_of(found.record, slot), range,
                        [&found] { return found.slot().length(); });
  }

  static occ::ReadOutcome read_here(occ::TxnContext& ctx, occ::StorageControl* control,
                                    const KeyPosition& found, occ::ReadRange* range) {
    return read(ctx, control, found, range);
  }

  static Status insert(occ::TxnContext& ctx, occ::StorageControl* control, const Key& key,
                       std::size_t payload_bytes, KeyPosition* found, bool* is_made) {
    return hash::insert(ctx, control, key.bytes, key.hash, payload_room_of(payload_bytes),
                        Purpose::kCall, found, is_made);
  }
  static Status find_or_insert(occ::TxnContext& ctx, occ::StorageControl* control, const Key& key,
                               std::size_t payload_bytes, KeyPosition* found) {
    return hash::find_or_insert(ctx, control, key.bytes, key.hash, payload_room_of(payload_bytes),
                                Purpose::kRelocate, found);
  }
  static bool has_room(const KeyPosition& found, std::size_t payload_bytes) {
    return found.slot().room() >= payload_room_of(payload_bytes);
  }
  // Moves the record to a place with more room. The payload never has to become a chain, because a
  // bin has room for every payload that is none.
  static Status make_room(occ::TxnContext& ctx, occ::StorageControl* control, const Key& key,
                          const KeyPosition& found, std::size_t payload_bytes, bool* again,
                          bool* is_chain) {
    *again = true;
    *is_chain = false;
    return expand(ctx, control, found, key.hash, payload_room_of(payload_bytes));
  }

  static void erased(occ::TxnContext&, occ::StorageControl*, const KeyPosition&) {}

  static bool track_moved(page::PagePool& pool, occ::StorageControl* control,
                          page::RecordHeader* record, page::RecordHeader** to,
                          std::uint32_t* place) {
    return hash::track_moved(pool, control, record, to, place);
  }
};

}  // namespace

Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range) {
  return keyed::get<Trie>(ctx, control, key, range);
}

Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range) {
  return keyed::get_for_update<Trie>(ctx, control, key, range);
}

Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload) {
  return keyed::write_whole<Trie>(ctx, control, mode, key, payload);
}

Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, log::LogRecordType type,
                  std::string_view key, std::uint32_t offset, const std::string_view& part) {
  return keyed::write_part<Trie>(ctx, control, type, key, offset, part);
}

Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  return keyed::erase<Trie>(ctx, control, key);
}

void prefetch(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  // peek_bin() prefetches the header and the tags of the bin, and this the first slots, at the end
  // of the page. The record itself is known only after a look at these.
  const std::uint64_t hash = hash_of(key);
  HashBinPage* const bin = peek_bin(ctx.pool(), control, hash);
  if (bin == nullptr) [[unlikely]]
    return prefetch_cold_bin(ctx, control, hash);
  constexpr std::size_t kSlotLines = 256;
  base::prefetch_lines(reinterpret_cast<const char*>(bin) + page::kPageBytes - kSlotLines,
                       kSlotLines);
}

Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry) {
  return keyed::relocate<Trie>(ctx, entry);
}

}  // namespace foedus::storage::hash
