#include "foedus-core/page/retired_pages.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"

namespace foedus::page::retired_pages_test {
namespace {

struct alignas(kPageBytes) PageBytes {
  unsigned char bytes[kPageBytes];
};

class RetiredPagesTest : public ::testing::Test {
 protected:
  // Returns a page for a chunk, or null for one from the heap.
  PageHeader* new_chunk() {
    if (use_heap_) return nullptr;
    chunks_.push_back(std::make_unique<PageBytes>());
    ++chunks_out_;
    return reinterpret_cast<PageHeader*>(chunks_.back()->bytes);
  }
  void push(RetiredPages* pages, std::uint64_t number, std::uint64_t stamp) {
    if (!pages->has_room() && !pages->try_add_chunk(new_chunk())) FAIL();
    pages->push(VolatilePageId(0, number), stamp);
  }
  std::uint64_t pop(RetiredPages* pages) {
    PageHeader* emptied = nullptr;
    const VolatilePageId id = pages->pop(&emptied);
    if (emptied != nullptr) --chunks_out_;
    return id.number();
  }

  bool use_heap_ = false;
  std::uint64_t chunks_out_ = 0;
  std::vector<std::unique_ptr<PageBytes>> chunks_;
};

TEST_F(RetiredPagesTest, of_nothing_the_stamp_is_never) {
  RetiredPages pages;
  EXPECT_EQ(pages.count(), 0u);
  EXPECT_EQ(pages.oldest_stamp(), RetiredPages::kNever);
  EXPECT_FALSE(pages.has_room());
}

TEST_F(RetiredPagesTest, comes_out_in_order_and_returns_each_chunk_page) {
  for (const bool use_heap : {false, true}) {
    use_heap_ = use_heap;
    RetiredPages pages;
    for (std::uint64_t i = 0; i < 1000; ++i) push(&pages, 1000 + i, i / 7);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(pages.oldest_stamp(), i / 7);
      ASSERT_EQ(pop(&pages), 1000 + i);
    }
    EXPECT_EQ(pages.count(), 0u);
    EXPECT_EQ(chunks_out_, 0u);
  }
}

TEST_F(RetiredPagesTest, behaves_like_a_deque_with_chunks_of_both_kinds) {
  base::Random random(testing::test_seed(5));
  RetiredPages pages;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> model;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    use_heap_ = random.below(2) == 0;
    if (random.below(1000) < (i / 5000 % 2 == 0 ? 600u : 400u)) {
      model.emplace_back(i, i / 100);
      push(&pages, i, i / 100);
    } else if (!model.empty()) {
      ASSERT_EQ(pages.oldest_stamp(), model.front().second);
      ASSERT_EQ(pop(&pages), model.front().first);
      model.pop_front();
    }
    ASSERT_EQ(pages.count(), model.size());
  }
}

TEST_F(RetiredPagesTest, appending_moves_all_behind_and_leaves_the_other_usable) {
  RetiredPages first;
  RetiredPages second;
  for (std::uint64_t i = 0; i < 300; ++i) push(&first, i, 5);
  for (std::uint64_t i = 300; i < 700; ++i) push(&second, i, 3);
  first.append(&second);
  EXPECT_EQ(second.count(), 0u);
  EXPECT_EQ(first.count(), 700u);
  push(&first, 700, 6);
  push(&second, 9, 9);
  EXPECT_EQ(pop(&second), 9u);
  first.append(&second);
  for (std::uint64_t i = 0; i <= 700; ++i) ASSERT_EQ(pop(&first), i);
  EXPECT_EQ(chunks_out_, 0u);
  for (std::uint64_t i = 0; i < 3; ++i) push(&second, i, 1);
  first.append(&second);
  EXPECT_EQ(first.count(), 3u);
}

TEST_F(RetiredPagesTest, popping_from_nothing_is_impossible) {
  RetiredPages pages;
  PageHeader* emptied;
  EXPECT_DEATH((void)pages.pop(&emptied), R"(count\(\) != 0)");
}

}  // namespace
}  // namespace foedus::page::retired_pages_test
