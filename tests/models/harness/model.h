#pragma once
// Runs a protocol's scenarios under Relacy: unchanged, which must never fail; then once for each
// site and each weaker order, which must fail in one of them.
//
//   X6  The unchanged code is searched in all interleavings (exhaustive), or in all with at most
//       `bound` switches away from a thread that could go on. Both also choose the value that a
//       load sees: the newest one or the one before.
//   X7  Random executions follow if the search reports nothing; there, loads see up to two values
//       back.
//   X8  A weakened site without a report must be in the protocol's list, with the reason. A listed
//       one that is reported is an error, too, and so is one that no scenario reaches. Listed sites
//       are only searched at random unless --thorough is given, because their searches run to the
//       end.
//   X9  A site that no model weakens has its reason in sites.aside; sites_test.py asks each model
//       for its sites, which random executions of each scenario find.

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "tests/models/harness/words.h"

namespace model {

// The base of a scenario: test_suite of Relacy, with the words of one execution.
template <typename Scenario, rl::thread_id_t kThreads>
struct Suite : rl::test_suite<Scenario, kThreads> {
  static constexpr int kThreadCount = kThreads;

  Suite() { Words::all().begin<kThreads>(); }
  ~Suite() { Words::all().end(); }
};

// A plain variable. Accesses of two threads without an order between them are reported.
template <typename T>
class Plain {
 public:
  explicit Plain(T value = T{}) : value_(value) {}
  T get() const { return value_(MODEL_HERE); }
  void set(T value) { value_(MODEL_HERE) = value; }

 private:
  rl::var<T> value_;
};

inline void require(bool condition, const char* what) {
  if (!condition) rl::ctx().fail_test(what, rl::test_result_user_assert_failed, MODEL_HERE);
}

inline constexpr unsigned kExhaustive = 0;  // as a bound: no limit

struct Outcome {
  rl::test_result_e result = rl::test_result_success;
  unsigned long executions = 0;

  bool has_failed() const { return result != rl::test_result_success; }
};

struct Scenario {
  const char* name;
  int threads;
  unsigned bound;
  Outcome (*run)(unsigned long random_executions, bool shows_history);
  std::vector<bool> passes = {};  // the sites that it reaches, by number
};

namespace internal {

template <typename Test, typename Scheduler>
Outcome run_with(rl::test_params* params, bool shows_history) {
  std::ostringstream unused;
  params->output_stream = shows_history ? &std::cout : &unused;
  params->progress_stream = &unused;
  rl::ostringstream state;
  const rl::test_result_e result = rl::run_test<Test, Scheduler>(*params, state, false);
  const Outcome outcome{result, static_cast<unsigned long>(params->stop_iteration)};
  if (shows_history && outcome.has_failed()) {
    params->initial_state = state.str();
    params->collect_history = true;
    params->output_history = false;
    rl::ostringstream ignored;
    rl::run_test<Test, Scheduler>(*params, ignored, true);
  }
  return outcome;
}

// Each of Relacy's schedulers that a test is compiled with takes a compiler a second.
template <typename Test, unsigned kBound>
Outcome run(unsigned long random_executions, bool shows_history) {
  constexpr rl::thread_id_t kThreads = Test::kThreadCount;
  rl::test_params params;
  params.execution_depth_limit = 4000;
  if (random_executions != 0) {
    params.search_type = rl::sched_random;
    params.iteration_count = random_executions;
    return run_with<Test, rl::random_scheduler<kThreads>>(&params, shows_history);
  }
  if constexpr (kBound == kExhaustive) {
    params.search_type = rl::sched_full;
    return run_with<Test, rl::full_search_scheduler<kThreads>>(&params, shows_history);
  } else {
    params.search_type = rl::sched_bound;
    params.context_bound = kBound;
    return run_with<Test, rl::context_bound_scheduler<kThreads>>(&params, shows_history);
  }
}

}  // namespace internal

template <typename Test, unsigned kBound>
Scenario scenario(const char* name) {
  return {name, Test::kThreadCount, kBound, &internal::run<Test, kBound>};
}

// X8: a site as Sites::name_of() names it, and the order without a report.
struct Kept {
  const char* site;
  rl::memory_order order;
  const char* why;
};

struct Protocol {
  const char* name;
  std::vector<Scenario> scenarios;
  std::vector<Kept> kept;
  std::vector<std::string> others = {};  // files whose sites another model weakens
  unsigned long random_executions = 5'000;

  // Runs the checks. Arguments: none; "--thorough" (X8); "--weaken <number> <order>", which shows
  // an execution that fails; or "--sites", which names the sites that the model weakens (X9).
  int check(int argc, char** argv);

 private:
  bool run_as_it_is();
  const Kept* find_kept(int index, rl::memory_order order) const;
  // Returns the scenario that reported it, or an empty string.
  std::string find_report(int index, bool is_thorough) const;
  bool check_weakened(int index, rl::memory_order order, bool is_thorough);
  // Counts and names entries of the lists that are of no site.
  std::size_t count_stale() const;
  int show(int index, rl::memory_order order) const;
  bool is_own(int index) const;
  int name_sites() const;
};

inline bool Protocol::run_as_it_is() {
  for (Scenario& one : scenarios) {
    Sites::all().forget_passed();
    const Outcome outcome = one.run(0, true);
    one.passes = Sites::all().passed();
    const std::string how =
        one.bound == kExhaustive ? "exhaustive" : "bound " + std::to_string(one.bound);
    std::printf("%s: %d threads, %lu executions, %s: %s\n", one.name, one.threads,
                outcome.executions, how.c_str(), rl::test_result_str(outcome.result));
    std::fflush(stdout);
    if (outcome.has_failed()) return false;
  }
  return true;
}

inline const Kept* Protocol::find_kept(int index, rl::memory_order order) const {
  const std::string site = Sites::all().name_of(index);
  for (const Kept& one : kept) {
    if (site == one.site && order == one.order) return &one;
  }
  return nullptr;
}

inline std::string Protocol::find_report(int index, bool is_thorough) const {
  for (const bool is_random : {false, true}) {
    if (!is_random && !is_thorough) continue;
    for (const Scenario& one : scenarios) {
      if (!one.passes[static_cast<std::size_t>(index)]) continue;
      const Outcome outcome = one.run(is_random ? random_executions : 0, false);
      if (!outcome.has_failed()) continue;
      return std::string(one.name) + (is_random ? ", at random" : "") + ": " +
             rl::test_result_str(outcome.result);
    }
  }
  return "";
}

inline bool Protocol::check_weakened(int index, rl::memory_order order, bool is_thorough) {
  const bool is_kept = find_kept(index, order) != nullptr;
  Sites::all().weaken(index, order);
  const std::string report = find_report(index, is_thorough || !is_kept);
  Sites::all().restore();
  const bool is_good = report.empty() == is_kept;
  std::printf("%s %3d line %d, %s -> %s: %s\n", is_good ? "  " : "!!", index,
              Sites::all().at(index).site.line, Sites::all().name_of(index).c_str(),
              rl::format(order), report.empty() ? "nothing" : report.c_str());
  std::fflush(stdout);
  return is_good;
}

inline std::size_t Protocol::count_stale() const {
  std::size_t stale = 0;
  const auto look = [&](const std::string& entry, const auto& is_of) {
    for (int i = 0; i < Sites::all().count(); ++i) {
      if (is_of(i)) return;
    }
    std::printf("!! listed, but no site is such: %s\n", entry.c_str());
    ++stale;
  };
  const auto file_of = [](int index) { return Sites::file_name(Sites::all().at(index).site.file); };
  for (const Kept& one : kept) {
    look(std::string(one.site) + " -> " + rl::format(one.order), [&](int index) {
      const Sites::Known& known = Sites::all().at(index);
      const auto weaker = weaker_than(known.order, known.kind);
      return is_own(index) && find_kept(index, one.order) == &one &&
             std::find(weaker.begin(), weaker.end(), one.order) != weaker.end();
    });
  }
  for (const std::string& one : others) {
    look(one, [&](int index) { return file_of(index) == one; });
  }
  return stale;
}

inline int Protocol::show(int index, rl::memory_order order) const {
  Sites::all().weaken(index, order);
  for (const Scenario& one : scenarios) {
    if (one.run(0, true).has_failed()) return 0;
  }
  return 1;
}

inline bool Protocol::is_own(int index) const {
  const std::string file = Sites::file_name(Sites::all().at(index).site.file);
  return std::find(others.begin(), others.end(), file) == others.end();
}

inline int Protocol::name_sites() const {
  for (const Scenario& one : scenarios) {
    if (one.run(random_executions, false).has_failed()) return 1;
  }
  for (int i = 0; i < Sites::all().count(); ++i) {
    const Sites::Known& known = Sites::all().at(i);
    if (known.order == rl::mo_relaxed || !is_own(i)) continue;
    std::printf("%s:%d %s\n", known.site.file, known.site.line, known.site.access);
  }
  return 0;
}

inline int Protocol::check(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--sites") return name_sites();
  if (!run_as_it_is()) return 1;
  if (argc == 4 && std::string(argv[1]) == "--weaken") {
    const std::string wanted = argv[3];
    for (const rl::memory_order order :
         {rl::mo_relaxed, rl::mo_acquire, rl::mo_release, rl::mo_acq_rel}) {
      if (wanted == rl::format(order)) return show(std::atoi(argv[2]), order);
    }
    return 1;
  }
  const bool is_thorough = argc == 2 && std::string(argv[1]) == "--thorough";
  std::size_t tried = 0;
  std::size_t bad = 0;
  for (int i = 0; i < Sites::all().count(); ++i) {
    const Sites::Known& known = Sites::all().at(i);
    if (!is_own(i)) continue;
    for (const rl::memory_order order : weaker_than(known.order, known.kind)) {
      ++tried;
      if (!check_weakened(i, order, is_thorough)) ++bad;
    }
  }
  bad += count_stale();
  std::printf("%s: %zu weakened orders, %zu of them listed as not needed here: %s\n", name, tried,
              kept.size(), bad == 0 ? "good" : "BAD");
  return bad == 0 ? 0 : 1;
}

}  // namespace model
