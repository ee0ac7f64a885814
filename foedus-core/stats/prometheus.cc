// to_prometheus() of foedus/stats.h.
#include <string>

#include "foedus-core/stats/fields.h"

namespace foedus {

namespace {

using stats::Sort;

class Text {
 public:
  // Begins a metric: its samples follow. Units are part of names, and base units: microseconds
  // become seconds.
  void begin(std::string_view name, Sort sort, std::string_view help) {
    is_time_ = name.ends_with("_us");
    if (is_time_) name.remove_suffix(3);
    name_ = "foedus_";
    name_.append(name);
    if (is_time_) name_.append("_seconds");
    if (sort == Sort::kCounter) name_.append("_total");
    out_.append("# HELP ").append(name_).append(" ").append(help).append("\n");
    out_.append("# TYPE ").append(name_);
    out_.append(sort == Sort::kCounter ? " counter\n" : " gauge\n");
  }

  // Writes a histogram whole. Its metric has the name of its member, in seconds if that is of time.
  void histogram(const stats::HistogramField& field, const Histogram& of) {
    std::string_view name = field.name;
    const bool is_time = name.ends_with("_ns");
    if (is_time) name.remove_suffix(3);
    std::string metric = "foedus_";
    metric.append(name).append(is_time ? "_seconds" : "");
    out_.append("# HELP ").append(metric).append(" ").append(field.help).append("\n");
    out_.append("# TYPE ").append(metric).append(" histogram\n");
    const auto value_of = [&](std::uint64_t value) {
      return is_time ? seconds_of(value) : std::to_string(value);
    };
    const auto add_bucket = [&](const std::string& border, std::uint64_t values) {
      out_.append(metric).append("_bucket{le=\"").append(border).append("\"} ");
      out_.append(std::to_string(values)).append("\n");
    };
    std::uint64_t values = 0;
    std::size_t bucket = 0;
    for (unsigned power = field.first_power; power <= field.last_power; ++power) {
      const std::uint64_t border = std::uint64_t{1} << power;
      while (Histogram::upper_bound(bucket) <= border) values += of.buckets[bucket++];
      add_bucket(value_of(border), values);
    }
    add_bucket("+Inf", of.count);
    out_.append(metric).append("_sum ").append(value_of(of.sum)).append("\n");
    out_.append(metric).append("_count ").append(std::to_string(of.count)).append("\n");
  }

  void sample(std::uint64_t value) { end_sample(value); }
  // Writes a sample with one label, or with two.
  void sample(std::string_view label, std::string_view of, std::uint64_t value) {
    labels_.push_back('{');
    add_label(label, of);
    labels_.append("}");
    end_sample(value);
  }
  void sample(std::string_view label, std::string_view of, std::string_view second_label,
              std::string_view of_second, std::uint64_t value) {
    labels_.push_back('{');
    add_label(label, of);
    labels_.append(",");
    add_label(second_label, of_second);
    labels_.append("}");
    end_sample(value);
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string seconds_of(std::uint64_t ns) {
    const std::string fraction = std::to_string(1'000'000'000 + ns % 1'000'000'000);
    return std::to_string(ns / 1'000'000'000).append(".").append(fraction, 1);
  }

  // A value of a label is text in UTF-8: other bytes are written as \xNN, in ASCII.
  void add_label(std::string_view label, std::string_view of) {
    constexpr char kHex[] = "0123456789abcdef";
    labels_.append(label).append("=\"");
    for (const char c : of) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        labels_.append("\\").append(1, c);
      } else if (byte < 0x20 || byte >= 0x7f) {
        labels_.append("\\\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
      } else {
        labels_.append(1, c);
      }
    }
    labels_.append("\"");
  }

  void end_sample(std::uint64_t value) {
    out_.append(name_).append(labels_).append(" ");
    if (is_time_) {
      const std::string fraction = std::to_string(1'000'000 + value % 1'000'000);
      out_.append(std::to_string(value / 1'000'000)).append(".").append(fraction, 1);
    } else {
      out_.append(std::to_string(value));
    }
    out_.append("\n");
    labels_.clear();
  }

  std::string out_;
  std::string name_;
  std::string labels_;  // of the next sample; empty between samples
  bool is_time_ = false;
};

// Writes the conflicts of reasons that there are.
template <typename Sample>
void for_each_reason(const std::uint64_t (&conflicts)[kConflictReasonCount], Sample&& sample) {
  for (std::size_t i = 1; i < kConflictReasonCount; ++i) {
    const auto reason = static_cast<ConflictReason>(i);
    if (is_used(reason)) sample(to_string(reason), conflicts[i]);
  }
}

void add_storages(const Stats& of, Text* text) {
  text->begin("storage_volatile_pages", Sort::kGauge, "Volatile pages of a storage.");
  for (const StorageStats& storage : of.storages) {
    text->sample("storage", storage.name, storage.volatile_pages);
  }
  text->begin("storage_conflicts", Sort::kCounter, "Conflicts of transactions, by storage.");
  for (const StorageStats& storage : of.storages) {
    for_each_reason(storage.conflicts, [&](std::string_view reason, std::uint64_t count) {
      text->sample("storage", storage.name, "reason", reason, count);
    });
  }
}

}  // namespace

std::string to_prometheus(const Stats& of) {
  Text text;
  for (const stats::Field<Stats>& field : stats::kFields) {
    text.begin(field.name, field.sort, field.help);
    text.sample(of.*field.member);
  }
  for (const stats::HistogramField& field : stats::kHistograms) {
    text.histogram(field, of.*field.member);
  }
  text.begin("conflicts", Sort::kCounter, "Conflicts of transactions.");
  for_each_reason(of.conflicts, [&](std::string_view reason, std::uint64_t count) {
    text.sample("reason", reason, count);
  });
  text.begin("snapshot", Sort::kGauge, "Number of the newest snapshot; 0: there is none.");
  text.sample(of.snapshot);
  text.begin("epoch", Sort::kGauge, "The current epoch, and the newest durable and covered ones.");
  text.sample("state", "current", of.current_epoch.number());
  text.sample("state", "durable", of.durable_epoch.number());
  text.sample("state", "covered", of.covered_epoch.number());
  text.begin("tier_bytes", Sort::kGauge, "Bytes that snapshots take on each tier.");
  text.sample("tier", "nvm", of.tiers.nvm_bytes);
  text.sample("tier", "ssd", of.tiers.ssd_bytes);
  add_storages(of, &text);
  return text.take();
}

}  // namespace foedus
