#include "foedus-core/device/spread/spread_device.h"

#include <algorithm>
#include <map>
#include <utility>

#include "foedus-core/device/io_queue.h"
#include "foedus-core/device/tier_names.h"

namespace foedus::device {

namespace {

struct LargeName {
  std::string_view prefix;
  std::size_t numbers;  // how many follow the prefix, with dashes in between
  std::size_t place;    // index of the number that says where the file is made
};
constexpr LargeName kLargeNames[] = {{"log-", 2, 0},
                                     {kTieredPrefix, 2, 1},
                                     {kSsdPrefix, 2, 1},
                                     {kTiersPrefix, 2, 1},
                                     {kNvmPrefix, 1, 0},
                                     {kStagingPrefix, 1, 0},
                                     {"run-", 3, 1}};

// Returns true for the files that a database has in its main directory, beside large files.
bool is_of_main(std::string_view name) {
  return name == "savepoint" || name.starts_with("manifest-");
}

std::optional<std::uint32_t> number_behind(const LargeName& kind, std::string_view numbers) {
  std::uint32_t wanted = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kind.numbers; ++i) {
    if (i != 0 && (at >= numbers.size() || numbers[at++] != '-')) return std::nullopt;
    const std::size_t begin = at;
    std::uint32_t number = 0;
    for (; at < numbers.size() && numbers[at] >= '0' && numbers[at] <= '9'; ++at) {
      if (at - begin >= 9) return std::nullopt;
      number = number * 10 + static_cast<std::uint32_t>(numbers[at] - '0');
    }
    if (at == begin) return std::nullopt;
    if (i == kind.place) wanted = number;
  }
  if (at != numbers.size()) return std::nullopt;
  return wanted;
}

Status refused(const std::string& what) { return Status::error(ErrorCode::kInvalidArgument, what); }

}  // namespace

std::optional<std::uint32_t> number_in_name(std::string_view name) {
  for (const LargeName& kind : kLargeNames) {
    if (name.starts_with(kind.prefix)) return number_behind(kind, name.substr(kind.prefix.size()));
  }
  return std::nullopt;
}

SpreadDevice::SpreadDevice(Device* main, const std::vector<Device*>& others,
                           std::size_t ssd_count)
    : ssd_count_(ssd_count) {
  parts_.push_back(std::make_unique<Part>());
  parts_[0]->device = main;
  for (Device* const other : others) {
    parts_.push_back(std::make_unique<Part>());
    parts_.back()->device = other;
    parts_.back()->mark.path = other->path();
  }
}

Result<std::unique_ptr<SpreadDevice>> SpreadDevice::make(Device* main,
                                                         std::vector<Device*> others,
                                                         std::uint64_t seed,
                                                         const std::vector<Device*>& ssd) {
  others.insert(others.end(), ssd.begin(), ssd.end());
  std::unique_ptr<SpreadDevice> spread(new SpreadDevice(main, others, ssd.size()));
  FOEDUS_CHECK(spread->look(seed));
  return spread;
}

// ---- whose the directories are -----------------------------------------------------------------

Status SpreadDevice::look(std::uint64_t seed) {
  FOEDUS_TRY(found_mark_, read_mark(parts_[0]->device));
  if (found_mark_.has_value() && found_mark_->own.has_value()) {
    return refused(
        "directory " + path() +
        " holds files of a database of another directory (FileOptions::dirs); open that");
  }
  base::Random random(seed);
  main_mark_.database =
      found_mark_.has_value() ? found_mark_->database : make_identity(&random);
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    Part* const part = parts_[i].get();
    FOEDUS_CHECK(look_at_other(part));
    if (!part->is_marked) part->mark.identity = make_identity(&random);
    for (const DirectoryMark::Part& other : main_mark_.parts) {
      if (!(other.identity == part->mark.identity)) continue;
      return refused("directory " + part->mark.path + " is a copy of " + other.path +
                     " by its mark; name one of them");
    }
    main_mark_.parts.push_back(part->mark);
  }
  return check_names();
}

// Checks to which database one of the others belongs (V14).
Status SpreadDevice::look_at_other(Part* part) {
  const std::string& path = part->device->path();
  FOEDUS_TRY(const auto mark, read_mark(part->device));
  bool is_named = false;
  if (mark.has_value()) {
    // Without a mark in the main directory there is no database so far, and its identity is empty.
    const DirectoryMark known = found_mark_.value_or(DirectoryMark());
    if (!mark->own.has_value() || mark->database != known.database) {
      return refused("directory " + path + " belongs to another database than " + this->path() +
                     "; name another directory, or remove its files if that database is gone");
    }
    part->is_marked = true;
    part->mark.identity = *mark->own;
    is_named =
        std::any_of(known.parts.begin(), known.parts.end(),
                    [&](const DirectoryMark::Part& other) { return other.identity == *mark->own; });
  }
  if (is_named) return {};
  FOEDUS_TRY(const auto names, part->device->list());
  for (const std::string& name : names) {
    if (!number_in_name(name).has_value() && !is_of_main(name)) continue;
    const char* const why = mark.has_value()
                                ? ", which is out of date: the database was opened without this "
                                  "directory since; move it away"
                                : ", and is not marked as a directory of this database; name an "
                                  "empty one";
    return refused("directory " + path + " holds " + name + why);
  }
  return {};
}

// Checks that no name lies in two directories (V12): a copy of files by hand may have caused that.
Status SpreadDevice::check_names() const {
  std::map<std::string, std::string, std::less<>> places;
  for (const auto& part : parts_) {
    FOEDUS_TRY(const auto names, part->device->list());
    for (const std::string& name : names) {
      if (!number_in_name(name).has_value()) continue;
      const auto [other, is_new] = places.emplace(name, part->device->path());
      if (is_new) continue;
      return Status::error(ErrorCode::kCorruption, name + " lies in " + other->second + " and in " +
                                                       part->device->path() +
                                                       "; move the one away that is a copy");
    }
  }
  return {};
}

std::vector<std::string> SpreadDevice::left_out() const {
  std::vector<std::string> paths;
  if (!found_mark_.has_value()) return paths;
  for (const DirectoryMark::Part& known : found_mark_->parts) {
    const bool is_here = std::any_of(
        main_mark_.parts.begin(), main_mark_.parts.end(),
        [&](const DirectoryMark::Part& part) { return part.identity == known.identity; });
    if (!is_here) paths.push_back(known.path);
  }
  return paths;
}

Status SpreadDevice::prepare_change() {
  const std::lock_guard lock(mutex_);
  if (is_prepared_) return {};
  FOEDUS_CHECK(prepare_change_locked());
  is_prepared_ = true;
  return {};
}

Status SpreadDevice::prepare_change_locked() {
  if (found_mark_ != main_mark_) {
    FOEDUS_CHECK(write_mark(parts_[0]->device, main_mark_));  // V13
    found_mark_ = main_mark_;
  }
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    Part* const part = parts_[i].get();
    if (part->is_marked) continue;
    const DirectoryMark mark{.database = main_mark_.database, .own = part->mark.identity,
                             .parts = {}};
    FOEDUS_CHECK(write_mark(part->device, mark));  // V13
    part->is_marked = true;
  }
  for (const auto& part : parts_) FOEDUS_CHECK(sync_part(part.get()));  // V12
  return {};
}

// ---- where a file lies -------------------------------------------------------------------------

std::size_t SpreadDevice::place_of(std::string_view name) const {
  const auto number = number_in_name(name);
  if (!number.has_value()) return 0;
  const std::size_t others = parts_.size() - 1 - ssd_count_;
  if (ssd_count_ != 0 && name.starts_with(kSsdPrefix)) return 1 + others + *number % ssd_count_;
  return others == 0 ? 0 : 1 + *number % others;
}

template <typename Act>
auto SpreadDevice::search(std::string_view name, std::size_t* found, Act act) const {
  const std::size_t place = place_of(name);
  *found = place;
  auto first = act(parts_[place]->device);
  if (first.code() != ErrorCode::kNotFound || !number_in_name(name).has_value()) return first;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i == place) continue;
    auto answer = act(parts_[i]->device);
    if (answer.code() == ErrorCode::kNotFound) continue;
    *found = i;
    return answer;
  }
  return first;
}

// Checks that no directory but that one has the name (V12). kAlreadyExists: another one has it.
Status SpreadDevice::check_only_in(std::size_t index, std::string_view name) const {
  if (!number_in_name(name).has_value()) return {};
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i == index) continue;
    const auto file = parts_[i]->device->open(name, Access::kRead);
    if (file.code() == ErrorCode::kNotFound) continue;
    FOEDUS_CHECK(file.status());
    return Status::error(ErrorCode::kAlreadyExists, (*file)->path() + " is there already");
  }
  return {};
}

Result<std::unique_ptr<File>> SpreadDevice::open(std::string_view name, Access access) {
  std::size_t found = 0;
  const auto open_in = [&](Device* device) { return device->open(name, access); };
  if (access == Access::kRead || access == Access::kReadDirect) {
    return search(name, &found, open_in);
  }
  FOEDUS_CHECK(prepare_change());  // V13
  if (access == Access::kReadWrite || access == Access::kReadWriteDirect) {
    return search(name, &found, open_in);
  }
  const std::size_t place = place_of(name);
  FOEDUS_CHECK(check_only_in(place, name));
  auto file = open_in(parts_[place]->device);
  note_change(parts_[place].get());
  return file;
}

Result<std::vector<std::string>> SpreadDevice::list() const {
  FOEDUS_TRY(std::vector<std::string> names, parts_[0]->device->list());
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    FOEDUS_TRY(std::vector<std::string> more, parts_[i]->device->list());
    for (std::string& name : more) {
      if (number_in_name(name).has_value()) names.push_back(std::move(name));
    }
  }
  return names;
}

Status SpreadDevice::remove(std::string_view name) {
  FOEDUS_CHECK(prepare_change());  // V13
  std::size_t found = 0;
  const Status removed =
      search(name, &found, [&](Device* device) { return device->remove(name); });
  note_change(parts_[found].get());
  if (!removed.is_ok() || found == place_of(name)) return removed;
  return sync_part(parts_[found].get());  // V12
}

Status SpreadDevice::rename(std::string_view from, std::string_view to) {
  FOEDUS_CHECK(prepare_change());  // V13
  std::size_t found = 0;
  const auto file = search(from, &found,
                           [&](Device* device) { return device->open(from, Access::kRead); });
  // Only large files are looked for in the other directories: with another name, a file there would
  // not be found again.
  const bool is_hidden = found != 0 && !number_in_name(to).has_value();
  const Status only = is_hidden ? Status() : check_only_in(found, to);
  if (is_hidden || only.code() == ErrorCode::kAlreadyExists) {
    return Status::error(ErrorCode::kIoError, "cannot rename " + std::string(from) + " in " +
                                                  parts_[found]->device->path() + " to " +
                                                  std::string(to) +
                                                  ", which belongs in another directory");
  }
  FOEDUS_CHECK(only);
  const Status renamed = parts_[found]->device->rename(from, to);
  note_change(parts_[found].get());
  if (!renamed.is_ok() || found == place_of(from)) return renamed;
  return sync_part(parts_[found].get());  // V12
}

// Gives space back. Needs no marks (V13): names and bytes that count stay as they are.
Status SpreadDevice::discard(std::string_view name, const Range* ranges, std::size_t count) {
  std::size_t found = 0;
  return search(name, &found,
                [&](Device* device) { return device->discard(name, ranges, count); });
}

std::unique_ptr<IoQueue> SpreadDevice::make_io_queue() {
  return parts_[0]->device->make_io_queue();
}

// ---- syncs -------------------------------------------------------------------------------------

void SpreadDevice::note_change(Part* part) {
  const std::lock_guard lock(part->mutex);
  ++part->changes;
}

Status SpreadDevice::sync_part(Part* part) {
  std::uint64_t covered = 0;
  {
    const std::lock_guard lock(part->mutex);
    covered = part->changes;
    if (part->synced_changes == covered) return {};
  }
  FOEDUS_CHECK(part->device->sync_directory());
  const std::lock_guard lock(part->mutex);
  part->synced_changes = std::max(part->synced_changes, covered);
  return {};
}

Status SpreadDevice::sync_directory() {
  for (std::size_t i = 1; i < parts_.size(); ++i) FOEDUS_CHECK(sync_part(parts_[i].get()));
  return sync_part(parts_[0].get());
}

}  // namespace foedus::device
