#pragma once
// OwnView: the writes and reads of one open transaction, and the check that the reads held when it
// committed. Its storage is a map from keys to payloads.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace foedus::storage {

class OwnView {
 public:
  using Value = std::optional<std::string>;
  using Values = std::map<std::string, Value, std::less<>>;

  // A partial write: bytes that replace others, or 8 that are added.
  struct Part {
    std::size_t offset;
    std::string bytes;
    bool is_increment;
    std::size_t end() const { return offset + bytes.size(); }
  };

  // Notes the payload or the absence that a call has read. The first read of a key must hold at the
  // commit; a read after own partial writes must hold with these applied.
  void see(const std::string& key, const Value& value) {
    if (const auto own = own_.find(key); own != own_.end()) {
      ASSERT_EQ(value, own->second) << ::testing::PrintToString(key);
      return;
    }
    if (const auto parts = parts_.find(key); parts != parts_.end()) {
      looks_.push_back({key, parts->second, value, 0});
      return;
    }
    const auto [seen, is_first] = seen_.emplace(key, value);
    if (!is_first && seen->second != value) is_torn_ = true;
  }
  void see_presence(const std::string& key, bool is_present) {
    if (const auto own = own_.find(key); own != own_.end()) {
      ASSERT_EQ(is_present, own->second.has_value()) << ::testing::PrintToString(key);
    } else if (!is_present) {
      see(key, std::nullopt);
    }
  }
  // Notes that a scan passed the place of this key without a row.
  void pass(const std::string& key) { see(key, std::nullopt); }

  // Notes a write; nullopt erases.
  void write(const std::string& key, const Value& value) {
    parts_.erase(key);
    own_[key] = value;
  }
  bool has_whole(const std::string& key) const { return own_.count(key) != 0; }
  // The result that a write to a part of an own whole write must have. REQUIRES: has_whole(key).
  enum class Fit { kFits, kAbsent, kOutside };
  Fit write_part_of_own(const std::string& key, const Part& part) {
    Value& own = own_.find(key)->second;
    if (!own.has_value()) return Fit::kAbsent;
    if (own->size() < part.end()) return Fit::kOutside;
    own = with({part}, own);
    return Fit::kFits;
  }
  void write_part(const std::string& key, const Part& part) { parts_[key].push_back(part); }
  // Notes that a part was refused because the payload ends before `end`.
  void see_outside(const std::string& key, std::size_t end) {
    const auto parts = parts_.find(key);
    looks_.push_back({key, parts == parts_.end() ? Parts() : parts->second, std::nullopt, end});
  }

  // Applies the writes of the committed transaction to *model.
  void commit_to(Values* model) const {
    ASSERT_FALSE(is_torn_) << "two looks at one key differ";
    for (const auto& [key, value] : seen_) {
      ASSERT_EQ(value, find(*model, key)) << ::testing::PrintToString(key);
    }
    for (const Look& look : looks_) {
      const Value value = with(look.parts, find(*model, look.key));
      if (look.below == 0) {
        ASSERT_EQ(look.value, value) << ::testing::PrintToString(look.key);
      } else {
        ASSERT_TRUE(value.has_value() && value->size() < look.below)
            << ::testing::PrintToString(look.key);
      }
    }
    for (const auto& [key, parts] : parts_) {
      const Value value = with(parts, find(*model, key));
      ASSERT_TRUE(value.has_value()) << ::testing::PrintToString(key);
      (*model)[key] = value;
    }
    for (const auto& [key, value] : own_) (*model)[key] = value;
  }

  static Value find(const Values& model, const std::string& key) {
    const auto found = model.find(key);
    return found == model.end() ? std::nullopt : found->second;
  }

 private:
  using Parts = std::vector<Part>;
  struct Look {
    std::string key;
    Parts parts;  // own ones before the read
    Value value;
    std::size_t below;  // not 0: the read only says that the payload is shorter
  };

  // Returns the value with the parts applied, or nullopt if a part is outside of it.
  static Value with(const Parts& parts, Value value) {
    for (const Part& part : parts) {
      if (!value.has_value() || value->size() < part.end()) return std::nullopt;
      char* const at = value->data() + part.offset;
      if (part.is_increment) {
        std::uint64_t sum = 0;
        std::uint64_t delta = 0;
        std::memcpy(&sum, at, sizeof(sum));
        std::memcpy(&delta, part.bytes.data(), sizeof(delta));
        sum += delta;
        std::memcpy(at, &sum, sizeof(sum));
      } else {
        std::memcpy(at, part.bytes.data(), part.bytes.size());
      }
    }
    return value;
  }

  Values own_;                         // whole writes
  std::map<std::string, Parts> parts_;  // on top of committed values
  Values seen_;                        // reads of other keys
  std::vector<Look> looks_;
  bool is_torn_ = false;
};

}  // namespace foedus::storage
