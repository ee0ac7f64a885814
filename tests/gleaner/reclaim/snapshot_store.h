#pragma once
// SnapshotStore: snapshots of storages of all kinds on a device, composed from random records;
// their contents are compared page by page.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/snapshot/snapshot_reader.h"
#include "foedus-core/snapshot/snapshot_writer.h"
#include "gleaner/compose/array/composer.h"
#include "gleaner/compose/hash/composer.h"
#include "gleaner/compose/masstree/composer.h"
#include "gleaner/compose/sequential/composer.h"
#include "tests/gleaner/compose/list_stream.h"
#include "tests/gleaner/live_walk.h"
#include "tests/gleaner/reclaim/content_walk.h"

namespace foedus::gleaner {

// The pages of the files that a manifest lists, loaded when they are needed.
class DevicePages {
 public:
  explicit DevicePages(device::Device* device) : files_(device) {}

  // Returns the page, or null if it cannot be read.
  const page::PageHeader* at(page::SnapshotPageId id) {
    std::unique_ptr<page::PageBytes>& block = blocks_[id.word()];
    if (block != nullptr) return block->header();
    auto read = std::make_unique<page::PageBytes>();
    if (!files_.read(id, read->header()).is_ok()) return nullptr;
    block = std::move(read);
    return block->header();
  }

 private:
  snapshot::SnapshotFiles files_;
  std::map<std::uint64_t, std::unique_ptr<page::PageBytes>> blocks_;
};

// Contents by storage id; a page that cannot be read makes them differ.
using Contents = std::map<page::StorageId, ContentWalk::Content>;
inline Contents contents_of(device::Device* device, const snapshot::Manifest& manifest) {
  DevicePages pages(device);
  ContentWalk walk([&pages](page::SnapshotPageId id) { return pages.at(id); });
  Contents contents;
  for (const auto& storage : manifest.storages) contents[storage.id] = walk.look(storage.root);
  return contents;
}

// Checks F7, and that all pages are there.
inline void expect_counted(device::Device* device, const snapshot::Manifest& manifest) {
  DevicePages pages(device);
  LiveWalk walk([&pages](page::SnapshotPageId id) { return pages.at(id); });
  for (const auto& storage : manifest.storages) {
    ASSERT_EQ(walk.count(storage.root), storage.live) << storage.name;
  }
}

class SnapshotStore {
 public:
  static constexpr StorageKind kKinds[] = {StorageKind::kArray, StorageKind::kHash,
                                           StorageKind::kMasstree, StorageKind::kSequential};

  explicit SnapshotStore(device::Device* device) : device_(device) {
    for (const StorageKind kind : kKinds) {
      storage_meta::StorageMeta meta;
      meta.id = page::StorageId{static_cast<std::uint32_t>(kind)};
      meta.kind = kind;
      meta.name = std::string(1, static_cast<char>('A' + static_cast<int>(kind)));
      meta.fan_out_bits = kind == StorageKind::kHash ? 5 : 0;
      meta.records = kind == StorageKind::kArray ? 1'000'000 : 0;
      meta.payload_bytes = kind == StorageKind::kArray ? 100 : 0;
      metas_[kind] = meta;
    }
    next_epoch();
  }

  void put(StorageKind kind, const std::string& key, const std::string& payload) {
    const auto type =
        kind == StorageKind::kSequential ? log::LogRecordType::kAppend : log::LogRecordType::kPut;
    stream(kind)->add(type, next_tid(), kind == StorageKind::kSequential ? "" : key, payload);
  }
  void put(std::uint64_t index, const std::string& payload) {
    stream(StorageKind::kArray)->add(log::LogRecordType::kPut, next_tid(), index, payload);
  }
  void erase(StorageKind kind, const std::string& key) {
    stream(kind)->add(log::LogRecordType::kErase, next_tid(), key, {});
  }

  // Makes the next snapshot, which is durable.
  Status glean() {
    snapshot::Manifest next;
    if (manifest.has_value()) next = *manifest;
    next.number = page::SnapshotNumber{static_cast<std::uint32_t>(next.number) + 1};
    next.covered = next.newest_seen = Epoch(epoch_);
    next.next_storage_id = page::StorageId{10};
    FOEDUS_TRY(const auto writer, snapshot::SnapshotWriter::create(device_, next.number, 0));
    snapshot::SnapshotFiles reader(device_);
    next.storages.clear();
    for (const StorageKind kind : kKinds) {
      FOEDUS_TRY(next.storages.emplace_back(), compose(kind, &reader, writer.get()));
    }
    FOEDUS_CHECK(writer->finish());
    next.files.push_back({next.number, 0, writer->pages(), 0});
    snapshot::settle_files(&next);
    FOEDUS_CHECK(snapshot::write_manifest(device_, next));
    manifest = std::move(next);
    next_epoch();
    return {};
  }

  std::optional<snapshot::Manifest> manifest;  // the newest one

 private:
  void next_epoch() {
    ++epoch_;
    ordinal_ = 0;
    for (const StorageKind kind : kKinds) {
      streams_[kind] = std::make_unique<ListStream>(kind, metas_.at(kind).id);
    }
  }
  page::Tid next_tid() { return page::Tid(Epoch(epoch_), ++ordinal_); }
  ListStream* stream(StorageKind kind) { return streams_.at(kind).get(); }

  Result<snapshot::ManifestStorage> compose(StorageKind kind, snapshot::PageReader* reader,
                                            snapshot::PageWriter* writer) {
    const storage_meta::StorageMeta& meta = metas_.at(kind);
    snapshot::ManifestStorage storage{.id = meta.id,
                                      .kind = kind,
                                      .name = meta.name,
                                      .records = meta.records,
                                      .payload_bytes = meta.payload_bytes,
                                      .fan_out_bits = meta.fan_out_bits,
                                      .root = {},
                                      .boundaries = {}};
    if (manifest.has_value()) {
      for (const auto& before : manifest->storages) {
        if (before.id == meta.id) storage = before;
      }
    }
    if (stream(kind)->size() == 0) return storage;
    snapshot::PageAccounting accounting;
    const Composition composition{&meta, storage.root, reader, writer, &accounting};
    FOEDUS_TRY(storage.root, compose_root(composition, stream(kind)));
    FOEDUS_CHECK(accounting.apply_to(&storage.live));
    return storage;
  }
  static Result<page::SnapshotPageId> compose_root(const Composition& composition,
                                                   RecordStream* records) {
    FOEDUS_TRY(const std::vector<Subtree> subtrees, compose_all(composition, records));
    switch (composition.meta->kind) {
      case StorageKind::kArray:
        return join_array(composition, subtrees);
      case StorageKind::kHash:
        return join_hash(composition, subtrees);
      case StorageKind::kMasstree:
        return join_masstree(composition, subtrees);
      case StorageKind::kSequential:
        return join_sequential(composition, subtrees);
    }
    std::abort();
  }
  static Result<std::vector<Subtree>> compose_all(const Composition& composition,
                                                  RecordStream* records) {
    switch (composition.meta->kind) {
      case StorageKind::kArray:
        return compose_array(composition, {}, records);
      case StorageKind::kHash:
        return compose_hash(composition, {}, records);
      case StorageKind::kMasstree:
        return compose_masstree(composition, {}, records);
      case StorageKind::kSequential:
        return compose_sequential(composition, {}, records);
    }
    std::abort();
  }

  device::Device* const device_;
  std::map<StorageKind, storage_meta::StorageMeta> metas_;
  std::map<StorageKind, std::unique_ptr<ListStream>> streams_;
  std::uint64_t epoch_ = 0;
  std::uint32_t ordinal_ = 0;
};

}  // namespace foedus::gleaner
