// The hand-over of a log ring from session to logger and back: log/ring/buffer.{h,cc} themselves.
// The bytes of the ring are plain variables beside it, one for each record's place.
#include "foedus-core/log/ring/buffer.cc"
#include "tests/models/harness/runtime.h"

namespace foedus::log {

// Stands in for log/ring/record.cc.
void LogRecord::fill(char*, std::size_t) {}

}  // namespace foedus::log

namespace {

using namespace foedus;

constexpr std::uint64_t kRecordBytes = 8;
constexpr std::uint64_t kPlaces = 2;
constexpr int kRecords = 3;

// A ring with space for two records, and three transactions of one record each, of which kBefore
// are over before the logger begins.
template <int kBefore>
struct HandOver : model::Suite<HandOver<kBefore>, 2>, log::LogSpace {
  alignas(8) char memory[kRecordBytes * kPlaces] = {};
  log::LogBuffer ring{memory, kRecordBytes* kPlaces, 0, this};
  model::Plain<int> places[kPlaces];

  Status wait_for_space(const log::LogBuffer& buffer, std::uint64_t offset) override {
    while (buffer.durable() < offset) rl::yield(1, MODEL_HERE);
    return {};
  }

  void before() { write(0, kBefore); }
  void write(int begin, int end) {
    for (int i = begin; i < end; ++i) {
      Status status;
      log::LogRecord* const record = ring.reserve(kRecordBytes, &status);
      model::require(record != nullptr, "there is room");
      places[(reinterpret_cast<char*>(record) - memory) / kRecordBytes].set(i + 1);
      ring.publish();
    }
  }
  void drain() {
    for (std::uint64_t written = 0; written < kRecords * kRecordBytes;) {
      const std::uint64_t committed = ring.committed();
      if (committed == written) {
        rl::yield(1, MODEL_HERE);
        continue;
      }
      for (; written < committed; written += kRecordBytes) {
        const auto number = static_cast<int>(written / kRecordBytes);
        const auto place = (ring.at(written) - memory) / static_cast<std::ptrdiff_t>(kRecordBytes);
        model::require(places[place].get() == number + 1, "each record comes once, in order");
      }
      ring.set_durable(written);
    }
  }
  void thread(unsigned index) { index == 0 ? write(kBefore, kRecords) : drain(); }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "log ring",
      {model::scenario<HandOver<2>, model::kExhaustive>("a record into a full ring"),
       model::scenario<HandOver<0>, 4>("three records")},
      {}};
  return protocol.check(argc, argv);
}
