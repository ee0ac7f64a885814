#include "tests/isolation/stores.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace foedus::isolation {

namespace {

constexpr std::string_view kNames[kStores] = {"tree", "layers", "hash", "array"};
constexpr std::string_view kKinds[kStores] = {"masstree", "masstree", "hash", "array"};
constexpr std::string_view kPrefix = "a prefix that all keys share ";
constexpr std::size_t kRegisterBytes = 40;
constexpr std::size_t kListRowBytes = 16 + kListMax * 8;
constexpr std::uint64_t kTorn = ~std::uint64_t{0} >> 12;

struct RegisterRow {
  std::uint64_t key;
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t c;
  std::uint64_t filling_bytes;
};
static_assert(sizeof(RegisterRow) == kRegisterBytes);

char filling_of(std::uint64_t key) { return static_cast<char>('a' + key % 26); }

bool take_register(const Store& store, std::uint64_t key, std::string_view row, Words* words) {
  RegisterRow fields;
  if (row.size() < sizeof(fields)) return false;
  std::memcpy(&fields, row.data(), sizeof(fields));
  // A row of an array begins with zeroes, and may have been written in parts.
  if (fields.key != key && !(store.is_array() && fields.key == 0)) return false;
  if (row.size() != sizeof(fields) + fields.filling_bytes) return false;
  const std::string_view filling = row.substr(sizeof(fields));
  if (filling.find_first_not_of(filling_of(key)) != std::string_view::npos) return false;
  words->insert(words->end(), {fields.a, fields.b, fields.c});
  return true;
}

bool take_list(const Store& store, std::uint64_t key, std::string_view row, Words* words) {
  std::uint64_t head[2];
  if (row.size() < sizeof(head)) return false;
  std::memcpy(head, row.data(), sizeof(head));
  const std::uint64_t count = head[1];
  if (count > kListMax) return false;
  if (head[0] != key && !(store.is_array() && count == 0 && head[0] == 0)) return false;
  if (row.size() != (store.is_array() ? kListRowBytes : sizeof(head) + count * 8)) return false;
  if (count == 0) return true;
  const std::size_t begin = words->size();
  words->resize(begin + count);
  std::memcpy(words->data() + begin, row.data() + sizeof(head), count * 8);
  return true;
}

}  // namespace

Result<Store> Store::open(Database& db, Kind kind, Workload workload, std::uint64_t keys) {
  Store store;
  store.kind_ = kind;
  store.keys_ = keys;
  store.shape_ = workload == Workload::kList ? Shape::kList : Shape::kRegister;
  const std::string_view name = kNames[store.number()];
  if (kind == Kind::kHash) {
    FOEDUS_TRY(store.hash_, db.open_hash(name));
  } else if (kind == Kind::kArray) {
    const std::size_t bytes = store.shape_ == Shape::kList ? kListRowBytes : kRegisterBytes;
    FOEDUS_TRY(store.array_, db.open_array(name, keys, static_cast<std::uint32_t>(bytes)));
  } else {
    FOEDUS_TRY(store.tree_, db.open_masstree(name));
  }
  return store;
}

StorageLine Store::line() const {
  return {number(), std::string(kNames[number()]), std::string(kKinds[number()]), shape_};
}

Key Store::key(std::uint64_t number) const {
  // number_of() reads the last eight bytes.
  const BigEndian<std::uint64_t> last = big_endian<std::uint64_t>(number);
  if (kind_ != Kind::kLayers) return foedus::key(last);
  Key key;
  key.append_raw(kPrefix.data(), kPrefix.size());
  // There are sixteen layers below the shared one.
  const char layer = static_cast<char>('a' + std::min<std::uint64_t>(15, number * 16 / keys_));
  return key.append_raw(&layer, 1).append_raw("12345678", 8).append(last);
}

std::uint64_t Store::number_of(std::string_view key) const {
  std::uint64_t number = 0;
  for (const char byte : key.substr(key.size() - std::min<std::size_t>(8, key.size()))) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

std::string register_row(const Store& store, std::uint64_t key, std::uint64_t value) {
  // The sizes change, so that records move.
  const std::uint64_t filling = store.is_array() ? 0 : value % 7 == 0 ? value % 400 : key % 4 * 8;
  const RegisterRow fields{key, value, value, 0, filling};
  std::string row(as_payload(fields));
  row.append(filling, filling_of(key));
  return row;
}

std::string list_row(const Store& store, std::uint64_t key, std::span<const std::uint64_t> values) {
  const std::uint64_t head[2] = {key, values.size()};
  std::string row(reinterpret_cast<const char*>(head), sizeof(head));
  row.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  if (store.is_array()) row.resize(kListRowBytes, '\0');
  return row;
}

void append_state(const Store& store, std::uint64_t key, std::string_view row, Words* words) {
  const bool is_whole = store.shape() == Shape::kList ? take_list(store, key, row, words)
                                                      : take_register(store, key, row, words);
  if (is_whole) return;
  std::fprintf(stderr, "a row of %s/%llu has %zu bytes that are none\n",
               std::string(kNames[store.number()]).c_str(), static_cast<unsigned long long>(key),
               row.size());
  words->insert(words->end(), {kTorn, kTorn, 0});
}

}  // namespace foedus::isolation
