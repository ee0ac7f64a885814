// Functions of FailingDevice: those by which tests inspect it and change it without the engine, and
// what it does with another device.
#include <algorithm>
#include <cerrno>

#include "foedus-core/device/io_queue.h"
#include "tests/testing/failing_device.h"

namespace foedus::testing {

std::uint64_t FailingDevice::changing_calls() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kCallKinds; ++i) {
    if (is_changing(static_cast<Call>(i))) sum += calls_[i];
  }
  return sum;
}

std::vector<std::string> FailingDevice::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& entry : names_) names.push_back(entry.first);
  return names;
}

bool FailingDevice::was_announced(const std::string& name, std::uint64_t offset) const {
  const std::lock_guard lock(mutex_);
  return announced_.contains({name, offset});
}

Status FailingDevice::link(std::string_view name, device::Device* other) {
  auto* const to = dynamic_cast<FailingDevice*>(other);
  if (to == nullptr) return Device::link(name, other);
  const std::string key(name);
  const std::string text = "cannot link " + path_ + "/" + key;
  to->observe({Call::kLink, key});
  const std::scoped_lock lock(mutex_, to->mutex_);
  if (const int error = to->count_locked(Call::kLink)) {
    return Status::system_error(ErrorCode::kIoError, text, error);
  }
  const auto found = names_.find(key);
  if (found == names_.end()) return Status::system_error(ErrorCode::kNotFound, text, ENOENT);
  auto content = std::make_shared<Content>(*found->second);
  content->open.reset();
  if (to->names_.emplace(key, std::move(content)).second) return {};
  return Status::system_error(ErrorCode::kAlreadyExists, text, EEXIST);
}

std::unique_ptr<device::IoQueue> FailingDevice::make_io_queue() {
  return refuses_queues_ ? nullptr : Device::make_io_queue();
}

bool FailingDevice::exists(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return names_.contains(name);
}

std::vector<char> FailingDevice::bytes_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return names_.at(name)->visible.bytes();
}

std::uint64_t FailingDevice::size_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return names_.at(name)->visible.size();
}

std::unique_ptr<FailingDevice> FailingDevice::copy() const {
  const std::lock_guard lock(mutex_);
  auto other = std::make_unique<FailingDevice>(path_);
  std::map<Content*, std::shared_ptr<Content>> copies;
  const auto copy_names = [&](const Names& from, Names* to) {
    for (const auto& [name, content] : from) {
      auto& copied = copies[content.get()];
      if (copied == nullptr) copied = std::make_shared<Content>(*content);
      copied->open.reset();
      to->emplace(name, copied);
    }
  };
  copy_names(names_, &other->names_);
  copy_names(synced_names_, &other->synced_names_);
  return other;
}

std::unique_ptr<FailingDevice> FailingDevice::synced_copy() const {
  auto other = copy();
  other->crash_power(kDropAll);
  return other;
}

void FailingDevice::begin_write(const CallSeen& call, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(call.name);
  if (found == names_.end() || bytes == 0) return;  // it was removed while it was open
  found->second->write_unsynced(call.offset, call.bytes->data(), bytes);
}

std::uint64_t FailingDevice::digest() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  const auto mix = [&sum](std::uint64_t value) { sum = (sum ^ value) * 0x2545f4914f6cdd1du + 1; };
  for (const Names* names : {&names_, &synced_names_}) {
    mix(names->size());
    for (const auto& [name, content] : *names) {
      for (const char c : name) mix(static_cast<unsigned char>(c));
      mix(content->visible.digest());
      mix(content->synced.digest());
    }
  }
  return sum;
}

void FailingDevice::flip_bit(const std::string& name, std::uint64_t offset, unsigned bit) {
  const std::lock_guard lock(mutex_);
  Content& content = *names_.at(name);
  for (DiskImage* image : {&content.visible, &content.synced}) {
    if (offset >= image->size()) continue;
    char byte;
    image->read(offset, &byte, 1);
    byte = static_cast<char>(byte ^ (1 << bit));
    image->write(offset, &byte, 1);
  }
}

void FailingDevice::overwrite(const std::string& name, std::uint64_t offset,
                              const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  Content& content = *names_.at(name);
  content.visible.write(offset, bytes.data(), bytes.size());
  content.synced.write(offset, bytes.data(), bytes.size());
}

void FailingDevice::set_size(const std::string& name, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  names_.at(name)->visible.resize(bytes);
  names_.at(name)->synced.resize(bytes);
  names_.at(name)->unsynced.clear();
  names_.at(name)->given_up.clear();
  names_.at(name)->size_given_up = Content::kNoSize;
}

void FailingDevice::drop_file(const std::string& name) {
  const std::lock_guard lock(mutex_);
  names_.erase(name);
  synced_names_.erase(name);
}

}  // namespace foedus::testing
