#include "experiments/recovery/verification.h"

#include <algorithm>
#include <array>
#include <vector>

#include "experiments/common/progress.h"
#include "experiments/recovery/workload.h"

namespace experiments::recovery {

namespace {

constexpr std::uint64_t kSampleRows = 100'000;
constexpr std::uint64_t kRowsPerTxn = 100;

// Groups of neighbours, one row of each worker, evenly over the table.
class Sample {
 public:
  explicit Sample(const Shape& shape)
      : workers_(shape.workers), step_(std::max<std::uint64_t>(shape.rows / kSampleRows, 1)) {
    const std::uint64_t groups = shape.rows / workers_;
    size_ = (groups + step_ - 1) / step_ * workers_;
  }
  std::uint64_t size() const { return size_; }
  std::uint64_t row(std::uint64_t index) const {
    return index / workers_ * step_ * workers_ + index % workers_;
  }
  bool has(std::uint64_t row) const { return row / workers_ % step_ == 0; }
  std::uint64_t index(std::uint64_t row) const {
    return row / workers_ / step_ * workers_ + row % workers_;
  }

 private:
  std::uint64_t workers_;
  std::uint64_t step_;
  std::uint64_t size_ = 0;
};

// A field that was written after the victim counted.
struct Newer {
  std::uint64_t version;
  std::uint64_t row;
  std::uint64_t place;
  bool operator<(const Newer& other) const { return version < other.version; }
};

class Verification {
 public:
  Verification(const Shape& shape, const VictimReport& victim)
      : shape_(shape), victim_(victim), sample_(shape), last_(sample_.size()) {
    for (std::uint32_t worker = 0; worker < shape.workers; ++worker) {
      sequences_.emplace_back(shape, worker, Phase::kBefore);
      while (sequences_.back().count() < victim.counts[worker]) note(sequences_.back());
    }
    newer_.resize(shape.workers);
  }

  foedus::Status check_rows(FoedusBackend& backend, const FoedusTable& table) {
    FOEDUS_TRY(FoedusWorker worker, backend.new_worker());
    Progress progress("verify", sample_.size());
    std::vector<Row> rows(kRowsPerTxn);
    for (std::uint64_t begin = 0; begin < sample_.size(); begin += kRowsPerTxn) {
      const std::uint64_t end = std::min(begin + kRowsPerTxn, sample_.size());
      FOEDUS_CHECK(worker.read_only([&](FoedusTxn& txn) -> foedus::Status {
        for (std::uint64_t i = begin; i < end; ++i) {
          FOEDUS_CHECK(read_row(txn, table, sample_.row(i), rows[i - begin]));
        }
        return {};
      }));
      for (std::uint64_t i = begin; i < end; ++i) FOEDUS_CHECK(check_row(i, rows[i - begin]));
      progress.add(end - begin);
    }
    return {};
  }

  // Draws what came after the count, as far as any of it was seen.
  foedus::Status check_newer() {
    for (std::uint32_t worker = 0; worker < shape_.workers; ++worker) {
      std::sort(newer_[worker].begin(), newer_[worker].end());
      for (const Newer& newer : newer_[worker]) {
        Sequence& sequence = sequences_[worker];
        Operation operation{};
        while (sequence.count() < newer.version) operation = sequence.next();
        if (operation.is_update && operation.row == newer.row && operation.place == newer.place) {
          continue;
        }
        return wrong(newer.row, newer.place, newer.version, "no operation wrote");
      }
    }
    return {};
  }

  const Verified& verified() const { return verified_; }

 private:
  void note(Sequence& sequence) {
    const Operation operation = sequence.next();
    if (!operation.is_update || !sample_.has(operation.row)) return;
    last_[sample_.index(operation.row)][operation.place] = sequence.count();
  }

  foedus::Status check_row(std::uint64_t index, const Row& row) {
    const std::uint64_t id = sample_.row(index);
    const auto worker = static_cast<std::uint32_t>(id % shape_.workers);
    ++verified_.rows;
    if (!is_whole(row, id)) return wrong(id, 0, row.fields[0].version, "it is torn:");
    for (std::uint32_t place = 0; place < kFieldAfter; ++place) {
      const std::uint64_t version = row.fields[place].version;
      const std::uint64_t durable = last_[index][place];
      if (version < durable) return wrong(id, place, version, "a durable update is lost:");
      if (durable != 0) ++verified_.fields_updated;
      if (version == durable) continue;
      if (version <= victim_.counts[worker]) {
        return wrong(id, place, version, "no operation wrote");
      }
      ++verified_.fields_newer;
      newer_[worker].push_back({version, id, place});
    }
    return {};
  }

  static foedus::Status wrong(std::uint64_t row, std::uint64_t place, std::uint64_t version,
                              const char* what) {
    return failed(foedus::ErrorCode::kCorruption, "row %llu, field %llu: %s version %llu",
                  static_cast<unsigned long long>(row), static_cast<unsigned long long>(place),
                  what, static_cast<unsigned long long>(version));
  }

  const Shape& shape_;
  const VictimReport& victim_;
  const Sample sample_;
  std::vector<std::array<std::uint64_t, kFieldAfter>> last_;  // durable versions
  std::vector<Sequence> sequences_;                           // behind what was counted
  std::vector<std::vector<Newer>> newer_;                     // by worker
  Verified verified_;
};

}  // namespace

foedus::Result<Verified> verify(FoedusBackend& backend, const FoedusTable& table,
                                const Shape& shape, const VictimReport& victim) {
  Verification verification(shape, victim);
  FOEDUS_CHECK(verification.check_rows(backend, table));
  FOEDUS_CHECK(verification.check_newer());
  return verification.verified();
}

}  // namespace experiments::recovery
