#include "tests/txn/line_sharing/line_owners.h"

#include <dlfcn.h>

#include <bit>
#include <cstdio>

#include "foedus-core/page/page_header.h"

namespace foedus::testing::lines {

namespace {

// Access checks do not hold for the arguments of an explicit instantiation (C++20 13.9.3), so the
// product needs no friend for the names in a report.
template <auto kMember>
struct SocsOfPool {
  friend auto& socs_behind(page::PagePool& pool) { return pool.*kMember; }
};

auto& socs_behind(page::PagePool& pool);
template struct SocsOfPool<&page::PagePool::socs_>;

const char* name_of(page::PageKind kind) {
  switch (kind) {
    case page::PageKind::kArrayInterior:
    case page::PageKind::kArrayBorder:
      return "array";
    case page::PageKind::kHashInterior:
      return "hash, interior";
    case page::PageKind::kHashBin:
      return "hash, bin";
    case page::PageKind::kMasstreeInterior:
      return "Master-Tree, interior";
    case page::PageKind::kMasstreeBorder:
      return "Master-Tree, border";
    case page::PageKind::kSequential:
      return "sequential, records";
    case page::PageKind::kSequentialHeads:
      return "sequential, heads";
    default:
      return "other";
  }
}

}  // namespace

LineOwners::LineOwners(Database& database, const std::vector<engine::EngineSession*>& sessions,
                       const std::vector<occ::StorageControl*>& storages,
                       const std::vector<ThreadUse>& threads) {
  engine::Engine& engine = engine_of(database);
  for (engine::EngineSession* const session : sessions) {
    add(session->log().at(0), session->log().capacity(), "log ring");
    add(&session->log(), sizeof(session->log()), "offsets of the log ring");
    add(session, sizeof(*session), "session object");
    auto& reads = session->context().sets().reads();
    add(reads.begin(), reads.room() * sizeof(reads[0]), "read set");
    auto& writes = session->context().sets().writes();
    add(writes.entries().data(), writes.room() * sizeof(writes[0]), "write set");
    const auto& sorted = writes.sorted();
    add(sorted.data(), sorted.capacity() * sizeof(sorted[0]), "write set");
    auto& pages = session->context().sets().pages().entries();
    add(pages.data(), pages.capacity() * sizeof(pages[0]), "page-version set");
    add(&engine.clock().slot(session->context().session()), kLineBytes,
        "session's line of the epoch clock");
  }
  add(&engine.clock(), sizeof(engine.clock()), "epoch clock");
  add(&engine.durability(), sizeof(engine.durability()), "durable epoch and trouble word");
  add(&engine, sizeof(engine), "engine object");
  for (occ::StorageControl* const storage : storages) {
    add(&storage->root, kLineBytes, "storage control, root");
    add(&storage->conflicts, sizeof(storage->conflicts) + sizeof(storage->volatile_pages),
        "storage control, counters");
    add(storage, sizeof(*storage), "storage control, identity");
  }
  page::PagePool& pool = engine.pool();
  add(&pool, sizeof(pool), "page pool");
  add(&socs_behind(pool)[0], pool.socs() * sizeof(socs_behind(pool)[0]),
      "page pool, free pages of a SOC");
  pages_begin_ = reinterpret_cast<std::uintptr_t>(pool.resolve(page::VolatilePageId(0, 0)));
  const std::uint64_t bytes_max = engine::share_memory(engine.options()).value().page_bytes;
  pages_end_ = pages_begin_ + pool.socs() * std::bit_ceil(bytes_max);
  for (const ThreadUse& thread : threads) {
    regions_.push_back({thread.stack_begin, thread.stack_end, "stack and variables of a thread"});
  }
}

void LineOwners::add(const volatile void* begin, std::size_t bytes, const std::string& owner) {
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  regions_.push_back({at / kLineBytes * kLineBytes, at + bytes, owner});
}

std::string LineOwners::owner_of(std::uintptr_t line) const {
  if (pages_begin_ <= line && line < pages_end_) {
    const auto* const page = page::PageHeader::of(reinterpret_cast<const void*>(line));
    const bool is_header = reinterpret_cast<std::uintptr_t>(page) == line;
    return std::string(is_header ? "page header, " : "page, ") + name_of(page->kind);
  }
  for (const Region& region : regions_) {
    if (region.begin <= line && line < region.end) return region.owner;
  }
  Dl_info ignored = {};
  if (dladdr(reinterpret_cast<const void*>(line), &ignored) != 0) return "static data";
  return "heap: lock waiters, indexes of sets";
}

std::string place_of(const void* code) {
  Dl_info found = {};
  if (code == nullptr || dladdr(code, &found) == 0) return "?";
  const auto offset = reinterpret_cast<std::uintptr_t>(code) -
                      reinterpret_cast<std::uintptr_t>(found.dli_fbase) - 1;
  char offset_text[32];
  std::snprintf(offset_text, sizeof(offset_text), "0x%zx", static_cast<std::size_t>(offset));
  std::string place = std::string(found.dli_fname) + "+" + offset_text;
  const std::string command =
      "addr2line -Cfspi -e '" + std::string(found.dli_fname) + "' " + offset_text + " 2>/dev/null";
  std::FILE* const answer = popen(command.c_str(), "r");
  if (answer == nullptr) return place;
  // The last line is the function into which the functions of the lines before were inlined.
  char line[512];
  while (std::fgets(line, sizeof(line), answer) != nullptr) place = line;
  constexpr std::string_view kInlined = " (inlined by) ";
  if (place.starts_with(kInlined)) place.erase(0, kInlined.size());
  while (!place.empty() && place.back() == '\n') place.pop_back();
  pclose(answer);
  return place;
}

}  // namespace foedus::testing::lines
