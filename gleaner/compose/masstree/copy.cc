#include "gleaner/compose/masstree/copy.h"

#include <cstring>

namespace foedus::gleaner {

using storage::masstree::BorderPage;
using storage::masstree::Slot;

namespace {

// Returns where the records of the keys before `index` begin.
std::uint32_t heap_end_of(BorderPage* page, unsigned index) {
  return index == 0 ? page::kPageBytes : page->slot(index - 1).offset();
}

}  // namespace

unsigned fitting_end(BorderPage* from, unsigned begin, unsigned end, const BorderPage& to) {
  const unsigned keys = to.header.load_version().keys();
  const std::uint32_t heap_end = heap_end_of(from, begin);
  const auto fits = [&](unsigned key) {
    const unsigned keys_then = keys + key - begin;
    const std::uint32_t directory_end =
        BorderPage::kBodyBegin + BorderPage::directory_bytes(keys_then);
    return keys_then <= BorderPage::kKeysMax &&
           directory_end + heap_end - heap_end_of(from, key) <= to.heap_begin;
  };
  unsigned fitting = end;
  while (fitting != begin && !fits(fitting)) --fitting;
  if (fitting == end) return end;
  while (fitting != begin && from->slice(fitting - 1) == from->slice(fitting)) --fitting;
  return fitting;
}

void copy_keys(BorderPage* from, unsigned begin, unsigned end, BorderPage* to) {
  const std::uint32_t from_begin = heap_end_of(from, end);
  const std::uint32_t bytes = heap_end_of(from, begin) - from_begin;
  to->heap_begin -= bytes;
  std::memcpy(to->at(to->heap_begin), from->at(from_begin), bytes);
  page::PageVersion version = to->header.load_version();
  for (unsigned i = begin; i < end; ++i) {
    const Slot slot = from->slot(i);
    const Slot copied = slot.with_offset(slot.offset() - from_begin + to->heap_begin);
    const unsigned keys = version.keys();
    to->group(keys).slices[keys % BorderPage::Group::kKeys] = from->slice(i);
    to->slot_word(keys).store_relaxed(copied.word());  // order: relaxed, not shared
    version = slot.is_layer() ? version.plus_key().plus_layer() : version.plus_key();
  }
  to->header.store_version(version);
}

void keep_keys(BorderPage* page, unsigned stay) {
  const page::PageVersion version = page->header.load_version();
  const std::uint32_t heap_begin = heap_end_of(page, stay);
  unsigned layers_gone = 0;
  for (unsigned i = stay; i < version.keys(); ++i) {
    layers_gone += page->slot(i).is_layer() ? 1 : 0;
    page->group(i).slices[i % BorderPage::Group::kKeys] = 0;
    page->slot_word(i).store_relaxed(0);  // order: relaxed, not shared
  }
  std::memset(page->at(page->heap_begin), 0, heap_begin - page->heap_begin);
  page->heap_begin = heap_begin;
  page->header.store_version(page::PageVersion(stay, version.layers() - layers_gone));
}

}  // namespace foedus::gleaner
