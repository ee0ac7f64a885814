#pragma once
// Deck: the transaction mix as a pack of cards (clause 5.2.4.2). Cards are drawn without putting
// them back, and the whole pack is shuffled anew once it is used up: so each worker's mix is exact.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "experiments/common/random.h"

namespace experiments::tpcc {

enum class TxnType : std::uint8_t { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel };
inline constexpr std::size_t kTxnTypes = 5;
inline constexpr std::array<std::string_view, kTxnTypes> kTxnTypeNames = {
    "new_order", "payment", "order_status", "delivery", "stock_level"};

// Cards of each type in a pack of 100.
using Mix = std::array<std::uint32_t, kTxnTypes>;
inline constexpr Mix kFullMix = {45, 43, 4, 4, 4};
inline constexpr Mix kNewOrderPaymentMix = {51, 49, 0, 0, 0};

class Deck {
 public:
  static constexpr std::size_t kCards = 100;

  // REQUIRES: the cards of `mix` add up to kCards.
  explicit Deck(const Mix& mix) {
    std::size_t card = 0;
    for (std::size_t type = 0; type < kTxnTypes; ++type) {
      for (std::uint32_t i = 0; i < mix[type] && card < kCards; ++i) {
        cards_[card++] = static_cast<TxnType>(type);
      }
    }
  }

  TxnType draw(Random& random) {
    if (next_ == kCards) shuffle(random);
    return cards_[next_++];
  }

 private:
  void shuffle(Random& random) {
    for (std::size_t i = kCards - 1; i > 0; --i) {
      std::swap(cards_[i], cards_[random.uniform(0, i)]);
    }
    next_ = 0;
  }

  std::array<TxnType, kCards> cards_{};
  std::size_t next_ = kCards;
};

}  // namespace experiments::tpcc
