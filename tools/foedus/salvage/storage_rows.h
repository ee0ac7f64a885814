#pragma once
// StorageRows: the rows of one storage, out of the pages of a snapshot and the log after it, in the
// order of the storage.
//
//   J6  A row of a page is written with the log records of its key applied. Of a row that is not on
//       a page that could be read, the log has all only from its first put or erasure on. A row of
//       which there are only parts is lost: it is never made up.
//   J7  Parts of rows of epochs after the whole one are not applied, for a change between may be
//       missing. Whole rows are, if they were asked for.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/epoch.h"
#include "tools/foedus/dump/dump_writer.h"
#include "tools/foedus/salvage/log_tail.h"
#include "tools/foedus/salvage/losses.h"
#include "tools/foedus/verify/page_rows.h"

namespace foedus::cli {

class StorageRows final : public PageRows {
 public:
  // `tail` is about this storage. REQUIRES: meta, writer and losses outlive this.
  StorageRows(const storage_meta::StorageMeta& meta, std::vector<TailRecord> tail, Epoch whole,
              DumpWriter* writer, Losses* losses);

  void row(const PageRow& row) override;
  void lost(const LostRows& rows) override;
  // Writes what is behind the last page.
  void finish();
  std::uint64_t rows() const { return rows_; }

 private:
  using Key = std::pair<std::uint64_t, std::string_view>;  // position and bytes, as gleans sort

  Key key_of(const TailRecord& record) const;
  bool is_array() const { return meta_.kind == StorageKind::kArray; }
  // Writes a row as it is after its log records. nullopt: it is on no page that could be read.
  void base(const Key& key, std::optional<std::string_view> payload);
  void write_before(const Key& key);
  void write_zeroes_before(std::uint64_t index);
  void write_appended();
  // Applies the records of one key, [next_, end).
  void apply(const Key& key, std::size_t end, std::optional<std::string_view> payload);
  bool change(const TailRecord& record, std::optional<std::string>* payload) const;
  void write(const Key& key, std::string_view payload);
  std::string name_of(const Key& key) const;

  const storage_meta::StorageMeta& meta_;
  const Epoch whole_;
  DumpWriter* const writer_;
  Losses* const losses_;
  std::vector<TailRecord> tail_;
  std::size_t next_ = 0;          // of the tail
  std::uint64_t next_index_ = 0;  // arrays
  const std::string zeroes_;      // arrays: a record that was never written to
  std::uint64_t rows_ = 0;
};

}  // namespace foedus::cli
