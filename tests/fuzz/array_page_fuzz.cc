// Pages of arrays: reads all records with every shape, and all pointers.
#include "foedus-core/storage/array/array_page_check.h"
#include "tests/fuzz/page_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  using page::PageKind;
  const fuzz::Input input(data, size);
  const auto page = std::make_unique<fuzz::PageBytes>();
  if (!fuzz::take_page(input, PageKind::kArrayInterior, PageKind::kArrayBorder, page.get())) {
    return 0;
  }
  if (page->header()->kind == PageKind::kArrayInterior) {
    for (const auto& pointer : page->as<storage::array::ArrayInteriorPage>()->pointers) {
      if (!pointer.load().volatile_page.is_null()) __builtin_trap();
    }
    return 0;
  }
  auto& border = *page->as<storage::array::ArrayBorderPage>();
  for (const std::uint32_t payload_bytes : {1u, 8u, 100u, 2'000u}) {
    const auto& shape = storage::array::shape_of(payload_bytes);
    if (!storage::array::has_quiet_records(border, shape, fuzz::kNewest)) continue;
    for (std::uint32_t i = 0; i < shape.records_per_page; ++i) {
      auto* const record = storage::array::record_at(&border, i, shape);
      fuzz::look_at(storage::array::payload_of(record), payload_bytes);
    }
  }
  return 0;
}
