#include "tests/simulation/plan/model.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/invariant.h"

namespace foedus::simulation {

namespace {

std::uint64_t mix(std::uint64_t sum, std::uint64_t value) {
  sum = (sum ^ value) * 0x9fb21c651e98df25u;
  return sum ^ (sum >> 32);
}

std::uint64_t mix_bytes(std::uint64_t sum, std::string_view bytes) {
  sum = mix(sum, bytes.size());
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    sum = mix(sum, word);
  }
  for (const char c : bytes) sum = mix(sum, static_cast<unsigned char>(c));
  return sum;
}

constexpr std::uint64_t kDigestSeed = 0x9e3779b97f4a7c15u;
constexpr int kDifferencesMax = 6;

std::string preview(std::string_view bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text = std::to_string(bytes.size()) + ":";
  for (const char c : bytes.substr(0, 20)) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += '\\';
      text += kDigits[static_cast<unsigned char>(c) >> 4];
      text += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return text;
}

const StorageModel* find_named(const Content& content, const std::string& name) {
  for (const auto& [id, storage] : content) {
    if (storage.name == name) return &storage;
  }
  return nullptr;
}

}  // namespace

std::string index_key(std::uint64_t index) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(index >> (56 - 8 * i));
  return key;
}

bool is_zero(std::string_view payload) {
  return std::all_of(payload.begin(), payload.end(), [](char c) { return c == 0; });
}

std::uint64_t digest_of_storage(const StorageModel& storage) {
  std::uint64_t sum = mix(kDigestSeed, static_cast<std::uint64_t>(storage.kind));
  sum = mix(mix(sum, storage.records), storage.payload_bytes);
  return mix_bytes(sum, storage.name);
}

std::uint64_t digest_of_row(const StorageModel& storage, std::string_view key,
                            std::string_view payload) {
  return mix_bytes(mix_bytes(mix_bytes(~kDigestSeed, storage.name), key), payload);
}

std::uint64_t digest_of(const Content& content) {
  std::uint64_t sum = 0;
  for (const auto& [id, storage] : content) {
    sum += digest_of_storage(storage);
    for (const auto& [key, payload] : storage.rows) sum += digest_of_row(storage, key, payload);
  }
  return sum;
}

std::string difference(const Content& found, const Content& expected) {
  std::string text;
  int count = 0;
  const auto say = [&](const std::string& line) {
    if (count++ < kDifferencesMax) text += "    " + line + "\n";
  };
  for (const auto& [id, have] : found) {
    if (find_named(expected, have.name) == nullptr) say("storage " + have.name + " is too many");
  }
  for (const auto& [id, want] : expected) {
    const StorageModel* const have = find_named(found, want.name);
    if (have == nullptr) {
      say("storage " + want.name + " is missing");
      continue;
    }
    if (digest_of_storage(*have) != digest_of_storage(want)) {
      say("storage " + want.name + " has another shape");
      continue;
    }
    for (const auto& [key, payload] : have->rows) {
      const auto other = want.rows.find(key);
      if (other == want.rows.end()) {
        say(want.name + "[" + preview(key) + "] is " + preview(payload) + ", should be absent");
      } else if (other->second != payload) {
        say(want.name + "[" + preview(key) + "] is " + preview(payload) + ", should be " +
            preview(other->second));
      }
    }
    for (const auto& [key, payload] : want.rows) {
      if (!have->rows.contains(key)) {
        say(want.name + "[" + preview(key) + "] is absent, should be " + preview(payload));
      }
    }
  }
  if (count > kDifferencesMax) {
    text += "    and " + std::to_string(count - kDifferencesMax) + " more\n";
  }
  return text;
}

void apply_change(const Change& change, Content* content) {
  if (change.kind == Change::Kind::kCreate) {
    const bool is_new = content->emplace(change.storage, change.created).second;
    FOEDUS_INVARIANT(is_new, change.storage);
    return;
  }
  const auto found = content->find(change.storage);
  FOEDUS_INVARIANT(found != content->end(), change.storage);
  Rows& rows = found->second.rows;
  switch (change.kind) {
    case Change::Kind::kPut:
      if (found->second.kind == StorageKind::kArray && is_zero(change.payload)) {
        rows.erase(change.key);
      } else {
        rows[change.key] = change.payload;
      }
      break;
    case Change::Kind::kErase:
      rows.erase(change.key);
      break;
    default:
      content->erase(found);
      break;
  }
}

void History::commit(Epoch epoch, std::vector<Change> changes) {
  FOEDUS_INVARIANT(epoch >= newest(), epoch.number(), newest().number());
  const auto row_digest = [this](const Change& change) -> std::uint64_t {
    const StorageModel& storage = now_.at(change.storage);
    const auto row = storage.rows.find(change.key);
    return row == storage.rows.end() ? 0 : digest_of_row(storage, change.key, row->second);
  };
  for (const Change& change : changes) {
    const bool is_of_row = change.kind == Change::Kind::kPut || change.kind == Change::Kind::kErase;
    if (is_of_row) digest_ -= row_digest(change);
    apply_change(change, &now_);
    if (is_of_row) digest_ += row_digest(change);
    if (!is_of_row) digest_ = digest_of(now_);
  }
  entries_.push_back({epoch, std::move(changes), digest_});
  if (entries_.size() % kEntriesOfCheckpoint != 0) return;
  checkpoints_.push_back(std::make_shared<const Content>(now_));
}

Epoch History::last_commit(Epoch epoch) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), epoch,
                       [](Epoch wanted, const Entry& entry) { return wanted < entry.epoch; });
  return after == entries_.begin() ? Epoch() : std::prev(after)->epoch;
}

std::uint64_t History::digest_at(Epoch epoch) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), epoch,
                       [](Epoch wanted, const Entry& entry) { return wanted < entry.epoch; });
  return after == entries_.begin() ? 0 : std::prev(after)->digest;
}

Content History::content_at(Epoch epoch) const {
  const auto end =
      std::upper_bound(entries_.begin(), entries_.end(), epoch,
                       [](Epoch wanted, const Entry& entry) { return wanted < entry.epoch; });
  const std::size_t checkpoint =
      static_cast<std::size_t>(end - entries_.begin()) / kEntriesOfCheckpoint;
  Content content;
  if (checkpoint != 0) content = *checkpoints_[checkpoint - 1];
  for (auto entry = entries_.begin() + checkpoint * kEntriesOfCheckpoint; entry != end; ++entry) {
    for (const Change& change : entry->changes) apply_change(change, &content);
  }
  return content;
}

std::vector<Epoch> History::ends_between(Epoch from, Epoch to) const {
  std::vector<Epoch> ends = {to};
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && entry->epoch > from; ++entry) {
    const Epoch before = entry->epoch.previous();
    if (before < ends.back() && before >= from) ends.push_back(before);
  }
  return ends;
}

void History::cut(Epoch epoch) {
  while (!entries_.empty() && entries_.back().epoch > epoch) entries_.pop_back();
  checkpoints_.resize(entries_.size() / kEntriesOfCheckpoint);
  now_ = content_at(epoch);
  digest_ = entries_.empty() ? 0 : entries_.back().digest;
}

}  // namespace foedus::simulation
