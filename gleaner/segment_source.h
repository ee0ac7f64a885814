#pragma once
// SegmentSource gives a mapper the records of some log segments, one segment after another.
//
//   G40 Segments of a glean are numbered in the order in which their logger made them. A record's
//       sequence is its segment's number and its place there. A session has one logger, so its
//       records keep their order whichever mapper reads them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/log/segments/records.h"
#include "gleaner/map/record_source.h"

namespace foedus::gleaner {

// One segment, opened when the source comes to it.
struct SegmentPart {
  std::uint32_t number = 0;  // G40
  engine::GleanOrder::OpenSegment open;
};

class SegmentSource final : public RecordSource {
 public:
  static constexpr unsigned kPlaceBits = 40;

  explicit SegmentSource(std::vector<SegmentPart> parts) : parts_(std::move(parts)) {}
  bool next(SourceRecord* record) override;
  Status corrupt(const std::string& what) const override { return records_->corrupt(what); }

 private:
  Result<bool> go_on(SourceRecord* record);

  const std::vector<SegmentPart> parts_;
  std::size_t part_ = 0;  // index of the current part
  std::unique_ptr<log::SegmentRecords> records_;
  std::uint64_t next_sequence_ = 0;  // segment number and place in it
};

// Deals the segments of an order out to its mappers, those of one logger in their order (G40).
std::vector<std::unique_ptr<SegmentSource>> distribute_segments(const engine::GleanOrder& order);

}  // namespace foedus::gleaner
