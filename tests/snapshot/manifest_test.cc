// A manifest is read back as it was written, byte by byte as FORMAT.md says; all other bytes are
// refused.
#include <functional>
#include <string_view>

#include "foedus-core/snapshot/files/manifest_format.h"
#include "foedus/limits.h"
#include "tests/snapshot/snapshot_rig.h"

namespace foedus::snapshot::manifest_test {
namespace {

constexpr std::size_t kFilesAt = sizeof(ManifestHeader);
constexpr std::size_t kStoragesAt = kFilesAt + 4 * sizeof(ManifestFileEntry);  // manifest_of(2)

std::string encoded(const Manifest& manifest) {
  auto bytes = encode_manifest(manifest);
  EXPECT_TRUE(bytes.is_ok());
  return bytes.is_ok() ? std::move(*bytes) : std::string();
}

Result<Manifest> parsed(std::string_view bytes) { return parse_manifest(bytes, "there/manifest"); }

// Returns the bytes with their right checksum.
std::string sealed(std::string bytes) {
  const std::uint32_t crc = checksum_of(bytes.data(), bytes.size());
  std::memcpy(bytes.data() + kChecksumOffset, &crc, sizeof(crc));
  return bytes;
}

template <typename T>
std::string with(std::string bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(c));
    text += digits;
  }
  return text;
}

TEST(ManifestTest, what_is_written_is_read) {
  for (const std::uint32_t number : {1u, 2u, 99'999'999u}) {
    FailingDevice device;
    const Manifest manifest = manifest_of(number);
    ASSERT_OK(write_manifest(&device, manifest));
    const auto read = read_manifest(&device, manifest.number);
    ASSERT_OK(read);
    EXPECT_EQ(*read, manifest);
    EXPECT_EQ(device.names(), std::vector<std::string>{manifest_name(manifest.number)});
  }
}

TEST(ManifestTest, one_without_storages_and_files_is_read) {
  Manifest manifest;
  manifest.number = SnapshotNumber{1};
  manifest.covered = manifest.newest_seen = Epoch(Epoch::kMax);
  const auto read = parsed(encoded(manifest));
  ASSERT_OK(read);
  EXPECT_EQ(*read, manifest);
}

// Goal: the bytes are those of FORMAT.md, in every build. Method: one manifest, written out here.
TEST(ManifestTest, bytes_are_as_described) {
  Manifest manifest;
  manifest.number = SnapshotNumber{0x102};
  manifest.covered = Epoch(0x304);
  manifest.newest_seen = Epoch(0x506);
  manifest.next_storage_id = StorageId{0x0a};
  manifest.files.push_back({SnapshotNumber{0x101}, 0x3f, 0x12345, 0x1234});
  manifest.files.push_back({SnapshotNumber{0x102}, 0, 9, 8});
  manifest.storages.push_back(
      {StorageId{9},
       StorageKind::kHash,
       "abc",
       0x11,
       0x22,
       0x33,
       SnapshotPageId(SnapshotNumber{0x101}, 0x3f, 0x12345),
       {0x44},
       {{SnapshotNumber{0x101}, 0x3f, 0x1234, 0x234}, {SnapshotNumber{0x102}, 0, 8, 0}}});
  const std::string bytes = encoded(manifest);
  const std::string crc = hex({bytes.data() + 12, 4});
  EXPECT_EQ(hex(bytes),
            "464f45444d414e49"
            "02000000" +
                crc +
                "b000000000000000"
                "0403000000000000"
                "0605000000000000"
                "02010000"
                "0a000000"
                "02000000"
                "01000000"
                "01010000"
                "3f000000"
                "45230100"
                "34120000"
                "02010000"
                "00000000"
                "09000000"
                "08000000"
                "452301f013100000"
                "1100000000000000"
                "09000000"
                "22000000"
                "01000000"
                "02"
                "33"
                "0300"
                "0200000000000000"
                "6162630000000000"
                "4400000000000000"
                "01010000"
                "3f000000"
                "34120000"
                "34020000"
                "02010000"
                "00000000"
                "08000000"
                "00000000");
}

TEST(ManifestTest, a_flipped_bit_in_any_byte_is_detected) {
  const std::string bytes = encoded(manifest_of(2));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      ASSERT_EQ(parsed(damaged).code(), ErrorCode::kCorruption) << "byte " << i;
    }
  }
}

TEST(ManifestTest, every_truncated_length_is_detected_even_with_a_valid_checksum) {
  const std::string bytes = encoded(manifest_of(2));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string cut = bytes.substr(0, size);
    ASSERT_EQ(parsed(cut).code(), ErrorCode::kCorruption) << size;
    if (size < sizeof(ManifestHeader)) continue;
    cut = sealed(with(cut, offsetof(ManifestHeader, file_bytes), std::uint64_t{size}));
    ASSERT_EQ(parsed(cut).code(), ErrorCode::kCorruption) << size;
  }
  std::string longer = bytes + std::string(8, '\0');
  ASSERT_EQ(parsed(sealed(longer)).code(), ErrorCode::kCorruption);
  longer = with(longer, offsetof(ManifestHeader, file_bytes), std::uint64_t{longer.size()});
  ASSERT_EQ(parsed(sealed(longer)).code(), ErrorCode::kCorruption);
}

// Goal: a hostile manifest is refused, or read as a possible one. Method: random bytes are changed
// and the checksum is recomputed; an accepted manifest encodes to the same bytes again.
TEST(ManifestTest, forged_bytes_are_refused_or_mean_what_they_say) {
  const std::string bytes = encoded(manifest_of(2));
  base::Random random(20'250'101);
  std::size_t accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string forged = bytes;
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
      const std::uint64_t place = random.below(forged.size());
      constexpr unsigned char kEdges[] = {0, 1, 0x7f, 0x80, 0xff};
      forged[place] = static_cast<char>(random.below(2) == 0 ? kEdges[random.below(5)]
                                                             : random.below(256));
    }
    forged = sealed(forged);
    const auto read = parsed(forged);
    if (!read.is_ok()) continue;
    ++accepted;
    ASSERT_EQ(problem_of(*read), "");
    ASSERT_EQ(encoded(*read), forged);
  }
  EXPECT_GT(accepted, 1'000u);  // epochs, records, boundaries, names
}

// Goal: counts of a hostile manifest cause no allocation or read beyond the bytes.
TEST(ManifestTest, counts_beyond_the_bytes_are_refused) {
  const std::string bytes = encoded(manifest_of(2));
  const std::size_t counts[] = {offsetof(ManifestHeader, file_count),
                                offsetof(ManifestHeader, storage_count),
                                kStoragesAt + offsetof(ManifestStorageEntry, boundary_count),
                                kStoragesAt + offsetof(ManifestStorageEntry, live_count),
                                kStoragesAt + offsetof(ManifestStorageEntry, live_count) + 4};
  for (const std::size_t offset : counts) {
    for (const std::uint32_t count : {9u, 1'000u, 0x10000000u, 0x7fffffffu, 0xffffffffu}) {
      EXPECT_EQ(parsed(sealed(with(bytes, offset, count))).code(), ErrorCode::kCorruption);
    }
  }
}

TEST(ManifestTest, another_version_is_refused_by_name) {
  const std::string bytes = encoded(manifest_of(2));
  for (const std::uint32_t version : {1u, 3u}) {
    const auto read = parsed(sealed(with(bytes, offsetof(ManifestHeader, version), version)));
    EXPECT_EQ(read.code(), ErrorCode::kWrongVersion);
    const std::string expected = "there/manifest has format version " + std::to_string(version);
    EXPECT_NE(read.status().message().find(expected), std::string::npos);
  }
}

// Goal: each limit of problem_of() is needed, and parsing checks it. Method: one change each.
TEST(ManifestTest, what_no_snapshot_can_be_is_a_problem) {
  const std::function<void(Manifest*)> changes[] = {
      [](Manifest* m) { m->number = SnapshotNumber{0}; },
      [](Manifest* m) { m->number = SnapshotNumber{100'000'000}; },
      [](Manifest* m) { m->number = SnapshotNumber{1}; },  // a file is of a later one
      [](Manifest* m) { m->covered = Epoch(0); },
      [](Manifest* m) { m->covered = m->newest_seen.next(); },
      [](Manifest* m) { m->newest_seen = Epoch(Epoch::kMax + 1); },
      [](Manifest* m) { m->next_storage_id = m->storages.back().id; },
      [](Manifest* m) { m->storages[0].id = StorageId{0}; },
      [](Manifest* m) { m->storages[0].kind = StorageKind{0}; },
      [](Manifest* m) { m->storages[0].kind = StorageKind{5}; },
      [](Manifest* m) { m->storages[0].name = ""; },
      [](Manifest* m) { m->storages[0].name = std::string(65, 'x'); },
      [](Manifest* m) { m->storages[0].name = m->storages[1].name; },
      [](Manifest* m) { m->storages[1].fan_out_bits = 256; },
      [](Manifest* m) { m->storages[0].records = 0; },  // of an array
      [](Manifest* m) { m->storages[0].records = kMaxArrayRecords + 1; },
      [](Manifest* m) { m->storages[0].payload_bytes = 0; },
      [](Manifest* m) { m->storages[0].payload_bytes = 2'001; },
      [](Manifest* m) { std::swap(m->storages[0], m->storages[1]); },
      [](Manifest* m) { m->storages[1].id = m->storages[0].id; },
      [](Manifest* m) { m->storages[0].root = SnapshotPageId(SnapshotNumber{2}, 1, 4); },
      [](Manifest* m) { m->storages[0].root = SnapshotPageId(SnapshotNumber{2}, 1, 0); },
      [](Manifest* m) { m->storages[0].root = SnapshotPageId(SnapshotNumber{2}, 2, 1); },
      [](Manifest* m) { m->storages[0].root = SnapshotPageId(SnapshotNumber{3}, 1, 1); },
      [](Manifest* m) { m->files[0].snapshot = SnapshotNumber{0}; },
      [](Manifest* m) { m->files[3].soc = 64; },
      [](Manifest* m) { m->files[0].pages = 1u << 28; },
      [](Manifest* m) { m->files[0].live_pages = m->files[0].pages + 1; },
      [](Manifest* m) { m->storages[0].live[0].pages = m->files[1].live_pages = 0; },
      [](Manifest* m) { m->storages[0].live[0].pages = 2; },  // the file has one page
      [](Manifest* m) { m->files[1].live_pages = 2; },
      [](Manifest* m) { m->storages[0].live[0].below_records = 2; },
      [](Manifest* m) { std::swap(m->storages[0].live[0], m->storages[0].live[1]); },
      [](Manifest* m) { m->storages[0].live[0].soc = 2; },  // no such file
      [](Manifest* m) { m->storages[0].live[1].snapshot = SnapshotNumber{3}; },
      [](Manifest* m) { m->storages[0].root = {}; },  // it has pages
      [](Manifest* m) { std::swap(m->storages[0].live, m->storages[1].live); },
      [](Manifest* m) { m->storages[0].live.clear(); },
      [](Manifest* m) { std::swap(m->files[0], m->files[1]); },
      [](Manifest* m) { m->files[1] = m->files[0]; },
  };
  EXPECT_EQ(problem_of(manifest_of(2)), "");
  int number = 0;
  for (const auto& change : changes) {
    Manifest manifest = manifest_of(2);
    change(&manifest);
    EXPECT_NE(problem_of(manifest), "") << "change " << number;
    ++number;
  }
}

TEST(ManifestTest, a_storage_is_found_by_its_id_alone) {
  Manifest manifest = manifest_of(2);
  ASSERT_GE(manifest.storages.size(), 2u);
  for (const ManifestStorage& storage : manifest.storages) {
    EXPECT_EQ(find_storage(&manifest, storage.id), &storage);
  }
  const StorageId first = manifest.storages.front().id;
  const StorageId last = manifest.storages.back().id;
  manifest.storages.erase(manifest.storages.begin());
  EXPECT_EQ(find_storage(&manifest, first), nullptr);
  manifest.storages.pop_back();
  EXPECT_EQ(find_storage(&manifest, last), nullptr);
  EXPECT_EQ(find_storage(nullptr, first), nullptr);
}

TEST(ManifestTest, parsing_asks_for_problems) {
  std::string bytes = encoded(manifest_of(2));
  const auto read = parsed(sealed(
      with(bytes, kStoragesAt + offsetof(ManifestStorageEntry, kind), std::uint8_t{5})));
  EXPECT_EQ(read.code(), ErrorCode::kCorruption);
  EXPECT_NE(read.status().message().find("storage 3 is of an unknown kind"), std::string::npos)
      << read.status().message();
}

TEST(ManifestTest, one_that_is_too_large_is_refused_and_nothing_is_written) {
  FailingDevice device;
  Manifest manifest = manifest_of(1);
  manifest.storages[0].boundaries.resize(kManifestBytesMax / 8);
  EXPECT_EQ(write_manifest(&device, manifest).code(), ErrorCode::kTooLarge);
  EXPECT_EQ(device.changing_calls(), 0u);
  manifest.storages[0].boundaries.resize(kManifestBytesMax / 8 - 40);
  ASSERT_OK(write_manifest(&device, manifest));
  const auto read = read_newest_manifest(&device);
  ASSERT_OK(read);
  EXPECT_EQ(*read, manifest);
}

TEST(ManifestTest, a_file_that_is_too_large_is_refused_without_being_read) {
  FailingDevice device;
  ASSERT_OK(write_manifest(&device, manifest_of(1)));
  device.set_size("manifest-00000001", kManifestBytesMax + 1);
  EXPECT_EQ(read_newest_manifest(&device).code(), ErrorCode::kCorruption);
  EXPECT_EQ(device.calls(Call::kRead), 0u);
}

TEST(ManifestTest, numbers_are_found_in_order_and_the_newest_counts) {
  FailingDevice device;
  EXPECT_EQ(read_newest_manifest(&device).code(), ErrorCode::kNotFound);
  for (const std::uint32_t number : {1u, 2u, 10u}) {
    ASSERT_OK(write_manifest(&device, manifest_of(number)));
  }
  for (const char* const name : {"manifest-new", "manifest-3", "snapshot-00000099-0"}) {
    ASSERT_OK(device.open(name, device::Access::kCreate));
  }
  const auto found = find_manifests(&device);
  ASSERT_OK(found);
  const std::vector<SnapshotNumber> expected = {SnapshotNumber{1}, SnapshotNumber{2},
                                                SnapshotNumber{10}};
  EXPECT_EQ(*found, expected);
  const auto newest = read_newest_manifest(&device);
  ASSERT_OK(newest);
  EXPECT_EQ(*newest, manifest_of(10));
}

TEST(ManifestTest, a_damaged_newest_one_is_corruption_and_no_older_one_is_taken) {
  FailingDevice device;
  ASSERT_OK(write_manifest(&device, manifest_of(1)));
  ASSERT_OK(write_manifest(&device, manifest_of(2)));
  device.flip_bit("manifest-00000002", 77, 1);
  const auto read = read_newest_manifest(&device);
  EXPECT_EQ(read.code(), ErrorCode::kCorruption);
  EXPECT_NE(read.status().message().find("/failing/manifest-00000002"), std::string::npos);
}

TEST(ManifestTest, one_under_the_name_of_another_is_corruption) {
  FailingDevice device;
  ASSERT_OK(write_manifest(&device, manifest_of(1)));
  ASSERT_OK(device.rename("manifest-00000001", "manifest-00000002"));
  EXPECT_EQ(read_newest_manifest(&device).code(), ErrorCode::kCorruption);
}

TEST(ManifestTest, a_number_that_is_not_newer_is_refused) {
  FailingDevice device;
  ASSERT_OK(write_manifest(&device, manifest_of(2)));
  for (const std::uint32_t number : {1u, 2u}) {
    EXPECT_EQ(write_manifest(&device, manifest_of(number)).code(), ErrorCode::kAlreadyExists);
  }
  ASSERT_OK(write_manifest(&device, manifest_of(3)));
}

TEST(ManifestTest, an_error_of_a_call_that_looks_is_handed_on) {
  FailingDevice device;
  ASSERT_OK(write_manifest(&device, manifest_of(1)));
  for (const Call kind : {Call::kList, Call::kOpen, Call::kSize, Call::kRead}) {
    device.fail(kind, 0, EIO);
    EXPECT_EQ(read_newest_manifest(&device).status().error_number(), EIO);
  }
  device.fail(Call::kList, 0, EIO);
  EXPECT_EQ(remove_manifest(&device, SnapshotNumber{1}).error_number(), EIO);
}

TEST(ManifestTest, the_newest_one_cannot_be_removed) {
  FailingDevice device;
  EXPECT_EQ(remove_manifest(&device, SnapshotNumber{1}).code(), ErrorCode::kNotFound);
  ASSERT_OK(write_manifest(&device, manifest_of(1)));
  ASSERT_OK(write_manifest(&device, manifest_of(2)));
  EXPECT_EQ(remove_manifest(&device, SnapshotNumber{2}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(remove_manifest(&device, SnapshotNumber{9}).code(), ErrorCode::kNotFound);
  ASSERT_OK(remove_manifest(&device, SnapshotNumber{1}));
  EXPECT_EQ(device.names(), std::vector<std::string>{"manifest-00000002"});
}

// The manifest is damaged, missing, or missing beside an older one; an error of the device is no
// such evidence.
TEST(ManifestTest, one_that_is_lost_is_known_and_written_again) {
  FailingDevice device;
  const Manifest known = manifest_of(2);
  EXPECT_TRUE(is_lost(read_newest_manifest(&device), known));
  ASSERT_OK(write_manifest(&device, manifest_of(1)));
  EXPECT_TRUE(is_lost(read_newest_manifest(&device), known));
  ASSERT_OK(write_manifest(&device, known));
  EXPECT_FALSE(is_lost(read_newest_manifest(&device), known));
  EXPECT_FALSE(is_lost(read_newest_manifest(&device), manifest_of(1)));
  device.fail(Call::kRead, 0, EIO);
  EXPECT_FALSE(is_lost(read_newest_manifest(&device), known));
  device.set_size("manifest-00000002", 40);
  EXPECT_TRUE(is_lost(read_newest_manifest(&device), known));
  device.fail(Call::kList, 0, EIO);
  EXPECT_EQ(restore_manifest(&device, known).status().error_number(), EIO);
  device.fail(Call::kWrite, 0, EIO);
  EXPECT_EQ(restore_manifest(&device, known).status().error_number(), EIO);
  const auto again = restore_manifest(&device, known);
  ASSERT_OK(again);
  Manifest expected = known;
  expected.number = SnapshotNumber{3};
  EXPECT_EQ(*again, expected);
  EXPECT_EQ(*read_newest_manifest(&device), expected);
}

// Goal: a damaged manifest of a failed glean blocks no later one. Method: damaged manifests of the
// next number, of a later one, and of the last possible one.
TEST(ManifestTest, one_that_is_lost_is_written_again_above_all_that_are_there) {
  FailingDevice device;
  const Manifest known = manifest_of(2);
  ASSERT_OK(write_manifest(&device, known));
  for (const std::uint32_t number : {3u, 7u}) {
    ASSERT_OK(write_manifest(&device, manifest_of(number)));
    device.set_size(manifest_name(SnapshotNumber{number}), 40);
    ASSERT_TRUE(is_lost(read_newest_manifest(&device), known));
    const auto again = restore_manifest(&device, known);
    ASSERT_OK(again);
    EXPECT_EQ(again->number, SnapshotNumber{number + 1});
    EXPECT_EQ(*read_newest_manifest(&device), *again);
  }
  // The new number is above the old one, although there is no other manifest: files of the old
  // number may be read.
  for (const std::string& name : device.names()) device.drop_file(name);
  const auto again = restore_manifest(&device, known);
  ASSERT_OK(again);
  EXPECT_EQ(again->number, SnapshotNumber{3});
  ASSERT_OK(device.rename("manifest-00000003", "manifest-99999999"));
  EXPECT_EQ(restore_manifest(&device, known).code(), ErrorCode::kTooLarge);
}

TEST(ManifestDeathTest, one_with_a_problem_is_never_written) {
  FailingDevice device;
  Manifest manifest = manifest_of(1);
  manifest.covered = Epoch();
  EXPECT_DEATH([[maybe_unused]] const Status status = write_manifest(&device, manifest),
               "it covers no epoch");
}

}  // namespace
}  // namespace foedus::snapshot::manifest_test
