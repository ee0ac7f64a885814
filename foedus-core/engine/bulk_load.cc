// foedus/bulk_load.h
#include "foedus/bulk_load.h"

#include <memory>
#include <string>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "foedus/database.h"

namespace foedus {

namespace engine {

// The handle's side of a load. Follows the pointer to the engine only while that is open.
class BulkLoader {
 public:
  BulkLoader(Engine* engine, std::shared_ptr<StorageLoad> load)
      : engine_(engine), load_(std::move(load)) {}
  BulkLoader(const BulkLoader&) = delete;
  BulkLoader& operator=(const BulkLoader&) = delete;
  ~BulkLoader() {
    if (check().is_ok()) engine_->gleaning()->loads().withdraw(load_);
  }

  Status add(std::string_view key, std::string_view payload) {
    FOEDUS_CHECK(check());
    if (!load_->failure.is_ok()) return load_->failure;
    if (load_->tree == nullptr) {
      return Status::error(ErrorCode::kInvalidArgument, "finish() was called");
    }
    if (key.size() > kMaxKeyBytes) return too_large("key", key.size(), kMaxKeyBytes);
    if (payload.size() > kMaxPayloadBytes) {
      return too_large("payload", payload.size(), kMaxPayloadBytes);
    }
    return keep(base::catching([&] { return load_->tree->add(key, payload); }));
  }

  Result<Masstree> finish() {
    FOEDUS_CHECK(check());
    if (!load_->failure.is_ok()) return load_->failure;
    StorageLoads& loads = engine_->gleaning()->loads();
    FOEDUS_CHECK(keep(base::catching([&] { return loads.complete(load_.get()); })));
    occ::StorageControl* control = loads.control_of(*load_);
    if (control == nullptr) {
      const Result<GleanReport> made =
          base::catching([&] { return engine_->gleaning()->scheduler().glean({}); });
      control = loads.control_of(*load_);
      if (control == nullptr) {
        FOEDUS_INVARIANT(!made.is_ok(), load_->meta.name);
        return made.status();
      }
    }
    return internal::StorageAccess::make<Masstree>(control);
  }

 private:
  Status check() const {
    const std::uint64_t opened_in =
        load_->opened_in->load_relaxed();  // order: relaxed, see close()
    if (opened_in == base::process_generation()) [[likely]]
      return {};
    return opened_in == 0 ? Status(ErrorCode::kClosed) : base::check_process(opened_in);
  }
  Status too_large(const char* what, std::size_t bytes, std::size_t most) const {
    return Status::error(ErrorCode::kTooLarge, std::string("a ") + what + " of " +
                                                   std::to_string(bytes) + " bytes; at most " +
                                                   std::to_string(most))
        .at_storage(load_->meta.name);
  }
  // Remembers an error after which the load cannot go on.
  Status keep(Status status) {
    const bool can_go_on = status.is_ok() || status.code() == ErrorCode::kInvalidArgument;
    if (!can_go_on) load_->failure = status;
    return status;
  }

  Engine* const engine_;
  const std::shared_ptr<StorageLoad> load_;
};

}  // namespace engine

BulkLoad::BulkLoad(std::unique_ptr<engine::BulkLoader> loader) : loader_(std::move(loader)) {}
BulkLoad::BulkLoad(BulkLoad&& other) noexcept = default;
BulkLoad::~BulkLoad() = default;

Status BulkLoad::add(std::string_view key, std::string_view payload) {
  if (loader_ == nullptr) return ErrorCode::kClosed;
  return loader_->add(key, payload);
}

Result<Masstree> BulkLoad::finish() {
  if (loader_ == nullptr) return ErrorCode::kClosed;
  return loader_->finish();
}

Result<BulkLoad> Database::load_masstree(std::string_view name) {
  if (engine_ == nullptr) return ErrorCode::kClosed;
  return base::catching([&]() -> Result<BulkLoad> {
    FOEDUS_CHECK(engine_->check_open());
    if (engine_->gleaning() == nullptr) {
      return Status::error(ErrorCode::kNotSupported, "without a log there are no snapshots");
    }
    // The mover takes it that no file is made while it runs (Device::make_room()).
    if (!engine_->options().tiers.ssd_dirs.empty()) {
      return Status::error(ErrorCode::kNotSupported,
                           "a database with an SSD tier takes rows in transactions alone");
    }
    // The rows of a load are in no log, so a stream would lack them without a word (L35).
    if (engine_->log()->change_bytes() != 0) {
      return Status::error(ErrorCode::kNotSupported,
                           "a database whose log keeps changes takes rows in transactions alone");
    }
    FOEDUS_TRY(auto load, engine_->gleaning()->loads().begin(name));
    return BulkLoad(std::make_unique<engine::BulkLoader>(engine_.get(), std::move(load)));
  });
}

}  // namespace foedus
