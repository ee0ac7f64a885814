#include "gleaner/compose/hash/composer.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "gleaner/compose/hash/merge.h"
#include "gleaner/compose/hash/pages.h"

namespace foedus::gleaner {

namespace {

using page::SnapshotPageId;
using storage::hash::kDigitBits;
using storage::hash::kDigits;
using storage::hash::kHashBits;
using storage::hash::kPrefixBitsMax;

constexpr unsigned kRootShift = kHashBits - kDigitBits;

bool is_boundary(std::uint64_t position) {
  return (position & ((std::uint64_t{1} << kRootShift) - 1)) == 0;
}

// An interior page that is being made, and the old page that it replaces.
struct Frame {
  HashPrefix prefix;
  HashChildren children{};
  std::unique_ptr<page::PageBytes> old_page;  // null: none
  HashChildren old{};

  void set(std::uint32_t digit, std::uint32_t span, SnapshotPageId page) {
    FOEDUS_INVARIANT(children[digit].span == 0, digit, prefix.value);
    children[digit] = {page, span};
  }
};

// Digits [begin, begin + span) of a frame.
struct Digits {
  std::uint32_t begin;
  std::uint32_t span;

  Digits first_half() const { return {begin, span / 2}; }
  Digits second_half() const { return {begin + span / 2, span / 2}; }
};

// The result for some digits. Settled: the frame has their pointers. Else: the records of a bin,
// perhaps none, that may still become part of a larger bin.
struct Part {
  bool is_settled = true;
  HashBin bin;
};

class HashComposer {
 public:
  HashComposer(const Composition& composition, const PositionRange& range, RecordStream* records)
      : composition_(composition), range_(range), log_(records, range) {}

  Result<std::vector<Subtree>> run();

 private:
  Result<Part> build(Frame* frame, Digits digits);
  Result<Part> rebuild(Frame* frame, Digits digits, const HashChild& old);
  Result<Part> descend(Frame* frame, Digits digits, const HashChild& old,
                       std::unique_ptr<page::PageBytes> block);
  Result<Part> fresh(Frame* frame, Digits digits, HashMerge* merge);
  Result<Part> join_halves(Frame* frame, Digits digits, Part first, Part second);
  Status deepen(Frame* frame, Digits digits, HashMerge* merge);
  Status settle(Frame* frame, Digits digits, const Part& part);

  const Composition& composition_;
  const PositionRange range_;
  HashLogCursor log_;
};

PositionRange range_of(const Frame& frame, Digits digits) {
  return frame.prefix.below(digits.begin, digits.span).range();
}

Status open_root(const Composition& composition, Frame* root) {
  const SnapshotPageId id = composition.previous_root;
  if (id.is_null()) return {};
  root->old_page = std::make_unique<page::PageBytes>();
  FOEDUS_CHECK(read_hash_page(composition, id, root->old_page.get()));
  FOEDUS_TRY(root->old, children_of(composition, root->prefix, id, root->old_page.get()));
  return {};
}

// Returns the page that leads to the children: the old page if they are unchanged, else a new one.
Result<SnapshotPageId> write_frame(const Composition& composition, const Frame& frame) {
  if (frame.old_page != nullptr) {
    if (frame.old == frame.children) return SnapshotPageId(frame.old_page->header()->page_id);
    composition.supersede(*frame.old_page->header());
  }
  return write_interior(composition, frame.prefix, frame.children);
}

// Returns the old child whose digits include `digits`; null if there is none.
const HashChild* old_over(const Frame& frame, Digits digits) {
  for (std::uint32_t span = digits.span; span < kDigits; span *= 2) {
    const HashChild& child = frame.old[digits.begin & ~(span - 1)];
    if (child.span >= span) return &child;
  }
  return nullptr;
}

bool has_old_below(const Frame& frame, Digits digits) {
  for (std::uint32_t i = 0; i < digits.span; ++i) {
    if (frame.old[digits.begin + i].span != 0) return true;
  }
  return false;
}

Result<std::vector<Subtree>> HashComposer::run() {
  Frame root;
  FOEDUS_CHECK(open_root(composition_, &root));
  FOEDUS_CHECK(log_.advance());
  // The root's halves are settled one by one, because the root is an interior page however few
  // records there are.
  for (const Digits half : {Digits{0, kDigits / 2}, Digits{kDigits / 2, kDigits / 2}}) {
    FOEDUS_TRY(const Part part, build(&root, half));
    FOEDUS_CHECK(settle(&root, half, part));
  }
  FOEDUS_INVARIANT(log_.current() == nullptr, log_.current()->position);
  std::vector<Subtree> subtrees;
  for (std::uint32_t digit = 0; digit < kDigits; ++digit) {
    const HashChild& child = root.children[digit];
    if (child.span == 0) continue;
    subtrees.push_back({range_of(root, {digit, child.span}), child.page, 0});
  }
  return subtrees;
}

Result<Part> HashComposer::build(Frame* frame, Digits digits) {
  const PositionRange range = range_of(*frame, digits);
  const bool is_elsewhere = range.last < range_.begin || range.begin > range_.last;
  if (is_elsewhere) return Part{};
  if (range_.contains(range.begin) && range_.contains(range.last)) {
    if (const HashChild* const old = old_over(*frame, digits); old != nullptr) {
      return rebuild(frame, digits, *old);
    }
    if (!has_old_below(*frame, digits)) return rebuild(frame, digits, HashChild{});
    if (!log_.is_in(range)) {
      const auto begin = frame->old.begin() + digits.begin;
      std::copy(begin, begin + digits.span, frame->children.begin() + digits.begin);
      return Part{};
    }
  }
  FOEDUS_INVARIANT(digits.span > 1, digits.begin, range_.begin, range_.last);
  FOEDUS_TRY(Part first, build(frame, digits.first_half()));
  FOEDUS_TRY(Part second, build(frame, digits.second_half()));
  return join_halves(frame, digits, std::move(first), std::move(second));
}

// Builds digits that have one old page or none.
Result<Part> HashComposer::rebuild(Frame* frame, Digits digits, const HashChild& old) {
  const PositionRange range = range_of(*frame, digits);
  const bool is_touched = log_.is_in(range);
  if (old.page.is_null()) {
    if (!is_touched) return Part{false, {}};
    HashMerge merge(composition_, &log_, range, nullptr);
    return fresh(frame, digits, &merge);
  }
  const bool is_divided = old.span > digits.span;
  if (!is_touched && !is_divided) {
    frame->set(digits.begin, digits.span, old.page);
    return Part{};
  }
  auto block = std::make_unique<page::PageBytes>();
  FOEDUS_CHECK(read_hash_page(composition_, old.page, block.get()));
  if (block->header()->kind == page::PageKind::kHashInterior) {
    return descend(frame, digits, old, std::move(block));
  }
  const HashPrefix prefix = frame->prefix.below(digits.begin & ~(old.span - 1), old.span);
  OldHashBin bin(composition_, prefix, range, old.page, std::move(block));
  FOEDUS_CHECK(bin.start());
  HashMerge merge(composition_, &log_, range, &bin);
  return fresh(frame, digits, &merge);
}

Result<Part> HashComposer::descend(Frame* frame, Digits digits, const HashChild& old,
                                   std::unique_ptr<page::PageBytes> block) {
  Frame inner;
  inner.prefix = frame->prefix.below(digits.begin, digits.span);
  if (old.span != 1 || inner.prefix.bits == kPrefixBitsMax) {
    return corrupt_page(composition_, old.page, "an interior page where only bins can be");
  }
  inner.old_page = std::move(block);
  FOEDUS_TRY(inner.old, children_of(composition_, inner.prefix, old.page, inner.old_page.get()));
  FOEDUS_TRY(Part part, build(&inner, {0, kDigits}));
  if (!part.is_settled) {  // the bin takes the page's place
    composition_.supersede(*inner.old_page->header());
    return part;
  }
  FOEDUS_TRY(const SnapshotPageId written, write_frame(composition_, inner));
  frame->set(digits.begin, digits.span, written);
  return part;
}

Result<Part> HashComposer::fresh(Frame* frame, Digits digits, HashMerge* merge) {
  const PositionRange range = range_of(*frame, digits);
  FOEDUS_TRY(const bool fits, merge->fits(range));
  if (fits) {
    FOEDUS_TRY(HashBin bin, merge->take(range));
    return Part{false, std::move(bin)};
  }
  if (digits.span == 1) {
    FOEDUS_CHECK(deepen(frame, digits, merge));
    return Part{};
  }
  for (const Digits half : {digits.first_half(), digits.second_half()}) {
    FOEDUS_TRY(const Part part, fresh(frame, half, merge));
    FOEDUS_CHECK(settle(frame, half, part));
  }
  return Part{};
}

// Makes an interior page, or a chain, for more records of one digit than fit a page.
Status HashComposer::deepen(Frame* frame, Digits digits, HashMerge* merge) {
  Frame inner;
  inner.prefix = frame->prefix.below(digits.begin, digits.span);
  if (inner.prefix.bits == kPrefixBitsMax) {
    FOEDUS_TRY(const HashBin bin, merge->take(inner.prefix.range()));
    FOEDUS_TRY(const SnapshotPageId head, write_bin(composition_, inner.prefix, bin));
    frame->set(digits.begin, digits.span, head);
    return {};
  }
  FOEDUS_TRY(const Part part, fresh(&inner, {0, kDigits}, merge));
  FOEDUS_INVARIANT(part.is_settled, inner.prefix.value, inner.prefix.bits);
  FOEDUS_TRY(const SnapshotPageId written, write_frame(composition_, inner));
  frame->set(digits.begin, digits.span, written);
  return {};
}

Result<Part> HashComposer::join_halves(Frame* frame, Digits digits, Part first, Part second) {
  const std::size_t records = first.bin.records.size() + second.bin.records.size();
  const bool is_one = !first.is_settled && !second.is_settled &&
                      HashBin::fits(first.bin.bytes + second.bin.bytes, records);
  if (is_one) {
    for (HashRecord& record : second.bin.records) first.bin.add(std::move(record));
    return first;
  }
  FOEDUS_CHECK(settle(frame, digits.first_half(), first));
  FOEDUS_CHECK(settle(frame, digits.second_half(), second));
  return Part{};
}

Status HashComposer::settle(Frame* frame, Digits digits, const Part& part) {
  if (part.is_settled || part.bin.records.empty()) return {};
  const HashPrefix prefix = frame->prefix.below(digits.begin, digits.span);
  FOEDUS_TRY(const SnapshotPageId id, write_bin(composition_, prefix, part.bin));
  frame->set(digits.begin, digits.span, id);
  return {};
}

}  // namespace

std::uint64_t align_hash_boundary(const storage_meta::StorageMeta&, std::uint64_t position) {
  return position >> kRootShift << kRootShift;
}

Result<std::vector<Subtree>> compose_hash(const Composition& composition,
                                          const PositionRange& range, RecordStream* records) {
  FOEDUS_INVARIANT(composition.meta->kind == StorageKind::kHash, composition.meta->kind);
  FOEDUS_INVARIANT(range.begin <= range.last, range.begin, range.last);
  FOEDUS_INVARIANT(is_boundary(range.begin) && is_boundary(range.last + 1), range.begin,
                   range.last);
  return HashComposer(composition, range, records).run();
}

Result<SnapshotPageId> join_hash(const Composition& composition,
                                 const std::vector<Subtree>& subtrees) {
  Frame root;
  FOEDUS_CHECK(open_root(composition, &root));
  std::uint32_t end = 0;
  for (const Subtree& subtree : subtrees) {
    const PositionRange& range = subtree.range;
    FOEDUS_INVARIANT(is_boundary(range.begin) && is_boundary(range.last + 1), range.begin);
    const auto digit = static_cast<std::uint32_t>(range.begin >> kRootShift);
    const auto span = static_cast<std::uint32_t>((range.last - range.begin) >> kRootShift) + 1;
    FOEDUS_INVARIANT(digit >= end && std::has_single_bit(span), digit, end, span);
    root.set(digit, span, subtree.page);
    end = digit + span;
  }
  return write_frame(composition, root);
}

}  // namespace foedus::gleaner
