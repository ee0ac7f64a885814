#include "tests/isolation/checker/graph.h"

#include <algorithm>
#include <array>

#include "tests/isolation/checker/state.h"

namespace foedus::isolation {

namespace {

constexpr unsigned bit(EdgeKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr unsigned kDependencies =
    bit(EdgeKind::kNeutral) | bit(EdgeKind::kWw) | bit(EdgeKind::kWr);

// A class of cycles: edges of `through` and exactly (`once`) or at least one of `needed`.
struct CycleClass {
  std::string_view name;
  unsigned through;
  unsigned needed;
};
constexpr std::array<CycleClass, 6> kClasses{{
    {"G0", bit(EdgeKind::kNeutral) | bit(EdgeKind::kWw), bit(EdgeKind::kWw)},
    {"G1c", kDependencies, bit(EdgeKind::kWr)},
    {"G-single", kDependencies, bit(EdgeKind::kRw)},
    {"G-single", kDependencies, bit(EdgeKind::kRwPredicate)},
    {"G2-item", kDependencies | bit(EdgeKind::kRw), bit(EdgeKind::kRw)},
    {"G2", kDependencies | bit(EdgeKind::kRw) | bit(EdgeKind::kRwPredicate),
     bit(EdgeKind::kRwPredicate)},
}};

// Searches one component.
class CycleSearch {
 public:
  CycleSearch(const std::vector<Edge>& edges, const std::vector<std::uint32_t>& first,
              const std::vector<std::uint32_t>& nodes, std::vector<std::uint32_t>* place)
      : edges_(edges), first_(first), nodes_(nodes), place_(*place) {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) place_[nodes_[i]] = i;
    reached_by_.resize(nodes_.size());
    turn_of_.resize(nodes_.size());
  }
  ~CycleSearch() {
    for (const std::uint32_t node : nodes_) place_[node] = kNone;
  }

  Cycle find() {
    const std::array<std::pair<unsigned, std::string_view>, 3> extras{{
        {0, ""},
        {bit(EdgeKind::kRealTime), "-realtime"},
        {bit(EdgeKind::kRealTime) | bit(EdgeKind::kEpoch), "-epoch"},
    }};
    for (const auto& [extra, suffix] : extras) {
      for (const CycleClass& wanted : kClasses) {
        Cycle cycle = shortest(wanted.through | extra, wanted.needed);
        if (cycle.edges.empty()) continue;
        cycle.name = std::string(wanted.name) + std::string(suffix);
        return cycle;
      }
      Cycle cycle = shortest(bit(EdgeKind::kNeutral) | extra, extra);
      if (cycle.edges.empty()) continue;
      cycle.name = "order" + std::string(suffix);
      return cycle;
    }
    return {"cycle", {}};
  }

 private:
  static constexpr std::size_t kStartsMax = 2'000;

  // Returns the shortest cycle of a needed edge and a path back through the others.
  Cycle shortest(unsigned through, unsigned needed) {
    Cycle best;
    std::size_t starts = 0;
    for (const std::uint32_t node : nodes_) {
      for (std::uint32_t e = first_[node]; e < first_[node + 1]; ++e) {
        const Edge& edge = edges_[e];
        if ((bit(edge.kind) & needed) == 0 || place_[edge.to] == kNone) continue;
        if (++starts > kStartsMax) return best;
        way_back(e, through, &best);
        if (best.edges.size() == 2) return best;
      }
    }
    return best;
  }

  // Searches breadth first from the edge's end to its beginning.
  void way_back(std::uint32_t start, unsigned through, Cycle* best) {
    ++turn_;
    queue_.clear();
    const std::uint32_t goal = edges_[start].from;
    reach(edges_[start].to, start);
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const std::uint32_t node = queue_[at];
      if (node == goal) return take_cycle(start, best);
      for (std::uint32_t e = first_[node]; e < first_[node + 1]; ++e) {
        if ((bit(edges_[e].kind) & through) == 0 || place_[edges_[e].to] == kNone) continue;
        if (turn_of_[place_[edges_[e].to]] != turn_) reach(edges_[e].to, e);
      }
    }
  }
  void reach(std::uint32_t node, std::uint32_t by) {
    turn_of_[place_[node]] = turn_;
    reached_by_[place_[node]] = by;
    queue_.push_back(node);
  }
  void take_cycle(std::uint32_t start, Cycle* best) {
    std::vector<Edge> found;
    std::uint32_t by = reached_by_[place_[edges_[start].from]];
    while (by != start) {
      found.push_back(edges_[by]);
      by = reached_by_[place_[edges_[by].from]];
    }
    found.push_back(edges_[start]);
    std::reverse(found.begin(), found.end());
    if (best->edges.empty() || found.size() < best->edges.size()) best->edges = std::move(found);
  }

  const std::vector<Edge>& edges_;
  const std::vector<std::uint32_t>& first_;
  const std::vector<std::uint32_t>& nodes_;
  std::vector<std::uint32_t>& place_;  // of a node in nodes_
  std::vector<std::uint32_t> reached_by_;
  std::vector<std::uint32_t> turn_of_;
  std::uint32_t turn_ = 0;
  std::vector<std::uint32_t> queue_;
};

}  // namespace

std::string_view to_string(EdgeKind kind) {
  constexpr std::string_view kNames[] = {"-",         "ww",   "wr", "rw", "rw (predicate)",
                                         "real time", "epoch"};
  return kNames[static_cast<std::size_t>(kind)];
}

void Graph::sort_edges() {
  first_.assign(nodes_ + 1, 0);
  for (const Edge& edge : edges_) ++first_[edge.from + 1];
  for (std::uint32_t node = 0; node < nodes_; ++node) first_[node + 1] += first_[node];
  std::vector<Edge> sorted(edges_.size());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (const Edge& edge : edges_) sorted[next[edge.from]++] = edge;
  edges_ = std::move(sorted);
}

std::vector<std::vector<std::uint32_t>> Graph::components() const {
  std::vector<std::vector<std::uint32_t>> found;
  std::vector<std::uint32_t> number(nodes_, kNone);
  std::vector<std::uint32_t> low(nodes_, 0);
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  std::vector<bool> is_open(nodes_, false);
  std::vector<std::uint32_t> open;
  std::vector<std::uint32_t> path;
  std::uint32_t numbers = 0;
  const auto enter = [&](std::uint32_t node) {
    number[node] = low[node] = numbers++;
    is_open[node] = true;
    open.push_back(node);
    path.push_back(node);
  };
  for (std::uint32_t root = 0; root < nodes_; ++root) {
    if (number[root] != kNone) continue;
    enter(root);
    while (!path.empty()) {
      const std::uint32_t node = path.back();
      if (at[node] != first_[node + 1]) {
        const std::uint32_t to = edges_[at[node]++].to;
        if (number[to] == kNone) {
          enter(to);
        } else if (is_open[to]) {
          low[node] = std::min(low[node], number[to]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[node]);
      if (low[node] != number[node]) continue;
      const auto begin = std::find(open.rbegin(), open.rend(), node).base() - 1;
      for (auto member = begin; member != open.end(); ++member) is_open[*member] = false;
      if (open.end() - begin > 1) found.emplace_back(begin, open.end());
      open.erase(begin, open.end());
    }
  }
  return found;
}

std::vector<Cycle> Graph::cycles(std::size_t most) {
  sort_edges();
  std::vector<Cycle> found;
  std::vector<std::uint32_t> place;
  for (const std::vector<std::uint32_t>& component : components()) {
    if (found.size() == most) break;
    place.resize(nodes_, kNone);
    found.push_back(CycleSearch(edges_, first_, component, &place).find());
  }
  return found;
}

}  // namespace foedus::isolation
