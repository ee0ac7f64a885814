#include "foedus-core/device/device.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/device/io_queue.h"

namespace foedus::device {

Result<bool> File::read_pieces(const Piece* pieces, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    FOEDUS_TRY(const std::size_t read, read_at(pieces[i].offset, pieces[i].to, pieces[i].bytes));
    if (read < pieces[i].bytes) return false;
  }
  return true;
}

Result<std::size_t> File::read_parts_at(std::uint64_t offset, const Bytes* parts,
                                        std::size_t count) const {
  FOEDUS_INVARIANT(count <= kReadPartsMax, count);
  std::size_t done = 0;
  for (std::size_t i = 0; i < count; ++i) {
    FOEDUS_TRY(const std::size_t read, read_at(offset + done, parts[i].data, parts[i].bytes));
    done += read;
    if (read < parts[i].bytes) break;
  }
  return done;
}

Status Device::discard(std::string_view name, const Range* ranges, std::size_t count) {
  static_cast<void>(ranges);
  static_cast<void>(count);
  return Status::error(ErrorCode::kNotSupported,
                       path() + " cannot give back space of " + std::string(name));
}

Status Device::link(std::string_view name, Device* other) {
  return Status::error(ErrorCode::kNotSupported, path() + "/" + std::string(name) +
                                                     " cannot be linked into " + other->path());
}

std::unique_ptr<IoQueue> Device::make_io_queue() { return std::make_unique<DeferredIo>(); }

Result<std::unique_ptr<File>> open_existing(Device* device, std::string_view name, Access access) {
  auto file = device->open(name, access);
  if (file.code() != ErrorCode::kNotFound) return file;
  std::string text;
  base::trying(
      [&] { text.append(device->path()).append("/").append(name).append(" has vanished"); });
  return Status::system_error(ErrorCode::kIoError, std::move(text), file.status().error_number(),
                              "let no other program remove files of an open database");
}

Status unless_gone(Status removed) {
  return removed.code() == ErrorCode::kNotFound ? Status() : removed;
}

}  // namespace foedus::device
