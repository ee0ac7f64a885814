#pragma once
// Damage to the files of a gleaned database, with right checksums if the test asks for them.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/files/format.h"
#include "tests/tools/foedus/cli_rig.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

using page::PageBytes;

// A copy of a directory that a test may damage.
class DamagedCopy {
 public:
  explicit DamagedCopy(const std::string& dir) {
    std::filesystem::copy(dir, this->dir(), std::filesystem::copy_options::recursive);
  }
  const std::string& dir() const { return directory_.path(); }
  std::string path_of(const std::string& name) const { return dir() + "/" + name; }

  std::unique_ptr<PageBytes> read(const std::string& name, std::uint64_t page) const {
    auto block = std::make_unique<PageBytes>();
    std::ifstream file(path_of(name), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(page * page::kPageBytes));
    file.read(block->bytes, sizeof(block->bytes));
    EXPECT_EQ(file.gcount(), static_cast<std::streamsize>(sizeof(block->bytes)));
    return block;
  }
  void write_bytes(const std::string& name, std::uint64_t offset, std::string_view bytes) const {
    std::fstream file(path_of(name), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.good());
  }
  void flip(const std::string& name, std::uint64_t offset) const {
    std::fstream file(path_of(name), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
    ASSERT_TRUE(file.good());
  }
  // Writes a wrong page with the right checksum.
  void write(const std::string& name, std::uint64_t page, PageBytes* block) const {
    block->header()->crc32c = snapshot::checksum_of(block->bytes, sizeof(block->bytes));
    write_bytes(name, page * page::kPageBytes, {block->bytes, sizeof(block->bytes)});
  }
  std::uint64_t pages_of(const std::string& name) const {
    return std::filesystem::file_size(path_of(name)) / page::kPageBytes;
  }
  // Returns the first page for which `holds` is true, or 0.
  std::uint64_t find(const std::string& name, const std::function<bool(PageBytes&)>& holds) const {
    for (std::uint64_t page = 1; page < pages_of(name); ++page) {
      if (holds(*read(name, page))) return page;
    }
    return 0;
  }

 private:
  testing::TestDirectory directory_;
};

inline constexpr char kFile[] = "snapshot-00000001-0";
inline constexpr char kManifest[] = "manifest-00000001";

// All tests damage copies of one database, all of whose pages are reached.
class DamageTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    rig_ = std::make_unique<CliRig>();
    rig_->write(0, 12'000);
    rig_->glean();
  }
  static void TearDownTestSuite() { rig_.reset(); }

  static Answer verify(const DamagedCopy& copy) { return ask(Verb::kVerify, copy.dir()); }
  static std::string at(std::uint64_t page) {
    return std::string("problem: ") + kFile + ", page " + std::to_string(page);
  }
  static bool is_of(PageBytes& block, page::PageKind kind) { return block.header()->kind == kind; }

  static void expect_damage(const DamagedCopy& copy, std::uint64_t page, std::string_view what) {
    const Answer answer = verify(copy);
    EXPECT_EQ(answer.status, ExitStatus::kDamaged) << what << '\n' << answer.out << answer.err;
    EXPECT_TRUE(answer.says(at(page) + ",") || answer.says(at(page) + ":")) << what << '\n'
                                                                            << answer.out;
    EXPECT_TRUE(answer.says(what)) << what << '\n' << answer.out;
  }

  inline static std::unique_ptr<CliRig> rig_;
};

}  // namespace foedus::cli
