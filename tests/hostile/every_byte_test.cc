// Every flip and every cut. Goal: a database with one changed byte, or with one shorter or missing
// file, is refused with the name of a file, or serves exactly the acknowledged rows. Every third
// one is opened for its snapshots, which are read before recovery, and verified. Method: all bytes
// of a small database (every n-th one here, all with FOEDUS_STRIDE=1), closed and after a power
// failure, with and without a snapshot. Of the preallocated end of a segment, 1 MiB of zeroes, the
// first blocks are taken whole, and then one byte in 61.
// ctest-labels: crash
// ctest-timeout: 300
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tests/hostile/isolated_run.h"
#include "tests/hostile/small_database.h"
#include "tools/foedus/verify/snapshot.h"

namespace foedus::hostile::every_byte_test {
namespace {

using testing::FailingDevice;
using testing::must;

struct State {
  const char* name;
  bool is_gleaned;
  bool has_tail;  // commits after the snapshot
  bool is_closed;
  std::unique_ptr<FailingDevice> device = {};
  Contents contents = {};
  Contents gleaned = {};  // rows that the snapshot has
};

void make(State* state) {
  state->device = std::make_unique<FailingDevice>();
  SmallDatabase database(state->device.get());
  must(database.open());
  must(database.write(0, 30, &state->contents));
  if (state->is_gleaned) {
    must(database.glean());
    state->gleaned = state->contents;
    if (state->has_tail) must(database.write(25, 10, &state->contents));
  }
  if (state->is_closed) {
    must(database.close());
  } else {
    state->device->crash_power(FailingDevice::kDropAll);
  }
}

// Names in a refusal: a file, a page of one, or a lack of the log as a whole.
constexpr const char* kNames[] = {"/failing", "snapshot", "the log has"};

// Returns an empty string, or the fault of a refusal.
std::string judge(const Status& status) {
  const bool is_of_damage = status.code() == ErrorCode::kCorruption ||
                            status.code() == ErrorCode::kWrongVersion;
  const bool is_named = std::any_of(
      std::begin(kNames), std::end(kNames), [&](const char* name) {
        return status.message().find(name) != std::string::npos;
      });
  return is_of_damage && is_named ? "" : "refused without a name: " + status.message();
}

// Returns an empty string, or the fault: other rows than the acknowledged ones, or a refusal
// without a name.
std::string use(FailingDevice* device, const Contents& expected) {
  SmallDatabase database(device);
  if (const Status status = database.open(); !status.is_ok()) return judge(status);
  Contents found;
  const Status status = database.read(Isolation::kSerializable, false, expected, &found);
  if (!status.is_ok()) return judge(status);
  return found == expected ? "" : "it served what was not acknowledged, or not all of it";
}

// Uses the database with its snapshot read before recovery, as far as storages are in there; then
// verifies it.
std::string use_early(FailingDevice* device, const State& state) {
  SmallDatabase database(device);
  Status status = database.open(OpenUntil::kSnapshotReadable);
  if (!status.is_ok()) return judge(status);
  Contents found;
  status = database.read(Isolation::kSnapshot, false, state.contents, &found);
  if (!status.is_ok()) {
    if (const std::string wrong = judge(status); !wrong.empty()) return wrong;
  } else if (found != state.gleaned && found != state.contents) {
    return "a snapshot of what was not acknowledged, or not all of it";
  }
  found = Contents();
  status = database.read(Isolation::kSerializable, false, state.contents, &found);
  if (!status.is_ok()) return judge(status);
  if (found != state.contents) return "early, it served what was not acknowledged, or not all";
  const auto manifest = snapshot::read_newest_manifest(device);
  if (!manifest.is_ok()) return judge(manifest.status());
  cli::Findings findings;
  cli::verify_snapshot(device, *manifest, &findings, {});
  const bool is_named = std::all_of(findings.kept().begin(), findings.kept().end(),
                                    [](const cli::Finding& one) { return !one.file.empty(); });
  return is_named ? "" : "verified without a name: " + cli::line_of(findings.kept().front());
}

// Returns the places where a file of these bytes is flipped or cut.
std::vector<std::uint64_t> places_in(const std::vector<char>& bytes) {
  constexpr std::uint64_t kRoomBytes = 8192;
  constexpr std::uint64_t kRoomStride = 61;
  std::uint64_t end = bytes.size();
  while (end > 0 && bytes[end - 1] == 0) --end;
  std::vector<std::uint64_t> places;
  for (std::uint64_t at = 0; at < bytes.size(); at += at < end + kRoomBytes ? 1 : kRoomStride) {
    places.push_back(at);
  }
  return places;
}

class EveryByteTest : public ::testing::Test {
 protected:
  template <typename Each>
  static void for_each_state(Each&& each) {
    State states[] = {{"closed", false, true, true},
                      {"closed, with a snapshot", true, true, true},
                      {"closed, with a snapshot of all", true, false, true},
                      {"after a power failure", false, true, false},
                      {"after a power failure, with a snapshot", true, true, false}};
    for (State& state : states) {
      make(&state);
      ASSERT_FALSE(::testing::Test::HasFailure());
      ASSERT_EQ(use(state.device->copy().get(), state.contents), "");
      ASSERT_EQ(use_early(state.device->copy().get(), state), "");
      each(state);
      if (::testing::Test::HasFailure()) return;
    }
  }
  // Changes a copy of the device by a function that `what` names, and checks its use.
  static void expect_fine(const State& state, const std::string& what,
                          const std::function<void(FailingDevice*)>& damage) {
    const auto device = state.device->copy();
    damage(device.get());
    static std::uint64_t turn = 0;
    const bool is_early = ++turn % 3 == 0;
    const std::string wrong =
        is_early ? use_early(device.get(), state) : use(device.get(), state.contents);
    if (!wrong.empty()) ADD_FAILURE() << state.name << ", " << what << ": " << wrong;
  }
};

TEST_F(EveryByteTest, that_became_another_one_is_refused_or_changes_nothing) {
  const std::uint64_t stride = stride_or(20'011);
  base::Random random(11);
  std::uint64_t cases = 0;
  std::uint64_t turn = 0;
  for_each_state([&](const State& state) {
    for (const std::string& name : state.device->names()) {
      const std::vector<char> bytes = state.device->bytes_of(name);
      for (const std::uint64_t offset : places_in(bytes)) {
        const char other = static_cast<char>(bytes[offset] + 1 + random.below(255));
        for (const char value : {other, '\xff'}) {
          if (value == bytes[offset] || ++turn % stride != 0) continue;
          ++cases;
          expect_fine(state,
                      name + ", byte " + std::to_string(offset) + " = " +
                          std::to_string(static_cast<unsigned char>(value)),
                      [&](FailingDevice* device) {
                        device->overwrite(name, offset, std::string(1, value));
                      });
        }
      }
    }
  });
  std::printf("%lu flips\n", cases);
}

TEST_F(EveryByteTest, at_which_a_file_is_cut_is_refused_or_changes_nothing) {
  const std::uint64_t stride = stride_or(20'011);
  std::uint64_t cases = 0;
  std::uint64_t turn = 0;
  for_each_state([&](const State& state) {
    for (const std::string& name : state.device->names()) {
      for (const std::uint64_t bytes : places_in(state.device->bytes_of(name))) {
        if (++turn % stride != 0 && (bytes % 4096 != 0 || bytes > 65'536)) continue;
        ++cases;
        expect_fine(state, name + ", cut to " + std::to_string(bytes) + " bytes",
                    [&](FailingDevice* device) { device->set_size(name, bytes); });
      }
    }
  });
  std::printf("%lu cuts\n", cases);
}

TEST_F(EveryByteTest, of_a_file_that_is_gone_is_missed) {
  for_each_state([&](const State& state) {
    for (const std::string& name : state.device->names()) {
      expect_fine(state, name + ", removed",
                  [&](FailingDevice* device) { device->drop_file(name); });
    }
  });
}

}  // namespace
}  // namespace foedus::hostile::every_byte_test
