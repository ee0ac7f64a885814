#include "gleaner/tree_load.h"

#include <string>
#include <utility>
#include <vector>

#include "foedus-core/snapshot/snapshot_writer.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/compose/masstree/composer.h"
#include "gleaner/compose/masstree/layer.h"

namespace foedus::gleaner {

namespace {

class LayerLoad final : public engine::TreeLoad {
 public:
  LayerLoad(std::unique_ptr<snapshot::SnapshotWriter> writer, const snapshot::SnapshotName& file,
            const storage_meta::StorageMeta& meta, page::Tid tid)
      : writer_(std::move(writer)),
        file_(file),
        meta_(meta),
        tid_(tid),
        composition_{&meta_, {}, nullptr, writer_.get(), &accounting_},
        layer_(composition_, 0, PositionRange{}, {}) {}

  Status add(std::string_view key, std::string_view payload) override {
    if (has_rows_ && key <= last_key_) [[unlikely]]
      return not_ascending(key);
    FOEDUS_CHECK(layer_.add(key, {tid_, payload, {}}));
    last_key_.assign(key);
    has_rows_ = true;
    return {};
  }

  Result<engine::LoadedStorage> finish() override {
    engine::LoadedStorage loaded{
        .meta = meta_, .root = {}, .accounting = {}, .file = {}, .epoch = tid_.epoch()};
    if (has_rows_) {
      FOEDUS_TRY(const std::vector<Subtree> subtrees, layer_.finish_range());
      FOEDUS_TRY(loaded.root, join_masstree(composition_, subtrees));
    }
    FOEDUS_CHECK(writer_->finish());
    loaded.accounting = accounting_;
    loaded.file = {file_.snapshot, file_.soc, writer_->pages(), 0};
    return loaded;
  }

 private:
  [[gnu::cold]] Status not_ascending(std::string_view key) const {
    Status status = Status::error(ErrorCode::kInvalidArgument,
                                  "the key is not above that of the row before: a load takes rows "
                                  "in the order of their keys, each key once");
    return std::move(status.at_storage(meta_.name).at_key(key.data(), key.size()));
  }

  const std::unique_ptr<snapshot::SnapshotWriter> writer_;
  const snapshot::SnapshotName file_;
  const storage_meta::StorageMeta meta_;
  const page::Tid tid_;
  snapshot::PageAccounting accounting_;
  const Composition composition_;
  MasstreeLayer layer_;
  std::string last_key_;
  bool has_rows_ = false;
};

}  // namespace

Result<std::unique_ptr<engine::TreeLoad>> begin_tree_load(device::Device* device,
                                                          const snapshot::SnapshotName& file,
                                                          const storage_meta::StorageMeta& meta,
                                                          page::Tid tid) {
  FOEDUS_TRY(auto writer,
             snapshot::SnapshotWriter::create(device, file.snapshot, file.soc,
                                              snapshot::SnapshotWriter::kBufferBytes,
                                              snapshot::kFilePagesMax, device->make_io_queue()));
  return std::unique_ptr<engine::TreeLoad>(
      std::make_unique<LayerLoad>(std::move(writer), file, meta, tid));
}

}  // namespace foedus::gleaner
