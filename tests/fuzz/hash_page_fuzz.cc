// Pages of hash storages: every record is found by its key, every digit leads to a pointer.
#include "foedus-core/storage/hash/bin.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/layout/page_check.h"
#include "tests/fuzz/page_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  using page::PageKind;
  using namespace storage::hash;
  const fuzz::Input input(data, size);
  const auto page = std::make_unique<fuzz::PageBytes>();
  if (!fuzz::take_page(input, PageKind::kHashInterior, PageKind::kHashBin, page.get())) return 0;
  if (page->header()->kind == PageKind::kHashInterior) {
    const auto& interior = *page->as<HashInteriorPage>();
    for (std::uint32_t digit = 0; digit < HashInteriorPage::kPointers; ++digit) {
      const std::uint32_t owner = interior.owner_of(digit);
      const unsigned bits = bits_below(interior, owner);
      if (bits <= interior.header.flags || bits > kPrefixBitsMax) __builtin_trap();
      if (!interior.pointers[owner].load().volatile_page.is_null()) __builtin_trap();
    }
    return 0;
  }
  auto& bin = *page->as<HashBinPage>();
  for (std::uint32_t i = 0; i < bin.load_count(); ++i) {
    const HashSlot slot = bin.slot(i);
    page::RecordHeader* const record = bin.record(slot);
    const std::string_view key(key_of(record), slot.key_bytes());
    fuzz::look_at(key.data(), key.size());
    fuzz::look_at(payload_of(record, slot), slot.body_bytes());
    KeyPosition found;
    bool saw_moved = false;
    if (!search_page(&bin, hash_of(key), key, &found, &saw_moved) || saw_moved) __builtin_trap();
  }
  return 0;
}
