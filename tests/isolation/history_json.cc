#include "tests/isolation/history_json.h"

#include <cctype>
#include <charconv>
#include <map>

namespace foedus::isolation {

namespace {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// ---- out ---------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(std::string* out) : out_(out) {}
  Writer& raw(std::string_view text) {
    out_->append(text);
    return *this;
  }
  Writer& number(std::uint64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    out_->append(digits, end);
    return *this;
  }
  Writer& member(std::string_view name, std::uint64_t value) {
    return raw(",\"").raw(name).raw("\":").number(value);
  }
  Writer& member(std::string_view name, std::string_view text) {
    return raw(",\"").raw(name).raw("\":\"").raw(text).raw("\"");
  }
  Writer& list(std::span<const std::uint64_t> values) {
    raw("[");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) raw(",");
      number(values[i]);
    }
    return raw("]");
  }

 private:
  std::string* out_;
};

void append_range(const Op& op, Writer& out) {
  out.raw(",").number(op.key).raw(",").number(op.value).raw(op.flag ? ",true," : ",false,");
  if (op.limit == kNoLimit) {
    out.raw("null,[");
  } else {
    out.number(op.limit).raw(",[");
  }
  auto rows = op.rest;
  for (std::uint32_t i = 0; i < op.count; ++i) {
    const RowView row = take_row(&rows);
    out.raw(i == 0 ? "[" : ",[").number(row.key).raw(",").list(row.state).raw("]");
  }
  out.raw("]");
}

void append_op(const Op& op, Writer& out) {
  out.raw("[\"").raw(to_string(op.kind)).raw("\",").number(op.storage);
  switch (op.kind) {
    case OpKind::kRead:
      out.raw(",").number(op.key).raw(",");
      op.flag ? out.list(op.rest) : out.raw("null");
      break;
    case OpKind::kExists:
      out.raw(",").number(op.key).raw(op.flag ? ",true" : ",false");
      break;
    case OpKind::kRange:
      append_range(op, out);
      break;
    case OpKind::kScan:
      out.raw(",");
      op.limit == kNoLimit ? out.raw("null") : out.number(op.limit);
      out.raw(",").list(op.rest);
      break;
    case OpKind::kErase:
      out.raw(",").number(op.key);
      break;
    case OpKind::kPush:
      out.raw(",").number(op.value);
      break;
    case OpKind::kWrite:
      out.raw(",").number(op.key).raw(op.flag ? ",1," : ",0,").number(op.value);
      break;
    default:
      out.raw(",").number(op.key).raw(",").number(op.value);
  }
  out.raw("]");
}

// ---- in ----------------------------------------------------------------------------------------

// A value of the part of JSON that histories need.
struct Json {
  enum class Type : std::uint8_t { kNull, kBool, kNumber, kText, kList, kMembers };
  Type type = Type::kNull;
  std::uint64_t number = 0;  // kBool: 0 or 1
  std::string text;
  std::vector<Json> list;
  std::map<std::string, Json, std::less<>> members;

  bool is(Type wanted) const { return type == wanted; }
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  bool parse(Json* value) {
    if (!any(value)) return false;
    skip();
    return at_ == text_.size();
  }
  std::size_t position() const { return at_; }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char wanted) {
    skip();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  bool any(Json* value) {
    skip();
    if (at_ == text_.size()) return false;
    const char first = text_[at_];
    if (first == '{') return members(value);
    if (first == '[') return list(value);
    if (first == '"') {
      value->type = Json::Type::kText;
      return string(&value->text);
    }
    if (word("null")) return true;
    if (word("true") || word("false")) {
      value->type = Json::Type::kBool;
      value->number = first == 't' ? 1 : 0;
      return true;
    }
    value->type = Json::Type::kNumber;
    const char* const end = text_.data() + text_.size();
    const auto [next, error] = std::from_chars(text_.data() + at_, end, value->number);
    if (error != std::errc()) return false;
    at_ = static_cast<std::size_t>(next - text_.data());
    return true;
  }

  // Strings of history writers need no escapes; after a backslash the next character is taken
  // unchanged.
  bool string(std::string* out) {
    if (!take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
      out->push_back(text_[at_++]);
    }
    return take('"');
  }

  bool list(Json* value) {
    value->type = Json::Type::kList;
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!any(&value->list.emplace_back())) return false;
    } while (take(','));
    return take(']');
  }

  bool members(Json* value) {
    value->type = Json::Type::kMembers;
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string name;
      skip();
      if (!string(&name) || !take(':') || !any(&value->members[name])) return false;
    } while (take(','));
    return take('}');
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

using Type = Json::Type;

std::uint64_t number_of(const Json& members, std::string_view name) {
  const auto at = members.members.find(name);
  return at == members.members.end() ? 0 : at->second.number;
}
std::string text_of(const Json& members, std::string_view name) {
  const auto at = members.members.find(name);
  return at == members.members.end() ? std::string() : at->second.text;
}

template <typename Enum>
bool name_to(std::string_view text, std::uint8_t count, Enum* out) {
  for (std::uint8_t i = 0; i < count; ++i) {
    if (text != to_string(static_cast<Enum>(i))) continue;
    *out = static_cast<Enum>(i);
    return true;
  }
  return false;
}

bool append_values(const Json& values, std::vector<std::uint64_t>* words) {
  if (!values.is(Type::kList)) return false;
  for (const Json& value : values.list) {
    if (!value.is(Type::kNumber)) return false;
    words->push_back(value.number);
  }
  return true;
}

bool parse_range(const std::vector<Json>& op, std::uint32_t storage,
                 std::vector<std::uint64_t>* words) {
  if (op.size() != 7 || !op[6].is(Type::kList)) return false;
  const std::uint64_t limit = op[5].is(Type::kNull) ? kNoLimit : op[5].number;
  const auto rows = static_cast<std::uint32_t>(op[6].list.size());
  words->insert(words->end(), {op_word(OpKind::kRange, storage, op[4].number != 0, rows),
                               op[2].number, op[3].number, limit});
  for (const Json& row : op[6].list) {
    if (row.list.size() != 2) return false;
    words->insert(words->end(), {row.list[0].number, row.list[1].list.size()});
    if (!append_values(row.list[1], words)) return false;
  }
  return true;
}

bool parse_op(const Json& json, std::vector<std::uint64_t>* words) {
  const std::vector<Json>& op = json.list;
  OpKind kind{};
  if (op.size() < 3 || !op[0].is(Type::kText) || !name_to(op[0].text, 12, &kind)) return false;
  const auto storage = static_cast<std::uint32_t>(op[1].number);
  const auto put = [&](bool flag, std::size_t count) {
    words->push_back(op_word(kind, storage, flag, static_cast<std::uint32_t>(count)));
  };
  switch (kind) {
    case OpKind::kRange:
      return parse_range(op, storage, words);
    case OpKind::kRead: {
      if (op.size() != 4) return false;
      const bool present = !op[3].is(Type::kNull);
      put(present, op[3].list.size());
      words->push_back(op[2].number);
      return !present || append_values(op[3], words);
    }
    case OpKind::kExists:
      if (op.size() != 4) return false;
      put(op[3].number != 0, 0);
      words->push_back(op[2].number);
      return true;
    case OpKind::kScan:
      if (op.size() != 4) return false;
      put(false, op[3].list.size());
      words->push_back(op[2].is(Type::kNull) ? kNoLimit : op[2].number);
      return append_values(op[3], words);
    case OpKind::kErase:
    case OpKind::kPush:
      put(false, 0);
      words->push_back(op[2].number);
      return op.size() == 3;
    case OpKind::kWrite:
      if (op.size() != 5 || op[3].number > 1) return false;
      put(op[3].number == 1, 0);
      words->insert(words->end(), {op[2].number, op[4].number});
      return true;
    default:
      if (op.size() != 4) return false;
      put(false, 0);
      words->insert(words->end(), {op[2].number, op[3].number});
      return true;
  }
}

bool parse_txn(const Json& json, TxnLine* txn, std::string* why) {
  txn->id = number_of(json, "id");
  txn->process = static_cast<std::uint32_t>(number_of(json, "p"));
  txn->session = static_cast<std::uint32_t>(number_of(json, "s"));
  txn->begin_ns = number_of(json, "begin");
  txn->end_ns = number_of(json, "end");
  txn->epoch = number_of(json, "epoch");
  txn->ordinal = number_of(json, "ord");
  txn->durable_ns = number_of(json, "durable");
  txn->durable_epoch = number_of(json, "durable_epoch");
  if (!name_to(text_of(json, "kind"), 3, &txn->kind) ||
      !name_to(text_of(json, "out"), 4, &txn->outcome)) {
    *why = "no such kind or outcome";
    return false;
  }
  const auto ops = json.members.find("ops");
  if (ops == json.members.end()) return true;
  for (const Json& op : ops->second.list) {
    if (parse_op(op, &txn->ops)) continue;
    *why = "operation " + std::to_string(&op - ops->second.list.data()) + " of transaction " +
           std::to_string(txn->id);
    return false;
  }
  return true;
}

constexpr std::string_view kLineNames[] = {"header", "storage", "drop",   "open",
                                           "txn",    "durable", "window", "crash"};

}  // namespace

void append_json(const TxnLine& txn, std::string* text) {
  Writer out(text);
  out.raw("{\"t\":\"txn\"").member("id", txn.id).member("p", txn.process);
  out.member("s", txn.session).member("begin", txn.begin_ns);
  if (txn.end_ns != 0) out.member("end", txn.end_ns);
  out.member("kind", to_string(txn.kind)).member("out", to_string(txn.outcome));
  if (txn.epoch != 0) out.member("epoch", txn.epoch);
  if (txn.ordinal != 0) out.member("ord", txn.ordinal);
  if (txn.durable_ns != 0) out.member("durable", txn.durable_ns);
  if (txn.durable_epoch != 0) out.member("durable_epoch", txn.durable_epoch);
  out.raw(",\"ops\":[");
  bool is_first = true;
  for (OpReader ops(txn.ops); !ops.at_end(); is_first = false) {
    if (!is_first) out.raw(",");
    append_op(ops.next(), out);
  }
  out.raw("]}\n");
}

void append_json(const Line& line, std::string* text) {
  if (line.kind == LineKind::kTxn) return append_json(line.txn, text);
  Writer out(text);
  if (line.kind == LineKind::kHeader) {
    out.raw(line.text).raw("\n");
    return;
  }
  out.raw("{\"t\":\"").raw(kLineNames[static_cast<std::size_t>(line.kind)]).raw("\"");
  if (line.kind == LineKind::kStorage || line.kind == LineKind::kDrop) {
    out.member("st", line.storage.number).member("name", line.storage.name);
    out.member("kind", line.storage.kind).member("shape", to_string(line.storage.shape));
  } else {
    out.member("p", line.process);
    if (line.has_epoch) out.member("epoch", line.epoch);
    out.member("ns", line.ns);
  }
  out.raw("}\n");
}

bool parse_line(std::string_view text, Line* line, std::string* why) {
  *line = Line();
  Json json;
  Parser parser(text);
  if (!parser.parse(&json) || !json.is(Type::kMembers)) {
    *why = "no JSON object; at column " + std::to_string(parser.position() + 1);
    return false;
  }
  const std::string name = text_of(json, "t");
  std::size_t kind = 0;
  while (kind < std::size(kLineNames) && kLineNames[kind] != name) ++kind;
  if (kind == std::size(kLineNames)) {
    *why = "no such line: \"" + name + "\"";
    return false;
  }
  line->kind = static_cast<LineKind>(kind);
  if (line->kind == LineKind::kTxn) return parse_txn(json, &line->txn, why);
  line->text = text;
  line->process = static_cast<std::uint32_t>(number_of(json, "p"));
  line->epoch = number_of(json, "epoch");
  line->has_epoch = json.members.contains("epoch");
  line->ns = number_of(json, "ns");
  if (line->kind != LineKind::kStorage && line->kind != LineKind::kDrop) return true;
  line->storage.number = number_of(json, "st");
  line->storage.name = text_of(json, "name");
  line->storage.kind = text_of(json, "kind");
  if (name_to(text_of(json, "shape"), 3, &line->storage.shape)) return true;
  *why = "no such shape";
  return false;
}

}  // namespace foedus::isolation
