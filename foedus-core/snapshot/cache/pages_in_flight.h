#pragma once
// PagesInFlight: pages that one session has asked the device for and will look at soon. They are
// read straight into frames of the cache. Once they are collected, find() finds them there.
//
//   free --begin()--> gathered --> added --send()--> in flight --collect()--> cached, or given back
//     ^                  |
//     +---- settle() ----+
//
//   K11 A page that is not needed after all holds a frame until it has come and the session
//       collects it. So the pages of one stripe that all sessions have in flight are at most a
//       quarter of what the stripe keeps free (K7): the session that misses a page finds a frame
//       whatever others have in flight.
//   K12 begin(), send() and finish() are called within a transaction, whose pin keeps the snapshot
//       and its files. The file of a page that is in flight after that stays open in the system or
//       in the queue (V10). At worst the page is put into the cache under an id that no search asks
//       for any more.

#include <cstdint>
#include <memory>
#include <utility>

#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/cache/index.h"
#include "foedus-core/snapshot/cache/page_io.h"

namespace foedus::snapshot {

class PageCache;

// The outcome of begin().
enum class Begun : std::uint8_t {
  kCached,   // the page is in the cache
  kBegun,    // the page is in flight
  kRefused,  // there is no frame for it, or kPagesMax pages are in flight
};

class PagesInFlight {
 public:
  static constexpr std::uint32_t kPagesMax = 64;

  // `reads`: of the cache's reader. The cache must outlive the object.
  PagesInFlight(PageCache* cache, std::uint32_t soc, std::unique_ptr<PageReads> reads)
      : cache_(cache), soc_(soc), reads_(std::move(reads)) {}
  // Waits for what is in flight.
  ~PagesInFlight();
  PagesInFlight(const PagesInFlight&) = delete;
  PagesInFlight& operator=(const PagesInFlight&) = delete;

  // Begins to read the page, unless it is cached or in flight. Waits for no page. Pages that follow
  // one another in a file, and are begun in that order, become one read of the device.
  Begun begin(page::SnapshotPageId id);
  // Makes the device begin with all pages that were begun. Without this call it begins whenever
  // kSendMax reads were added.
  void send();
  // Waits for a page. Returns true once it is not in flight any more; false if it never was.
  bool finish(page::SnapshotPageId id);
  // Ends the reads of a transaction: drops pages that no read was added for, sends the added reads,
  // and puts pages that have come into the cache. Waits for nothing.
  void settle() {
    if (used_ != 0) settle_some();
  }

 private:
  static constexpr std::uint32_t kSendMax = 8;  // reads that begin without send()
  static constexpr std::uint32_t kNone = kPagesMax;
  static_assert(PageReads::kReadsMax >= kPagesMax);

  std::uint32_t place_of(page::SnapshotPageId id) const;
  void add_gathered();
  void drop_gathered();
  void settle_some();
  bool collect_some(bool waits);
  void give_back(std::uint64_t places, std::uint64_t good);

  PageCache* const cache_;
  const std::uint32_t soc_;
  std::uint64_t used_ = 0;  // a bit for each place that is not free
  std::uint32_t gathered_count_ = 0;
  std::uint32_t unsent_ = 0;  // reads that were added and not sent
  page::SnapshotPageId ids_[kPagesMax];
  CacheFrame frames_[kPagesMax] = {};
  // The places of a read's pages, by its tag, which is the place of its first page.
  std::uint8_t places_[kPagesMax][PageReads::kPagesMax] = {};
  std::uint8_t counts_[kPagesMax] = {};
  std::uint8_t gathered_places_[PageReads::kPagesMax] = {};
  std::unique_ptr<PageReads> reads_;
};

}  // namespace foedus::snapshot
