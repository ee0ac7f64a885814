#pragma once
// Sound pages of all kinds, of snapshots of a small database, and the result of the check after one
// was changed.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage/page_check.h"
#include "tests/hostile/small_database.h"

namespace foedus::storage {

using page::PageBytes;

// Returns the id of the page `behind` places after this one in its file.
inline page::SnapshotPageId id_of(const page::PageHeader& page, std::uint32_t behind = 0) {
  return page::SnapshotPageId(page.page_id).plus(behind);
}
// Sets the page's counts of keys and layers, also those of its birth.
inline void count(page::PageHeader* page, std::uint32_t keys, std::uint32_t layers = 0) {
  page->store_version(page::PageVersion(keys, layers));
  page->birth_version = page->version.load_relaxed();
}

class SoundPages {
 public:
  // Returns the pages of two snapshots, which are made once.
  static const SoundPages& get() {
    static const SoundPages pages;
    return pages;
  }
  const std::vector<std::unique_ptr<PageBytes>>& all() const { return pages_; }
  Epoch newest() const { return newest_; }  // no record is newer

 private:
  SoundPages() {
    using testing::must;
    testing::FailingDevice device;
    hostile::SmallDatabase database(&device);
    hostile::Contents contents;
    must(database.open());
    must(database.write(0, 700, &contents));
    must(database.glean());
    must(database.write(680, 60, &contents));
    must(database.glean());
    must(database.close());
    const auto manifest = snapshot::read_newest_manifest(&device);
    must(manifest.status());
    newest_ = manifest->covered;
    for (const snapshot::ManifestFile& file : manifest->files) {
      const auto bytes = device.bytes_of(snapshot::snapshot_name(file.snapshot, file.soc));
      for (std::uint64_t page = 1; page <= file.pages; ++page) {
        pages_.push_back(std::make_unique<PageBytes>());
        std::memcpy(pages_.back()->bytes, bytes.data() + page * page::kPageBytes, page::kPageBytes);
      }
    }
  }

  std::vector<std::unique_ptr<PageBytes>> pages_;
  Epoch newest_;
};

// Changes the first page of the kind to which `change` applies: it returns whether it did, or void.
// Expects that the check then names `rule`; null: that the page is sound.
template <typename Page, typename Change>
void expect_said(page::PageKind kind, const char* rule, Change&& change) {
  const auto copy = std::make_unique<PageBytes>();
  for (const auto& sound : SoundPages::get().all()) {
    if (sound->header()->kind != kind) continue;
    *copy = *sound;
    if constexpr (std::is_void_v<decltype(change(*copy->as<Page>()))>) {
      change(*copy->as<Page>());
    } else if (!change(*copy->as<Page>())) {
      continue;
    }
    EXPECT_STREQ(broken_rule(*copy->header(), SoundPages::get().newest()), rule);
    return;
  }
  ADD_FAILURE() << "no page to break this rule: " << rule;
}

}  // namespace foedus::storage
