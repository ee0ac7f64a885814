#include "tests/testing/failing_device.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "foedus-core/base/invariant.h"

namespace foedus::testing {

namespace {

constexpr std::size_t kSectorBytes = 512;

Status failed(const std::string& what, int error_number) {
  return Status::system_error(ErrorCode::kIoError, what, error_number);
}

}  // namespace

class FailingFile : public device::File {
 public:
  FailingFile(FailingDevice* owner, std::shared_ptr<FailingDevice::Content> content,
              std::string name)
      : owner_(owner),
        content_(std::move(content)),
        name_(std::move(name)),
        path_(owner->path_ + "/" + name_),
        generation_(owner->generation_),
        open_(content_->open.lock()) {
    if (open_ != nullptr) return;
    open_ = std::make_shared<const char>();
    content_->open = open_;
  }

  const std::string& path() const override { return path_; }
  bool is_direct() const override { return false; }

  Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const override {
    owner_->observe({Call::kRead, name_, offset});
    const std::lock_guard lock(owner_->mutex_);
    if (const int error = begin_locked(Call::kRead)) return failed("cannot read " + path_, error);
    const DiskImage& image = content_->visible;
    if (offset >= image.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(bytes, image.size() - offset);
    image.read(offset, static_cast<char*>(to), count);
    return count;
  }

  void will_read(std::uint64_t offset, std::size_t) const override {
    const std::lock_guard lock(owner_->mutex_);
    owner_->announced_.emplace(name_, offset);
  }

  Status write_parts_at(std::uint64_t offset, const device::ConstBytes* parts,
                        std::size_t count) override {
    std::vector<char> all;
    for (std::size_t i = 0; i < count; ++i) {
      const char* const from = static_cast<const char*>(parts[i].data);
      all.insert(all.end(), from, from + parts[i].bytes);
    }
    owner_->observe({Call::kWrite, name_, offset, &all});
    const std::lock_guard lock(owner_->mutex_);
    const int error = begin_locked(Call::kWrite);
    if (generation_ != owner_->generation_) return failed("cannot write " + path_, error);
    if (error != 0) {
      if (FailingDevice::is_persistent_memory()) {
        tear_locked(offset, all);
      } else {
        write_locked(offset, all.data(), part_locked(offset, all.size()));
      }
      return failed("cannot write " + path_, error);
    }
    const std::uint64_t size = content_->visible.size();
    const std::uint64_t end = offset + all.size();
    const std::uint64_t used = owner_->used_bytes_locked();
    if (end > size && used + (end - size) > owner_->capacity_bytes_) {
      const std::uint64_t room = owner_->capacity_bytes_ - std::min(used, owner_->capacity_bytes_);
      const std::uint64_t fits = size + room > offset ? size + room - offset : 0;
      write_locked(offset, all.data(), fits / kSectorBytes * kSectorBytes);
      return failed("cannot write " + path_, ENOSPC);
    }
    write_locked(offset, all.data(), all.size());
    if (FailingDevice::is_persistent_memory()) content_->sync();
    return {};
  }

  Status sync() override {
    owner_->observe({Call::kSync, name_});
    const std::lock_guard lock(owner_->mutex_);
    const int error = begin_locked(Call::kSync);
    if (generation_ != owner_->generation_) return failed("cannot sync " + path_, error);
    if (error != 0) {
      owner_->fail_sync_locked(content_.get());  // V2: given up, and not reported again
      return failed("cannot sync " + path_, error);
    }
    if (owner_->skips_sync_locked(Call::kSync)) return {};
    content_->sync();
    return {};
  }

  Status preallocate(std::uint64_t bytes) override {
    owner_->observe({Call::kPreallocate, name_, bytes});
    const std::lock_guard lock(owner_->mutex_);
    if (const int error = begin_locked(Call::kPreallocate)) {
      return failed("cannot grow " + path_, error);
    }
    const std::uint64_t size = content_->visible.size();
    const std::uint64_t with_room = size - content_->hole;
    if (bytes <= with_room) return {};
    if (owner_->used_bytes_locked() + (bytes - with_room) > owner_->capacity_bytes_) {
      return failed("cannot grow " + path_, ENOSPC);
    }
    content_->visible.resize(std::max(size, bytes));
    content_->hole = std::max(size, bytes) - bytes;
    return {};
  }

  Status truncate(std::uint64_t bytes) override {
    owner_->observe({Call::kTruncate, name_, bytes});
    const std::lock_guard lock(owner_->mutex_);
    if (const int error = begin_locked(Call::kTruncate)) {
      return failed("cannot cut " + path_, error);
    }
    const std::uint64_t with_room = content_->visible.size() - content_->hole;
    content_->visible.resize(bytes);
    content_->hole = bytes - std::min(bytes, with_room);
    // Unsynced bytes after the new end may come back after a crash, sector by sector, as if the cut
    // had overwritten them with zeroes.
    std::uint64_t end = bytes;
    for (const auto& write : content_->unsynced) {
      end = std::max<std::uint64_t>(end, write.offset + write.bytes->size());
    }
    if (end > bytes) {
      content_->unsynced.push_back(
          {bytes, std::make_shared<const std::vector<char>>(end - bytes, '\0')});
    }
    return {};
  }

  Result<std::uint64_t> size() const override {
    owner_->observe({Call::kSize, name_});
    const std::lock_guard lock(owner_->mutex_);
    if (const int error = begin_locked(Call::kSize)) {
      return failed("cannot look at " + path_, error);
    }
    return std::uint64_t{content_->visible.size()};
  }

 private:
  int begin_locked(Call kind) const {
    const int error = owner_->count_locked(kind);
    return generation_ != owner_->generation_ ? EBADF : error;
  }
  // Returns how many sectors of a failing write are written: from none to all.
  std::size_t part_locked(std::uint64_t offset, std::size_t bytes) const {
    base::Random random((offset ^ (owner_->calls(Call::kWrite) << 40)) * 0x9e3779b97f4a7c15u);
    return std::min(bytes, random.below(bytes / kSectorBytes + 1) * kSectorBytes);
  }
  // V17: the progress of the write is random. It has written some words other than the first of
  // each sector; or all of those and first words of some later sectors; or all but its first word.
  void tear_locked(std::uint64_t offset, const std::vector<char>& bytes) {
    constexpr std::uint64_t kWord = 8;
    base::Random random((offset ^ (owner_->calls(Call::kWrite) << 40)) * 0x9e3779b97f4a7c15u);
    const std::uint64_t stage = random.below(3);
    for (std::uint64_t at = 0, next = 0; at < bytes.size(); at = next) {
      next = std::min<std::uint64_t>(bytes.size(), at + kWord - (offset + at) % kWord);
      const bool is_first = (offset + at) % kSectorBytes < kWord;
      if (is_first && (at == 0 || stage == 0)) continue;
      const bool is_by_chance = is_first ? stage == 1 : stage == 0;
      if (is_by_chance && random.below(2) == 0) continue;
      write_locked(offset + at, bytes.data() + at, next - at);
    }
    content_->sync();
  }
  void write_locked(std::uint64_t offset, const char* bytes, std::size_t count) {
    if (count == 0) return;
    content_->write_unsynced(offset, bytes, count);
  }

  FailingDevice* const owner_;
  const std::shared_ptr<FailingDevice::Content> content_;
  const std::string name_;
  const std::string path_;
  const std::uint64_t generation_;
  std::shared_ptr<const char> open_;  // of the content
};

bool FailingDevice::is_persistent_memory() {
  static const bool is = std::getenv("FOEDUS_TEST_PERSISTENT_MEMORY") != nullptr;
  return is;
}

void FailingDevice::Content::write_unsynced(std::uint64_t offset, const char* bytes,
                                            std::size_t count) {
  visible.write(offset, bytes, count);
  unsynced.push_back({offset, std::make_shared<const std::vector<char>>(bytes, bytes + count)});
}

// The bytes of `newer` replace those of the older write where both overlap.
void FailingDevice::Write::take_over(const Write& newer) {
  const std::uint64_t from = std::max(offset, newer.offset);
  const std::uint64_t to = std::min(offset + bytes->size(), newer.offset + newer.bytes->size());
  if (from >= to) return;
  std::vector<char> mixed = *bytes;
  std::memcpy(mixed.data() + (from - offset), newer.bytes->data() + (from - newer.offset),
              to - from);
  bytes = std::make_shared<const std::vector<char>>(std::move(mixed));
}

// Only writes that were not given up become durable: the synced image may differ from the visible
// one for ever.
void FailingDevice::Content::sync() {
  for (const Write& write : unsynced) {
    synced.write(write.offset, write.bytes->data(), write.bytes->size());
    for (Write& old : given_up) old.take_over(write);
  }
  unsynced.clear();
  if (visible.size() != size_given_up) synced.resize(visible.size());
  if (visible.size() == synced.size()) size_given_up = kNoSize;
  std::erase_if(given_up, [this](const Write& old) {
    const std::uint64_t end = old.offset + old.bytes->size();
    if (end > visible.size()) return true;  // it was cut since
    if (end > synced.size()) return false;
    std::vector<char> now(old.bytes->size());
    synced.read(old.offset, now.data(), now.size());
    return now == *old.bytes;
  });
}

void FailingDevice::Content::give_up() {
  if (visible.size() != synced.size()) size_given_up = visible.size();
  for (const Write& write : unsynced) {
    const std::uint64_t end = write.offset + write.bytes->size();
    for (std::uint64_t at = write.offset; at < end;) {
      const std::uint64_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
      const auto begin = write.bytes->begin() + static_cast<std::ptrdiff_t>(at - write.offset);
      given_up.push_back({at, std::make_shared<const std::vector<char>>(
                                  begin, begin + static_cast<std::ptrdiff_t>(next - at))});
      at = next;
    }
  }
  unsynced.clear();
}

void FailingDevice::fail_sync_locked(Content* content) {
  content->give_up();
  if (reread_seed_ == kKeepAll) return;
  const std::uint64_t size = content->visible.size();
  base::Random random(reread_seed_ ^ calls(Call::kSync));
  for (const Write& write : content->given_up) {
    if (reread_seed_ == kDropAll || random.below(2) == 0) continue;
    content->synced.write(write.offset, write.bytes->data(), write.bytes->size());
  }
  content->given_up.clear();
  content->visible = content->synced;
  content->visible.resize(size);  // as the system knows it
}

void FailingDevice::reread_after_failed_sync(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  reread_seed_ = seed;
}

int FailingDevice::count_locked(Call kind) const {
  ++calls_[static_cast<std::size_t>(kind)];
  if (power_is_lost_) return EIO;
  if (is_changing(kind) && power_skip_ != ~std::uint64_t{0}) {
    if (power_skip_ == 0) {
      power_is_lost_ = true;
      return EIO;
    }
    --power_skip_;
  }
  int error_number = 0;
  for (Fault& fault : faults_[kind]) {
    if (fault.skip > 0) {
      --fault.skip;
    } else if (fault.error_number != 0) {
      error_number = fault.error_number;
      if (!fault.sticky) fault.error_number = 0;
    }
  }
  return error_number;
}

void FailingDevice::fail(Call kind, std::uint64_t skip, int error_number, bool sticky) {
  const std::lock_guard lock(mutex_);
  faults_[kind].push_back({skip, error_number, sticky});
}

void FailingDevice::skip_sync(Call kind, std::uint64_t skip, bool sticky) {
  const std::lock_guard lock(mutex_);
  skipped_syncs_[kind] = {skip, 0, sticky};
}

bool FailingDevice::skips_sync_locked(Call kind) {
  const auto found = skipped_syncs_.find(kind);
  if (found == skipped_syncs_.end()) return false;
  if (found->second.skip != 0) {
    --found->second.skip;
    return false;
  }
  if (!found->second.sticky) skipped_syncs_.erase(found);
  return true;
}

void FailingDevice::clear_faults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
  power_skip_ = ~std::uint64_t{0};
}

void FailingDevice::lose_power_after(std::uint64_t skip) {
  const std::lock_guard lock(mutex_);
  power_skip_ = skip;
}

std::uint64_t FailingDevice::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_locked();
}

std::uint64_t FailingDevice::used_bytes_locked() const {
  std::uint64_t used = 0;
  for (const auto& [name, content] : names_) used += content->room();
  for (const auto& content : removed_) {
    if (!content->open.expired()) used += content->room();
  }
  return used;
}

// Applies each unsynced sector, in the order of writes, or not.
void FailingDevice::crash_content(Content* content, std::uint64_t seed, base::Random* random) {
  if (seed == kKeepAll) {
    content->synced = content->visible;
  } else if (seed != kDropAll) {
    DiskImage& image = content->synced;
    if (random->below(2) == 0) image.resize(std::max(image.size(), content->visible.size()));
    for (const Write& write : content->given_up) {  // older than what was synced, and the rest
      if (random->below(2) != 0) {
        image.write(write.offset, write.bytes->data(), write.bytes->size());
      }
    }
    for (const Write& write : content->unsynced) {
      const std::vector<char>& bytes = *write.bytes;
      for (std::size_t at = 0; at < bytes.size(); at += kSectorBytes) {
        if (random->below(2) == 0) continue;
        image.write(write.offset + at, bytes.data() + at,
                    std::min(kSectorBytes, bytes.size() - at));
      }
    }
    // A length that became shorter may survive or not, too.
    if (content->visible.size() < image.size() && random->below(2) == 0) {
      image.resize(content->visible.size());
    }
  }
  content->visible = content->synced;
  content->unsynced.clear();
  content->given_up.clear();
}

void FailingDevice::crash_power(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  base::Random random(seed ^ 0x5eed);
  ++generation_;
  Names left;
  std::set<std::string> all;
  for (const auto& entry : names_) all.insert(entry.first);
  for (const auto& entry : synced_names_) all.insert(entry.first);
  for (const std::string& name : all) {
    const bool keeps_new = seed == kKeepAll || (seed != kDropAll && random.below(2) == 0);
    const Names& from = keeps_new ? names_ : synced_names_;
    if (const auto found = from.find(name); found != from.end()) left.emplace(*found);
  }
  std::set<Content*> seen;
  for (const auto& entry : left) {
    if (seen.insert(entry.second.get()).second) crash_content(entry.second.get(), seed, &random);
  }
  names_ = left;
  synced_names_ = left;
  removed_.clear();
  faults_.clear();
  power_is_lost_ = false;
  power_skip_ = ~std::uint64_t{0};
}

void FailingDevice::crash_process() {
  const std::lock_guard lock(mutex_);
  ++generation_;
  removed_.clear();
  faults_.clear();
  power_is_lost_ = false;
  power_skip_ = ~std::uint64_t{0};
}

Result<std::unique_ptr<device::File>> FailingDevice::open(std::string_view name,
                                                          device::Access access) {
  const std::string key(name);
  const bool creates = access == device::Access::kCreate || access == device::Access::kCreateDirect;
  observe({creates ? Call::kCreate : Call::kOpen, key});
  const std::lock_guard lock(mutex_);
  if (const int error = count_locked(creates ? Call::kCreate : Call::kOpen)) {
    return failed("cannot open " + path_ + "/" + key, error);
  }
  auto found = names_.find(key);
  if (!creates && found == names_.end()) {
    return Status::system_error(ErrorCode::kNotFound, "no file " + path_ + "/" + key, ENOENT);
  }
  if (creates) {
    if (found != names_.end()) {
      return Status::system_error(ErrorCode::kAlreadyExists, path_ + "/" + key, EEXIST);
    }
    found = names_.emplace(key, std::make_shared<Content>()).first;
  }
  return std::unique_ptr<device::File>(std::make_unique<FailingFile>(this, found->second, key));
}

Result<std::vector<std::string>> FailingDevice::list() const {
  observe({Call::kList, {}});
  const std::lock_guard lock(mutex_);
  if (const int error = count_locked(Call::kList)) return failed("cannot list " + path_, error);
  std::vector<std::string> names;
  for (const auto& entry : names_) names.push_back(entry.first);
  return names;
}

Status FailingDevice::remove(std::string_view name) {
  const std::string key(name);
  observe({Call::kRemove, key});
  const std::lock_guard lock(mutex_);
  if (const int error = count_locked(Call::kRemove)) return failed("cannot remove " + key, error);
  if (const auto found = names_.find(key); found != names_.end()) {
    std::erase_if(removed_, [](const auto& content) { return content->open.expired(); });
    removed_.push_back(found->second);
    names_.erase(found);
    return {};
  }
  return Status::system_error(ErrorCode::kNotFound, "cannot remove " + key, ENOENT);
}

Status FailingDevice::rename(std::string_view from, std::string_view to) {
  const std::string key(from);
  observe({Call::kRename, key});
  const std::lock_guard lock(mutex_);
  if (const int error = count_locked(Call::kRename)) return failed("cannot rename " + key, error);
  const auto found = names_.find(key);
  if (found == names_.end()) {
    return Status::system_error(ErrorCode::kIoError, "cannot rename " + key, ENOENT);
  }
  names_[std::string(to)] = found->second;
  names_.erase(key);
  return {};
}

Status FailingDevice::discard(std::string_view name, const Range* ranges, std::size_t count) {
  const std::string key(name);
  observe({Call::kDiscard, key});
  const std::lock_guard lock(mutex_);
  if (const int error = count_locked(Call::kDiscard)) {
    return failed("cannot give back room of " + key, error);
  }
  const auto found = names_.find(key);
  if (found == names_.end()) {
    return Status::system_error(ErrorCode::kNotFound, "no file " + key, ENOENT);
  }
  Content* const content = found->second.get();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t size = content->visible.size();
    if (ranges[i].offset >= size) continue;
    const std::vector<char> zeroes(std::min(ranges[i].bytes, size - ranges[i].offset));
    content->write_unsynced(ranges[i].offset, zeroes.data(), zeroes.size());
    content->discarded = std::min(size, content->discarded + zeroes.size());
  }
  return {};
}

Status FailingDevice::sync_directory() {
  observe({Call::kSyncDirectory, {}});
  const std::lock_guard lock(mutex_);
  if (const int error = count_locked(Call::kSyncDirectory)) {
    return failed("cannot sync directory " + path_, error);
  }
  if (!skips_sync_locked(Call::kSyncDirectory)) synced_names_ = names_;
  return {};
}

}  // namespace foedus::testing
