#pragma once
// Cursor: all rows of a hash storage, each once, in the order of their hashes, ties in the order of
// their keys. It goes through volatile bins, and through those of the newest snapshot where no page
// is volatile; or through the bins of one snapshot alone.
//
//   H15  The position of a scan is the hash and the key of the row that it handed out last, or the
//        first hash after the last bin. It depends on no page: bins may be spread, merged, dropped
//        and made volatile again between two rows. The rows after the position are found from the
//        root.
//   H16  A volatile bin is taken at one version, which the transaction remembers. The version is
//        loaded before the records are listed, so it counts no key that the list lacks. Each record
//        is read when the scan comes to it, as a look-up reads it. So the scan sees updates and
//        erasures of its own transaction. If the bin has another version by then, or a record has
//        moved, the bin is taken again: it may have own inserts. The entry of the first version
//        stays, so what others have inserted is a conflict, as it may belong before the position.
//   H17  A list has each key of the bin once. A record that is marked moved counts only as a hint
//        that there is another record of its key (H4). If the list lacks that one, or has two
//        records of one key that are not marked, a record was moved during the walk over the pages,
//        and the bin is taken again.
//   H18  A pointer without a volatile page is remembered, also if it leads to no snapshot page. A
//        null pointer says that the digits which it owns have no record. A bin may be made there,
//        spread, and dropped again, and the pointer be null as before, for fewer digits. So its
//        entry has the number of digits, and verification looks whether it still owns them all
//        (look_again()). The pages of a snapshot's bin are copied (O14). If the transaction has
//        written since, they are taken again: the bin may be volatile by now, with own writes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus-core/storage/hash/scan/ahead.h"
#include "foedus-core/storage/moves/birth.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::hash {

// A cursor of one session. Its buffers are kept from one scan to the next.
class Cursor {
 public:
  // Begins a scan. Moves to no row yet.
  void open(occ::TxnContext& ctx, occ::StorageControl* control);
  // Does what open() does, for the storage as it is in the snapshot in which it has `root`; null:
  // it is empty. Nothing is remembered.
  void open_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                        page::SnapshotPageId root);
  // Moves to the next row, or to at_end(). kConflict. kNotFound: the storage was dropped. kIoError,
  // kCorruption, kOutOfMemory: a page cannot be had. After an error the scan is over.
  Status next();
  bool at_end() const { return at_end_; }
  // Returns the key of the current row. Key and payload are valid until the cursor moves or is
  // closed.
  std::string_view key() const { return key_; }
  std::string_view payload() const { return payload_; }
  // Ends the scan, also after a failure; may be called twice.
  void close();

 private:
  // A record of the bin at hand.
  struct Listed {
    std::uint64_t hash;
    HashBinPage* page;  // if the bin is cold: a copy
    page::RecordHeader* record;
    std::uint32_t place;
    std::uint32_t key_bytes;

    std::string_view key() const { return {key_of(record), key_bytes}; }
  };

  Status move();
  bool is_current() const;
  bool is_ahead(const Listed& listed) const;
  Status take();
  Status try_take();
  Status take_cold();
  Status take_of_snapshot();
  Status settle_own(moves::Birth birth, bool* moved);
  bool list_bin(HashBinPage* bin);
  void list_page(HashBinPage* page, std::vector<Listed>* moved);
  bool order_list(const std::vector<Listed>& moved);
  bool load_bin(page::SnapshotPageId id, unsigned bits);
  bool copy_bin(const page::PageHeader* page);
  Status read(const Listed& listed, bool* arrived);
  Status read_cold(const Listed& listed);
  // Calls read_range(&range) with the buffer, and again with a larger one while the payload is
  // larger. read_range() returns whether range->payload_bytes counts.
  template <typename ReadRange>
  void read_whole(ReadRange&& read_range);

  // The scan.
  occ::TxnContext* ctx_ = nullptr;
  occ::StorageControl* control_ = nullptr;
  bool is_of_snapshot_ = false;
  page::SnapshotPageId root_;

  // Position (H15).
  bool at_end_ = true;
  std::uint64_t hash_ = 0;
  bool is_at_row_ = false;  // of hash_ and key_; false: before all rows of hash_
  std::string key_;
  std::string_view payload_;

  // The bin at hand.
  bool has_bin_ = false;
  HashBinPage* bin_ = nullptr;  // null: it is cold
  page::PageVersion version_;   // at which it was taken
  occ::WriteSet::State writes_;  // own writes when it was taken
  std::uint64_t last_ = 0;      // last hash of the bin, or of the range without one
  std::vector<Listed> list_;
  std::size_t next_ = 0;  // in list_

  std::vector<Listed> moved_;
  std::vector<std::unique_ptr<page::PageBytes>> copies_;
  std::size_t copies_used_ = 0;
  std::vector<char> buffer_;
  Ahead ahead_;
};

}  // namespace foedus::storage::hash
