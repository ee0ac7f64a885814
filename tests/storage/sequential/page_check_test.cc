// Checks of snapshot pages of sequential storages: for each rule a page that breaks it alone.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "foedus-core/storage/sequential/sequential_snapshot_order.h"
#include "tests/storage/sound_pages.h"

namespace foedus::storage::sequential::page_check_test {
namespace {

using page::PageKind;
using page::SnapshotPageId;
using page::Tid;
using Records = SequentialSnapshotPage;
using Runs = SequentialRunsPage;

void records_say(const char* rule, bool (*change)(Records& page)) {
  expect_said<Records>(PageKind::kSequential, rule, change);
}
void runs_say(const char* rule, bool (*change)(Runs& page)) {
  expect_said<Runs>(PageKind::kSequentialHeads, rule, change);
}

constexpr const char* kLocked = "a record with an impossible lock or TID";
constexpr const char* kEnd = "its records do not end where it says";

TEST(SequentialPageCheckTest, a_page_of_records_is_one) {
  records_say("it is no page of records", [](Records& page) { return ++page.header.level != 0; });
  records_say("it is no page of records", [](Records& page) { return --page.header.flags == 0; });
  records_say("it is behind the end of every run", [](Records& page) {
    page.header.kind_word = SnapshotPageId::kPageMax + 1;
    return true;
  });
}

TEST(SequentialPageCheckTest, records_fill_a_page_up_to_its_end) {
  records_say(kEnd, [](Records& page) { return ++page.record_count != 0; });
  records_say(kEnd, [](Records& page) { return (page.record_count = page.data_end = 0) == 0; });
  records_say(kEnd, [](Records& page) { return (page.data_end -= 8) != 0; });
  records_say(kEnd, [](Records& page) { return (page.data_end += 8) != 0; });
  records_say(kEnd, [](Records& page) {
    page.data_end = Records::kDataBytes + 8;
    return true;
  });
  // One record to the end of the page, and more than a record may have.
  records_say(kEnd, [](Records& page) {
    page.record_count = 1;
    page.record_at(0)->payload_bytes = kMaxSequentialPayloadBytes + 8;
    page.data_end = SequentialSnapshotRecord::size_of(kMaxSequentialPayloadBytes + 8);
    return true;
  });
}

// A page at the end of its memory: a read after it faults.
class LastPage {
 public:
  LastPage()
      : memory_(static_cast<char*>(
            mmap(nullptr, 2 * page::kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_EQ(mprotect(memory_, page::kPageBytes, PROT_READ | PROT_WRITE), 0);
  }
  ~LastPage() { munmap(memory_, 2 * page::kPageBytes); }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;

  // Returns the rule that a page breaks which has two records of these payload sizes and ends at
  // data_end.
  page::BrokenRule said_of(std::uint32_t first, std::uint32_t second, std::uint32_t data_end) {
    for (const auto& page : SoundPages::get().all()) {
      if (page->header()->kind == PageKind::kSequential) std::memcpy(memory_, page.get(), kBytes);
    }
    auto& page = *reinterpret_cast<Records*>(memory_);
    std::memset(page.data, 0, sizeof(page.data));
    const auto put = [&](std::uint32_t offset, std::uint32_t payload_bytes) {
      page.record_at(offset)->header.tid.store_relaxed(Tid(SoundPages::get().newest(), 1).word());
      page.record_at(offset)->payload_bytes = payload_bytes;
    };
    put(0, first);
    put(SequentialSnapshotRecord::size_of(first), second);
    page.record_count = 2;
    page.data_end = data_end;
    return storage::broken_rule(page.header, SoundPages::get().newest());
  }

 private:
  static constexpr std::size_t kBytes = page::kPageBytes;
  char* const memory_;
};

TEST(SequentialPageCheckTest, lengths_lead_to_nothing_behind_the_page) {
  LastPage page;
  constexpr std::uint32_t kFirst = kMaxSequentialPayloadBytes;
  constexpr std::uint32_t kLeft = Records::kDataBytes - SequentialSnapshotRecord::size_of(kFirst) -
                                  SequentialSnapshotRecord::size_of(0);
  EXPECT_STREQ(page.said_of(kFirst, kLeft, Records::kDataBytes), nullptr);
  EXPECT_STREQ(page.said_of(kFirst, kLeft + 8, Records::kDataBytes + 8), kEnd);
  EXPECT_STREQ(page.said_of(kFirst, kLeft - 8, Records::kDataBytes), kEnd);  // 8 bytes of a third
  EXPECT_STREQ(page.said_of(kFirst, kFirst, Records::kDataBytes), kEnd);
}

TEST(SequentialPageCheckTest, records_are_there_and_in_their_order) {
  records_say(kLocked, [](Records& page) {
    page.record_at(0)->header.lock.store_relaxed(1);
    return true;
  });
  records_say(kLocked, [](Records& page) {
    auto& tid = page.record_at(0)->header.tid;
    tid.store_relaxed(tid.load_relaxed() | Tid::kDeleted);
    return true;
  });
  records_say(kLocked, [](Records& page) {
    page.record_at(0)->header.tid.store_relaxed(Tid(Epoch(), 1).word());
    return true;
  });
  records_say(kLocked, [](Records& page) {
    const Epoch later(SoundPages::get().newest().number() + 1);
    page.record_at(0)->header.tid.store_relaxed(Tid(later, 1).word());
    return true;
  });
  constexpr const char* kOrder = "records that are not in order";
  records_say(kOrder, [](Records& page) {
    if (page.record_count < 2) return false;
    page.record_at(0)->header.tid.store_relaxed(Tid(SoundPages::get().newest(), 99).word());
    return true;
  });
  records_say(kOrder, [](Records& page) {  // of one TID
    if (page.record_count < 2) return false;
    SequentialSnapshotRecord* const first = page.record_at(0);
    auto* const second = page.record_at(SequentialSnapshotRecord::size_of(first->payload_bytes));
    first->header.tid.store_relaxed(second->header.tid.load_relaxed());
    first->session = second->session + 1;
    return true;
  });
}

TEST(SequentialPageCheckTest, a_page_of_runs_is_one) {
  constexpr const char* kNone = "it is no page of runs";
  runs_say(kNone, [](Runs& page) { return --page.header.level == 0; });
  runs_say(kNone, [](Runs& page) { return --page.header.flags == 0; });
  runs_say(kNone, [](Runs& page) { return (page.run_count = 0) == 0; });
  runs_say(kNone, [](Runs& page) { return (page.run_count = Runs::kRuns + 1) != 0; });
  runs_say(kNone, [](Runs& page) { return ++page.header.kind_word != 0; });
  runs_say(kNone, [](Runs& page) {
    page.full_page = SnapshotPageId(page::SnapshotNumber(1), 0, 1);
    return true;
  });
  runs_say("a pointer that leads nowhere", [](Runs& page) {
    page.header.kind_word = 1;
    page.full_page = id_of(page.header);
    return true;
  });
  constexpr const char* kNothing = nullptr;
  runs_say(kNothing, [](Runs& page) {
    page.header.kind_word = 1;
    page.full_page = page.runs[0].first_page;
    return true;
  });
}

TEST(SequentialPageCheckTest, runs_are_somewhere_and_one_behind_the_other) {
  constexpr const char* kNowhere = "a run that is nowhere";
  runs_say(kNowhere, [](Runs& page) { return (page.runs[0].page_count = 0) == 0; });
  runs_say(kNowhere, [](Runs& page) {
    page.runs[0].first_page = id_of(page.header);
    return true;
  });
  runs_say(kNowhere, [](Runs& page) {  // begins at page 0, which is no page
    const SnapshotPageId own = id_of(page.header);
    SequentialRun& run = page.runs[0];
    run.first_page = SnapshotPageId(own.snapshot(), own.soc(), 0);
    run.page_count = 2;
    return true;
  });
  runs_say(kNowhere, [](Runs& page) {  // its last page
    const SnapshotPageId own = id_of(page.header);
    SequentialRun& run = page.runs[0];
    run.first_page = SnapshotPageId(own.snapshot(), own.soc(), 1);
    run.page_count = own.page();
    return true;
  });
  runs_say(kNowhere, [](Runs& page) {  // after the last page of a file, in that of the next SOC
    const SnapshotPageId own = id_of(page.header);
    SequentialRun& run = page.runs[0];
    run.first_page = SnapshotPageId(own.snapshot(), own.soc() + 1, SnapshotPageId::kPageMax);
    run.page_count = 3;
    return true;
  });
  constexpr const char* kEpochs = "a run of impossible epochs";
  runs_say(kEpochs, [](Runs& page) { return (page.runs[0].first_epoch = 0) == 0; });
  runs_say(kEpochs, [](Runs& page) {
    page.runs[0].first_epoch = page.runs[0].last_epoch + 1;
    return true;
  });
  runs_say(kEpochs, [](Runs& page) {
    page.runs[page.run_count - 1].last_epoch = SoundPages::get().newest().number() + 1;
    return true;
  });
  runs_say(kEpochs, [](Runs& page) {
    if (page.run_count < 2) return false;
    page.runs[1].first_epoch = page.runs[0].last_epoch;
    return true;
  });
}

}  // namespace
}  // namespace foedus::storage::sequential::page_check_test
