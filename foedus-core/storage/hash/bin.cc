#include "foedus-core/storage/hash/bin.h"

#include <cstring>

#include "foedus-core/storage/hash/layout/tags.h"

namespace foedus::storage::hash {

namespace {

void count_page(const PageSource& source, std::uint64_t change) {
  source.control->volatile_pages.fetch_add_relaxed(change);  // order: relaxed, statistics
}

template <typename Take>
void for_each_page(const PageSource& source, HashBinPage* bin, Take&& take) {
  for (HashBinPage* page = bin; page != nullptr;) {
    HashBinPage* const next = next_of(*source.pool, page);
    take(&page->header);
    count_page(source, ~std::uint64_t{0});
    page = next;
  }
}

}  // namespace

std::string_view key_at(page::RecordHeader* record) {
  HashBinPage* const page = page_of(record);
  const auto offset =
      static_cast<std::uint32_t>(reinterpret_cast<char*>(record) - reinterpret_cast<char*>(page));
  for (std::uint32_t place = page->load_count(); place-- != 0;) {
    const HashSlot slot = page->slot(place);
    if (slot.offset() == offset) return {key_of(record), slot.key_bytes()};
  }
  FOEDUS_INVARIANT(false, record, offset);
}

HashBinPage* successor_of(page::PagePool& pool, const HashBinPage* bin, std::uint64_t hash) {
  // order: relaxed, stored before the moved flag that the caller has seen.
  const std::uint64_t second = bin->successors[1].load_relaxed();
  const bool bit = ((hash >> (kHashBits - 1 - bin->prefix_bits())) & 1) != 0;
  const std::uint64_t id = second != 0 && bit ? second : bin->successors[0].load_relaxed();
  FOEDUS_INVARIANT(id != 0, bin->header.page_id, bin->prefix);
  return bin_of(pool, id);
}

bool search_page(HashBinPage* page, std::uint64_t hash, std::string_view key, KeyPosition* found,
                 bool* saw_moved) {
  return visit_tags(page, hash, page->load_count(), [&](std::uint32_t place) {
    const HashSlot slot = page->slot(place);
    page::RecordHeader* const record = page->record(slot);
    if (std::string_view(key_of(record), slot.key_bytes()) != key) return false;
    if (record->load_tid().is_moved()) {
      *saw_moved = true;
      return false;
    }
    found->page = page;
    found->record = record;
    found->place = place;
    return true;
  });
}

Search search_bin(page::PagePool& pool, HashBinPage* bin, std::uint64_t hash, std::string_view key,
                  KeyPosition* found) {
  bool saw_moved = false;
  found->is_cold = false;
  found->bin = bin;
  found->record = nullptr;
  for (HashBinPage* page = bin; page != nullptr; page = next_of(pool, page)) {
    if (search_page(page, hash, key, found, &saw_moved)) return Search::kFound;
  }
  return saw_moved ? Search::kUnsettled : Search::kMissing;
}

HashBinPage* make_bin_page(const PageSource& source, std::uint64_t prefix, unsigned prefix_bits,
                           const HashBinPage* head) {
  FOEDUS_INVARIANT(prefix_bits >= 1 && prefix_bits <= kPrefixBitsMax, prefix_bits);
  auto* const page = reinterpret_cast<HashBinPage*>(source.pages->allocate());
  if (page == nullptr) return nullptr;
  std::memset(static_cast<void*>(page), 0, HashBinPage::kDataOffset);
  page->header.initialize(source.pool->id_of(&page->header), source.control->id(),
                          page::PageKind::kHashBin, 0);
  page->header.flags = static_cast<std::uint8_t>(prefix_bits);
  page->header.last_soc.store_relaxed(source.soc);  // order: relaxed, not reachable yet
  page->prefix = prefix;
  page->head = head == nullptr ? page->header.page_id : head->header.page_id;
  page->data_end = HashBinPage::kDataOffset;
  count_page(source, 1);
  return page;
}

void release_bin(const PageSource& source, HashBinPage* bin) {
  for_each_page(source, bin, [&](page::PageHeader* page) { source.pages->release(page); });
}

void retire_bin(const PageSource& source, HashBinPage* bin) {
  for_each_page(source, bin, [&](page::PageHeader* page) { source.pages->retire(page); });
}

page::RecordHeader* place_record(HashBinPage* page, std::uint64_t hash, std::string_view key,
                                 std::uint32_t room, std::uint32_t length, page::Tid tid) {
  const auto key_bytes = static_cast<std::uint32_t>(key.size());
  FOEDUS_INVARIANT(page->has_room(key_bytes, room), page->data_end, key_bytes, room);
  const std::uint32_t offset = page->data_end;
  const std::uint32_t place = page->record_count.load_relaxed();  // order: relaxed, under the lock
  const HashSlot slot(offset, key_bytes, room, length);
  page::RecordHeader* const record = page->record(slot);
  record->lock.store_relaxed(0);  // order: all relaxed, made visible by publish_record()
  record->tid.store_relaxed(tid.word());
  if (!key.empty()) std::memcpy(reinterpret_cast<char*>(record + 1), key.data(), key.size());
  page->slot_word(place).store_relaxed(slot.word());
  auto& tag_word = page->tags[place / HashBinPage::kTagsPerWord];
  const std::uint32_t shift = place % HashBinPage::kTagsPerWord * HashBinPage::kTagBits;
  tag_word.store_relaxed(tag_word.load_relaxed() | (hash & kTagMask) << shift);
  page->data_end = offset + record_bytes_of(key_bytes, room);
  return record;
}

void publish_record(HashBinPage* page) {
  // order: release, pairs with load_count(): record, slot and tag are complete.
  page->record_count.store_release(page->record_count.load_relaxed() + 1);
}

}  // namespace foedus::storage::hash
