// Writes the first inputs of the fuzz targets, out of the files of a small database:
//   make_fuzz_corpus tests/fuzz/corpus
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "tests/hostile/small_database.h"
#include "tests/log/log_harness.h"

namespace foedus::fuzz {
namespace {

using testing::FailingDevice;

std::filesystem::path corpus;

// Writes an input. Its last byte, 0, lets checksums be recomputed; if `is_cut`, zeroes before it
// are left out.
void put(const std::string& target, const std::string& name, std::string bytes, bool is_cut) {
  if (is_cut) bytes.resize(bytes.find_last_not_of('\0') + 1);
  std::filesystem::create_directories(corpus / target);
  std::ofstream(corpus / target / (name + ".bin"), std::ios::binary) << bytes << '\0';
}

std::string bytes_of(const FailingDevice& device, const std::string& name) {
  const std::vector<char> bytes = device.bytes_of(name);
  return {bytes.begin(), bytes.end()};
}

void put_pages(const FailingDevice& device, const std::string& name) {
  static const std::map<page::PageKind, const char*> kTargets = {
      {page::PageKind::kArrayInterior, "array_page_fuzz"},
      {page::PageKind::kArrayBorder, "array_page_fuzz"},
      {page::PageKind::kHashInterior, "hash_page_fuzz"},
      {page::PageKind::kHashBin, "hash_page_fuzz"},
      {page::PageKind::kMasstreeInterior, "masstree_page_fuzz"},
      {page::PageKind::kMasstreeBorder, "masstree_page_fuzz"},
      {page::PageKind::kSequential, "sequential_page_fuzz"},
      {page::PageKind::kSequentialHeads, "sequential_page_fuzz"},
      {page::PageKind::kOverflow, "sequential_page_fuzz"},
  };
  constexpr int kOfEach = 2;
  std::map<page::PageKind, int> count;
  const std::string bytes = bytes_of(device, name);
  for (std::size_t at = page::kPageBytes; at < bytes.size(); at += page::kPageBytes) {
    const std::string page = bytes.substr(at, page::kPageBytes);
    const auto kind = static_cast<page::PageKind>(page[offsetof(page::PageHeader, kind)]);
    const int number = ++count[kind];
    if (number > kOfEach) continue;
    put(kTargets.at(kind),
        std::to_string(static_cast<unsigned>(kind)) + "-" + std::to_string(number), page, true);
  }
}

// Returns the slots of the two newest savepoints.
std::string slots_of(const std::string& savepoint) {
  constexpr std::size_t kSlot = 4096;
  std::vector<std::pair<std::uint64_t, std::string>> slots;
  for (std::size_t at = 0; at < savepoint.size(); at += kSlot) {
    std::uint64_t sequence = 0;
    std::memcpy(&sequence, savepoint.data() + at + offsetof(log::Savepoint, sequence),
                sizeof(sequence));
    slots.emplace_back(sequence, savepoint.substr(at, kSlot));
  }
  std::sort(slots.begin(), slots.end());
  return slots[slots.size() - 2].second + slots.back().second;
}

// Writes the first segment, whole, because a reader checks whether it was cut, and once more after
// its savepoint.
void put_segment(const FailingDevice& device, const std::string& name) {
  const std::string segment = bytes_of(device, log::segment_name(0, 1));
  put("log_segment_fuzz", name, segment, false);
  put("savepoint_fuzz", name, slots_of(bytes_of(device, "savepoint")) + segment, false);
}

// Makes segments of all layouts of frames, unsealed and sealed. The device has no space for a piece
// of a segment, so that they grow before each frame.
Status make_growing() {
  FailingDevice device;
  device.set_capacity(600u << 10);
  log::testing::LogRun run(&device);
  FOEDUS_CHECK(run.open_and_start());
  log::testing::TestSession* const first = run.session(0);
  log::testing::TestSession* const second = run.session(0);
  FOEDUS_TRY(Epoch epoch, first->commit(1, 40, 3));
  FOEDUS_TRY(epoch, second->commit(4, 300));
  FOEDUS_CHECK(run.wait(epoch));
  put_segment(device, "growing-packed");
  FOEDUS_TRY(epoch, first->commit(5, 5'000));
  FOEDUS_CHECK(run.wait(epoch));
  put_segment(device, "growing-direct");
  FOEDUS_CHECK(run.close());
  put_segment(device, "grown");
  return {};
}

Status make() {
  FOEDUS_CHECK(make_growing());
  FailingDevice device;
  hostile::SmallDatabase database(&device);
  hostile::Contents contents;
  FOEDUS_CHECK(database.open());
  FOEDUS_CHECK(database.write(0, 20, &contents));
  FOEDUS_CHECK(database.close());
  for (const std::string& name : device.names()) {
    const std::string bytes = bytes_of(device, name);
    if (name == "savepoint") put("savepoint_fuzz", "closed", slots_of(bytes), false);
    // Without its preallocated rest a segment ends as a cut one does.
    if (name.starts_with("log-")) put("log_segment_fuzz", "sealed", bytes.substr(0, 16'384), true);
  }
  hostile::SmallDatabase next(&device);
  FOEDUS_CHECK(next.open());
  FOEDUS_CHECK(next.write(20, 500, &contents));
  FOEDUS_CHECK(next.glean());
  for (const std::string& name : device.names()) {
    if (name.starts_with("manifest-")) {
      put("manifest_fuzz", name, bytes_of(device, name), false);
    } else if (name.starts_with("snapshot-")) {
      put_pages(device, name);
    } else if (name == "savepoint") {
      put("savepoint_fuzz", "open", slots_of(bytes_of(device, name)), false);
    }
  }
  for (const StorageKind kind : {StorageKind::kArray, StorageKind::kHash}) {
    storage_meta::StorageMeta meta;
    meta.kind = kind;
    meta.records = kind == StorageKind::kArray ? 1'000 : 0;
    meta.payload_bytes = kind == StorageKind::kArray ? 100 : 0;
    const auto parameters = storage_meta::parameters_of(meta);
    put("ddl_record_fuzz", std::to_string(static_cast<unsigned>(kind)),
        std::string(reinterpret_cast<const char*>(&parameters), sizeof(parameters)) + "name",
        false);
  }
  return next.close();
}

}  // namespace
}  // namespace foedus::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_fuzz_corpus FOLDER\n");
    return 2;
  }
  foedus::fuzz::corpus = argv[1];
  const foedus::Status status = foedus::fuzz::make();
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.is_ok() ? 0 : 1;
}
