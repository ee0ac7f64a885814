// Objects that are made once and then found by a word: quoted lines of snapshot/snapshot_reader.cc,
// which publishes open files in a list, and flags for the end of a task.
#include "foedus-core/base/atomic_word.h"
#include "tests/models/harness/threads.h"

namespace {

using namespace foedus;

// SnapshotFiles: an entry of a bucket, and the file of an entry.
struct OpenFile {
  model::Plain<int> snapshot{0};
  model::Plain<OpenFile*> next{nullptr};
  base::AtomicWord<int*> file;
};

// One thread opens files of two snapshots of one bucket, and a file again in an existing entry; the
// other searches the older one without the lock.
struct Files : model::Suite<Files, 2> {
  base::AtomicWord<OpenFile*> bucket;
  OpenFile entries[2];
  model::Mutex mutex;
  model::Plain<int> contents{0};
  int opened = 0;

  void open(int number, bool has_file) {
    const std::lock_guard lock(mutex);
    OpenFile* const entry = &entries[number];
    entry->snapshot.set(number + 1);
    if (has_file) open_again(entry);
    // from foedus-core/snapshot/snapshot_reader.cc:
    //     entry->next = bucket.load_relaxed();
    //     bucket.store_release(entry);
    entry->next.set(bucket.load_relaxed());
    bucket.store_release(entry);
  }
  void open_again(OpenFile* entry) {
    contents.set(1);
    // from foedus-core/snapshot/snapshot_reader.cc:
    //     entry->owned = std::move(file);
    //     entry->file.store_release(entry->owned.get());
    entry->file.store_release(&opened);
  }
  void look() {
    // from foedus-core/snapshot/snapshot_reader.cc:
    //     OpenFile* entry = buckets_[bucket_of(snapshot, soc)].load_acquire();
    //     while (entry != nullptr && (entry->snapshot != snapshot || entry->soc != soc)) {
    //     entry = entry->next;
    OpenFile* entry = bucket.load_acquire();
    while (entry != nullptr && entry->snapshot.get() != 1) entry = entry->next.get();
    if (entry == nullptr) return;
    // from foedus-core/snapshot/snapshot_reader.cc:
    //     if (known != nullptr && known->file.load_acquire() != nullptr) return known;
    if (entry->file.load_acquire() == nullptr) return;
    model::require(contents.get() == 1, "the file object is complete");
  }
  void thread(unsigned index) {
    if (index == 1) return look();
    open(0, false);
    open(1, false);
    open_again(&entries[0]);
  }
};

// The flags by which recovery, mappers, reducers and composers announce their end have one form.
struct Flag : model::Suite<Flag, 2> {
  base::AtomicWord<std::uint32_t> done;
  model::Plain<int> result{0};

  void thread(unsigned index) {
    if (index == 0) {
      result.set(1);
      // from foedus-core/engine/setup/open_state.cc:
      //     over_.store_release(1);
      // from gleaner/map/mapper.cc:
      //     is_done_.store_release(1);
      // from gleaner/reduce/reducer.cc:
      //     is_done_.store_release(1);
      // from gleaner/compose/partition_composer.cc:
      //     done_.store_release(1);
      done.store_release(1);
      return;
    }
    // from foedus-core/engine/setup/open_state.h:
    //     return over_.load_acquire() != 0;
    // from gleaner/map/mapper.h:
    //     bool is_done() const { return is_done_.load_acquire() != 0; }
    // from gleaner/reduce/reducer.h:
    //     bool is_done() const { return is_done_.load_acquire() != 0; }
    // from gleaner/compose/partition_composer.h:
    //     bool is_done() const { return done_.load_acquire() != 0; }
    if (done.load_acquire() != 0) model::require(result.get() == 1, "how it ended is there");
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{"publications",
                           {model::scenario<Flag, model::kExhaustive>("a flag"),
                            model::scenario<Files, model::kExhaustive>("open files")},
                           {}};
  return protocol.check(argc, argv);
}
