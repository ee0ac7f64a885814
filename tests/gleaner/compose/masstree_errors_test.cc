// Records and pages that a composer of Master-Trees refuses, and errors that it passes on.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "foedus-core/page/page_bytes.h"
#include "tests/gleaner/compose/masstree_table.h"

namespace foedus::gleaner::masstree_errors_test {
namespace {

using log::LogRecordType;
using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::Slot;

constexpr char kLongKey[] = "a key of more than one slice";

// Makes a few records of all kinds.
void load(MasstreeTable* table) {
  table->put("a", "12345678");
  table->put("b", payload_of(5000, 1));
  table->put(kLongKey, "12345678");
  for (std::uint64_t i = 0; i < 100; ++i) table->put("layered!" + key_of(i), payload_of(100, i));
  table->glean_and_check();
}

// Checks that the glean fails with the names of table and key.
void expect_refused(MasstreeTable* table, const std::string& key) {
  const Status status = table->glean();
  EXPECT_EQ(status.code(), ErrorCode::kCorruption) << status.message();
  EXPECT_EQ(status.storage(), "orders");
  EXPECT_EQ(status.key_preview(), key.substr(0, Status::kPreviewBytes)) << status.message();
}

// Checks that a log record on top of the records of load() is refused.
void expect_record_refused(LogRecordType type, const std::string& key, const std::string& payload,
                           std::uint32_t offset = 0) {
  SCOPED_TRACE(key + " " + std::to_string(offset));
  MasstreeTable table;
  load(&table);
  table.log(type, key, payload, offset);
  expect_refused(&table, key);
}

TEST(MasstreeErrorsTest, changes_of_what_is_not_there) {
  const std::string absent[] = {"", "aa", std::string("a\0", 2), std::string(kLongKey) + "s",
                                std::string(kLongKey, sizeof(kLongKey) - 3), "layered!",
                                "layered!x", "layered!" + key_of(7) + "x", "zzz"};
  for (const std::string& key : absent) {
    // A preview of no bytes is left out.
    expect_record_refused(LogRecordType::kWriteAt, key, "1");
    expect_record_refused(LogRecordType::kIncrement, key, "12345678");
  }
}

TEST(MasstreeErrorsTest, changes_outside_of_the_payload) {
  for (const std::string& key : {std::string("a"), std::string(kLongKey)}) {
    expect_record_refused(LogRecordType::kWriteAt, key, "12", 7);
    expect_record_refused(LogRecordType::kWriteAt, key, "", 9);
    expect_record_refused(LogRecordType::kWriteAt, key, "1", ~std::uint32_t{0});
    expect_record_refused(LogRecordType::kIncrement, key, "12345678", 1);
    expect_record_refused(LogRecordType::kIncrement, key, "1234567", 0);
  }
  expect_record_refused(LogRecordType::kWriteAt, "b", "12", 4999);
}

TEST(MasstreeErrorsTest, changes_after_an_erasure) {
  MasstreeTable table;
  load(&table);
  table.erase("a");
  table.log(LogRecordType::kErase, "a", {});
  expect_refused(&table, "a");
}

TEST(MasstreeErrorsTest, records_that_no_master_tree_logs) {
  expect_record_refused(LogRecordType::kAppend, "a", "1");
  expect_record_refused(LogRecordType::kPut, std::string(1025, 'k'), "1");
  expect_record_refused(LogRecordType::kPut, "c", std::string((4u << 20) + 1, 'p'));
}

TEST(MasstreeErrorsTest, a_record_that_the_snapshot_has_already) {
  for (const std::string& key : {std::string("a"), "layered!" + key_of(3)}) {
    MasstreeTable table;
    load(&table);
    table.stream->add(LogRecordType::kPut, page::Tid(Epoch(2), 1), key, "again");
    expect_refused(&table, key);
  }
}

TEST(MasstreeErrorsTest, records_outside_of_the_range) {
  for (const PositionRange& range : {PositionRange{0, 9}, PositionRange{11, ~std::uint64_t{0}}}) {
    MasstreeTable table;
    table.put(key_of(10), "1");
    MemoryWriter writer(&table.pages, 1);
    const Composition composition{&table.meta, {}, &table.pages, &writer};
    const auto composed = compose_masstree(composition, range, table.stream.get());
    EXPECT_EQ(composed.code(), ErrorCode::kCorruption);
  }
}

// A stream of the records of one list after those of another one.
class TwoStreams : public RecordStream {
 public:
  TwoStreams(ListStream* first, ListStream* second) : first_(first), second_(second) {}
  const StreamRecord* next() override {
    const StreamRecord* const record = first_->next();
    return record != nullptr ? record : second_->next();
  }

 private:
  ListStream* first_;
  ListStream* second_;
};

TEST(MasstreeErrorsTest, records_out_of_order) {
  for (const std::string& key : {std::string("b"), std::string("c")}) {
    MasstreeTable table;
    ListStream first(StorageKind::kMasstree);
    ListStream second(StorageKind::kMasstree);
    first.add(LogRecordType::kPut, page::Tid(Epoch(5), 9), "c", "1");
    second.add(LogRecordType::kPut, page::Tid(Epoch(5), 8), key, "1");
    TwoStreams stream(&first, &second);
    MemoryWriter writer(&table.pages, 1);
    const Composition composition{&table.meta, {}, &table.pages, &writer};
    EXPECT_EQ(compose_masstree(composition, {}, &stream).code(), ErrorCode::kCorruption);
  }
}

// Each read, append and record fails once.
TEST(MasstreeErrorsTest, failures_of_stream_reader_and_writer_are_passed_on) {
  const auto prepare = [](MasstreeTable* table) {
    load(table);
    for (std::uint64_t i = 0; i < 100; ++i) table->put("layered!" + key_of(i), payload_of(90, i));
    table->write_at("b", 4000, "1");
    table->put("c", payload_of(20000, 1));
  };
  MasstreeTable good;
  prepare(&good);
  const std::size_t records = good.stream->size();
  good.glean_and_check();
  ASSERT_GT(good.reads, 3u);
  ASSERT_GT(good.written, 5u);
  for (std::uint64_t i = 0; i < good.reads; ++i) {
    MasstreeTable table;
    prepare(&table);
    table.pages.fail_read_after(i);
    EXPECT_EQ(table.glean().code(), ErrorCode::kIoError) << i;
  }
  for (std::uint32_t i = 0; i < good.written; ++i) {
    MasstreeTable table;
    prepare(&table);
    table.fail_append_after = i;
    EXPECT_EQ(table.glean().code(), ErrorCode::kOutOfSpace) << i;
  }
  for (std::size_t i = 0; i < records; ++i) {
    MasstreeTable table;
    prepare(&table);
    table.stream->fail_at(i);
    EXPECT_EQ(table.glean().code(), ErrorCode::kIoError) << i;
  }
}

// ---- pages that pass the reader's check and are wrong all the same

// Checks that a changed root of load(), as a page of another snapshot, is refused.
void expect_page_refused(const char* what, const std::function<void(BorderPage*)>& change) {
  SCOPED_TRACE(what);
  MasstreeTable table;
  load(&table);
  page::PageBytes block;
  std::memcpy(block.bytes, static_cast<const void*>(table.pages.at(table.root)), sizeof(block));
  change(block.as<BorderPage>());
  MemoryWriter writer(&table.pages, 100);
  const auto id = writer.append(block.header());
  ASSERT_TRUE(id.is_ok());
  table.pages.finish();
  table.root = *id;
  table.log(LogRecordType::kWriteAt, "b", "1");
  const Status status = table.glean();
  EXPECT_EQ(status.code(), ErrorCode::kCorruption) << status.message();
  EXPECT_EQ(status.storage(), "orders");
}

void set_slot(BorderPage* page, unsigned index, Slot slot) {
  page->slot_word(index).store_relaxed(slot.word());
}

TEST(MasstreeErrorsTest, pages_of_other_trees_and_places) {
  expect_page_refused("storage", [](BorderPage* p) { p->header.storage_id = page::StorageId{2}; });
  expect_page_refused("kind", [](BorderPage* p) { p->header.kind = page::PageKind::kHashBin; });
  expect_page_refused("level", [](BorderPage* p) { p->header.level = 1; });
  expect_page_refused("layer", [](BorderPage* p) { p->header.layer = 1; });
  expect_page_refused("low", [](BorderPage* p) { p->low = 1; });
  expect_page_refused("last", [](BorderPage* p) { p->last = 1000; });
}

// The slots of load() are a, the long key, b, and the layer.
TEST(MasstreeErrorsTest, border_pages_with_impossible_slots) {
  expect_page_refused("keys", [](BorderPage* p) { p->header.store_version({65, 1}); });
  expect_page_refused("heap", [](BorderPage* p) { p->heap_begin = 128; });
  expect_page_refused("beyond", [](BorderPage* p) { p->heap_begin = 5000; });
  expect_page_refused("order", [](BorderPage* p) { std::swap(p->group(0).slices[0],
                                                             p->group(0).slices[1]); });
  expect_page_refused("twice", [](BorderPage* p) {
    p->group(0).slices[1] = p->slice(0);
    set_slot(p, 1, p->slot(0));
  });
  expect_page_refused("offset", [](BorderPage* p) { set_slot(p, 0, Slot(64, 1, 16, 8)); });
  expect_page_refused("end", [](BorderPage* p) {
    set_slot(p, 0, Slot(p->slot(0).offset(), 1, 2000, 8));
  });
  expect_page_refused("capacity", [](BorderPage* p) {
    set_slot(p, 0, Slot(p->slot(0).offset(), 1, 0, 0));
  });
  expect_page_refused("payload", [](BorderPage* p) {
    set_slot(p, 0, p->slot(0).with_payload(17));
  });
  expect_page_refused("volatile chain", [](BorderPage* p) {
    set_slot(p, 0, p->slot(0).with_payload(Slot::kOverflow));
  });
  expect_page_refused("deleted", [](BorderPage* p) {
    p->record(0u)->tid.store_relaxed(p->record(0u)->load_tid().with(page::Tid::kDeleted).word());
  });
  expect_page_refused("no layer", [](BorderPage* p) {
    set_slot(p, 0, p->slot(0).with_payload(Slot::kLayer));
  });
  expect_page_refused("no root", [](BorderPage* p) { p->layer_pointer(p->slot(3))->store({}); });
  expect_page_refused("no chain", [](BorderPage* p) { std::memset(p->payload(p->slot(2)), 0, 8); });
  expect_page_refused("another page as a chain", [](BorderPage* p) {
    std::memcpy(p->payload(p->slot(2)), &p->header.page_id, 8);
  });
}

TEST(MasstreeErrorsTest, interior_pages_with_impossible_children) {
  const std::function<void(InteriorPage*)> changes[] = {
      [](InteriorPage* p) { p->header.store_version({160, 0}); },
      [](InteriorPage* p) { p->child(2).store({}); },
      [](InteriorPage* p) { p->set_separator(1, p->separator(0)); },
      [](InteriorPage* p) { p->set_separator(0, 0); },
      [](InteriorPage* p) { p->set_separator(0, p->separator(0) + 1); },  // not the child's low
      [](InteriorPage* p) { p->header.level = 2; },
      [](InteriorPage* p) { p->child(0).store(p->child(1).load()); },
  };
  for (const auto& change : changes) {
    MasstreeTable table;
    for (std::uint64_t i = 0; i < 100; ++i) table.put(key_of(i), payload_of(1000, i));
    table.glean_and_check();
    page::PageBytes block;
    std::memcpy(block.bytes, static_cast<const void*>(table.pages.at(table.root)), sizeof(block));
    change(block.as<InteriorPage>());
    MemoryWriter writer(&table.pages, 100);
    const auto id = writer.append(block.header());
    ASSERT_TRUE(id.is_ok());
    table.pages.finish();
    table.root = *id;
    table.put(key_of(0), "1");
    const Status status = table.glean();
    EXPECT_EQ(status.code(), ErrorCode::kCorruption) << &change - changes;
    EXPECT_EQ(status.storage(), "orders");
  }
}

}  // namespace
}  // namespace foedus::gleaner::masstree_errors_test
