// foedus/changes.h
#include "foedus/changes.h"

#include <memory>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/open_streams.h"
#include "foedus/database.h"

namespace foedus {

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kPut:
      return "put";
    case ChangeKind::kErase:
      return "erase";
    case ChangeKind::kWriteAt:
      return "write_at";
    case ChangeKind::kIncrement:
      return "increment";
    case ChangeKind::kAppend:
      return "append";
    case ChangeKind::kCreateStorage:
      return "create_storage";
    case ChangeKind::kDropStorage:
      return "drop_storage";
  }
  return "none";
}

ChangeStream::ChangeStream(std::shared_ptr<engine::OpenStream> stream)
    : stream_(std::move(stream)) {}
ChangeStream::ChangeStream(ChangeStream&& other) noexcept = default;
ChangeStream::~ChangeStream() {
  if (stream_ != nullptr) stream_->close();
}

Result<ChangeBatch> ChangeStream::next(std::uint64_t timeout_us) {
  if (stream_ == nullptr) return ErrorCode::kClosed;
  return stream_->next(timeout_us);
}

Result<ChangeStream> Database::changes(std::optional<Epoch> after) {
  if (engine_ == nullptr) return ErrorCode::kClosed;
  return base::catching([&]() -> Result<ChangeStream> {
    FOEDUS_CHECK(engine_->check_recovered());
    FOEDUS_TRY(auto stream, engine_->open_stream(after));
    return ChangeStream(std::move(stream));
  });
}

}  // namespace foedus
