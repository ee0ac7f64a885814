#pragma once
// A snapshot file of a TieredDevice: TieredFile, to be read, and NewTieredFile, to be made.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/staging/buffer.h"
#include "foedus-core/device/tiers/extent_map.h"
#include "foedus/status.h"

namespace foedus::device {

// Pages of a file that are on their way to its part on the SSD (V32).
struct StagedPart {
  StagingBuffer* buffer = nullptr;
  std::shared_ptr<StagingTarget> target;  // null: there are none
};

// A finished file, read by any thread while the mover moves extents of it (V25).
class TieredFile final : public File {
 public:
  // Opens the file `name`, whose part on memory is `nvm`. `behind`, and the buffer of `staged`,
  // outlive the file. `ssd`: how the part on the SSD is opened. kCorruption: some of the file lies
  // on the SSD, and that part is not found.
  static Result<std::unique_ptr<TieredFile>> open(Device* behind, std::string_view name,
                                                  std::shared_ptr<const File> nvm,
                                                  std::shared_ptr<const ExtentMap> map,
                                                  StagedPart staged, Access ssd);

  const std::string& path() const override { return nvm_->path(); }
  Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const override;
  Result<std::size_t> read_parts_at(std::uint64_t offset, const Bytes* parts,
                                    std::size_t count) const override;
  void will_read(std::uint64_t offset, std::size_t bytes) const override;
  Result<bool> read_pieces(const Piece* pieces, std::size_t count) const override;
  bool has_small_reads(std::uint64_t offset) const override {
    return !map_->is_on_ssd(offset / kExtentBytes);
  }
  Status write_parts_at(std::uint64_t offset, const ConstBytes* parts, std::size_t count) override;
  Status sync() override;
  Status preallocate(std::uint64_t bytes) override;
  Status truncate(std::uint64_t bytes) override;
  Result<std::uint64_t> size() const override { return nvm_->size(); }
  // Returns true if the part on memory is direct. The part on the SSD may be direct where that one
  // is not. So read_at() REQUIRES whole blocks in any case; read_pieces() takes any bytes.
  bool is_direct() const override { return nvm_->is_direct(); }

  // Returns the part of the file in which all of these bytes lie, for a read by one call or in a
  // queue. Null: no part has all of them, some may be staged, or the part cannot be opened.
  // `*on_ssd`: which part it is. Bytes from the part on memory count only if is_on_memory() is true
  // after the read.
  std::shared_ptr<const File> part_of(std::uint64_t offset, std::uint64_t bytes,
                                      bool* on_ssd) const;
  // Returns true if the map has all of these bytes on memory (V25).
  bool is_on_memory(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  TieredFile(Device* behind, std::string_view name, std::shared_ptr<const File> nvm,
             std::shared_ptr<const ExtentMap> map, StagedPart staged, Access ssd);
  Status refused() const;
  // Returns the part on the SSD, which the first caller opens.
  Result<const File*> ssd() const;
  bool has_staged() const { return staged_.target != nullptr && staged_.target->has_staged(); }
  Result<std::size_t> read_staged(std::uint64_t offset, void* to, std::size_t bytes) const;
  Result<std::size_t> read_extent(std::uint64_t offset, void* to, std::size_t bytes) const;
  Result<bool> read_piece(const Piece& piece, std::uint64_t* block_at, char* block) const;

  Device* const behind_;
  const std::string ssd_name_;
  const std::shared_ptr<const File> nvm_;
  const std::shared_ptr<const ExtentMap> map_;
  const StagedPart staged_;
  const Access ssd_access_;

  mutable base::AtomicWord<const File*> ssd_;  // null: not opened yet
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const File> ssd_owned_;  // guarded by mutex_; then constant
};

// ExtentRoom: gives files in the making space on the two tiers; their device implements it. Any
// thread.
class ExtentRoom {
 public:
  virtual ~ExtentRoom() = default;
  // Takes space for an extent. `*on_ssd` returns on which tier. If it is true before the call, the
  // SSD is the only choice. kOutOfSpace.
  virtual Status take_extent(bool* on_ssd) = 0;
  // Gives back extents that were taken for a file that has failed.
  virtual void give_back(std::uint64_t nvm_extents, std::uint64_t ssd_extents) = 0;
  // Returns where pages of the file `name` are staged that belong to `ssd`, its part on the SSD. No
  // target: they are written to `ssd` at once.
  virtual Result<StagedPart> stage(const std::string& name, const std::shared_ptr<File>& ssd) = 0;
  // Notes that the file `name` is whole, and synced or staged.
  virtual void add_finished(const std::string& name, std::shared_ptr<ExtentMap> map) = 0;
};

// A new file, written front to back by one thread. It lies on memory as far as there is space. The
// rest goes to the SSD, by way of the staging buffer if there is one (V32). An extent that was
// begun stays on its tier. REQUIRES: writes are of whole blocks, where they go to the SSD.
class NewTieredFile final : public File {
 public:
  NewTieredFile(Device* behind, ExtentRoom* room, std::string name, std::unique_ptr<File> nvm);
  ~NewTieredFile() override;
  NewTieredFile(const NewTieredFile&) = delete;
  NewTieredFile& operator=(const NewTieredFile&) = delete;

  const std::string& path() const override { return nvm_->path(); }
  Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const override;
  Status write_parts_at(std::uint64_t offset, const ConstBytes* parts, std::size_t count) override;
  // Ends the file: nothing is written afterwards.
  Status sync() override;
  Status preallocate(std::uint64_t bytes) override;
  Status truncate(std::uint64_t bytes) override;
  Result<std::uint64_t> size() const override { return end_; }
  bool is_direct() const override { return nvm_->is_direct(); }

 private:
  Status write_bytes(const char* from, std::size_t bytes);
  Status write_extent(const char* from, std::size_t bytes);
  Status open_ssd();
  Status stage(const char* from, std::size_t bytes);
  Status refused() const;

  Device* const behind_;
  ExtentRoom* const room_;
  const std::string name_;
  const std::unique_ptr<File> nvm_;
  std::shared_ptr<File> ssd_;  // null: all is on memory so far
  StagedPart staged_;          // of ssd_
  std::uint64_t reserved_ = 0;  // length of ssd_ where its pages are staged
  std::vector<bool> on_ssd_;   // by extent
  std::uint64_t end_ = 0;
  bool is_finished_ = false;
};

}  // namespace foedus::device
