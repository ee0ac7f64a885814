#include "foedus-core/device/spread/directory_mark.h"

#include <cstdint>
#include <cstdio>

#include "foedus-core/base/crc32c.h"

namespace foedus::device {

namespace {

constexpr std::string_view kTitle = "foedus directory ";
constexpr std::string_view kVersion = "1";
constexpr std::size_t kIdentityDigits = 32;
constexpr std::uint64_t kMarkBytesMax = 1u << 20;

// Escapes a path, which may hold any byte but zero: no byte of the result ends the line.
std::string escaped(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7f && c != '%') {
      text += c;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof(code), "%%%02x", byte);
    text += code;
  }
  return text;
}

int value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = value_of(text[i + 1]);
    const int low = value_of(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return path;
}

std::optional<Identity> identity_of(std::string_view digits) {
  if (digits.size() != kIdentityDigits) return std::nullopt;
  for (const char c : digits) {
    if (value_of(c) < 0) return std::nullopt;
  }
  return Identity{std::string(digits)};
}

std::string last_line(std::string_view before) {
  char line[32];
  std::snprintf(line, sizeof(line), "checksum %08x\n", base::crc32c(before.data(), before.size()));
  return line;
}

// Takes a line "<word> <rest>" from the front of `text`; nothing if it is another one.
std::optional<std::string_view> take_line(std::string_view word, std::string_view* text) {
  const std::size_t end = text->find('\n');
  if (end == text->npos || !text->starts_with(word)) return std::nullopt;
  const std::string_view rest = text->substr(word.size(), end - word.size());
  text->remove_prefix(end + 1);
  return rest;
}

Status corrupt(const std::string& path, const char* what) {
  return Status::error(ErrorCode::kCorruption, path + ": " + what);
}

}  // namespace

Identity make_identity(base::Random* random) {
  char digits[kIdentityDigits + 1];
  std::snprintf(digits, sizeof(digits), "%016llx%016llx",
                static_cast<unsigned long long>(random->next()),
                static_cast<unsigned long long>(random->next()));
  return {digits};
}

std::string encode_mark(const DirectoryMark& mark) {
  std::string text(kTitle);
  text.append(kVersion).append("\ndatabase ").append(mark.database.digits).append("\n");
  if (mark.own.has_value()) text.append("own ").append(mark.own->digits).append("\n");
  for (const DirectoryMark::Part& part : mark.parts) {
    text.append("part ").append(part.identity.digits).append(" ");
    text.append(escaped(part.path)).append("\n");
  }
  return text + last_line(text);
}

Result<DirectoryMark> parse_mark(std::string_view text, const std::string& path) {
  std::string_view left = text;
  const auto version = take_line(kTitle, &left);
  if (!version.has_value()) return corrupt(path, "it is not the mark of a directory");
  if (*version != kVersion) {
    return Status::error(ErrorCode::kWrongVersion, path + " has format version " +
                                                       std::string(*version) +
                                                       ", this program knows 1");
  }
  const std::size_t end = text.rfind("checksum ");
  if (end == text.npos || text.substr(end) != last_line(text.substr(0, end))) {
    return corrupt(path, "the checksum in the last line is wrong");
  }
  DirectoryMark mark;
  const auto database = identity_of(take_line("database ", &left).value_or(""));
  if (!database.has_value()) return corrupt(path, "the line 'database' is missing");
  mark.database = *database;
  if (const auto own = take_line("own ", &left)) {
    mark.own = identity_of(*own);
    if (!mark.own.has_value()) return corrupt(path, "line 'own' is not an identity");
  }
  while (const auto part = take_line("part ", &left)) {
    const auto identity = identity_of(part->substr(0, kIdentityDigits));
    const bool has_path = part->size() > kIdentityDigits && (*part)[kIdentityDigits] == ' ';
    auto last_path = has_path ? unescaped(part->substr(kIdentityDigits + 1)) : std::nullopt;
    if (!identity.has_value() || !last_path.has_value()) {
      return corrupt(path, "line 'part' is not an identity and a path");
    }
    mark.parts.push_back({*identity, std::move(*last_path)});
  }
  if (left.data() != text.data() + end) return corrupt(path, "it has an unknown line");
  return mark;
}

Result<std::optional<DirectoryMark>> read_mark(Device* device) {
  auto file = device->open(kMarkName, Access::kRead);
  if (file.code() == ErrorCode::kNotFound) return std::optional<DirectoryMark>();
  FOEDUS_CHECK(file.status());
  FOEDUS_TRY(const std::uint64_t size, (*file)->size());
  if (size > kMarkBytesMax) return corrupt((*file)->path(), "it is too long for a mark");
  std::string text(size, '\0');
  FOEDUS_TRY(const std::size_t read, (*file)->read_at(0, text.data(), text.size()));
  text.resize(read);
  FOEDUS_TRY(DirectoryMark mark, parse_mark(text, (*file)->path()));
  return std::optional<DirectoryMark>(std::move(mark));
}

Status write_mark(Device* device, const DirectoryMark& mark) {
  const std::string text = encode_mark(mark);
  FOEDUS_CHECK(unless_gone(device->remove(kNewMarkName)));
  {
    FOEDUS_TRY(const auto file, device->open(kNewMarkName, Access::kCreate));
    FOEDUS_CHECK(file->write_at(0, text.data(), text.size()));
    FOEDUS_CHECK(file->sync());
  }
  FOEDUS_CHECK(device->rename(kNewMarkName, kMarkName));
  return device->sync_directory();
}

}  // namespace foedus::device
