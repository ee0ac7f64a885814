#pragma once
// The graph of precedence and its cycles. Nodes are transactions, and points that stand for many
// edges: "all that ended before now", "all of this epoch", "all values up to here".
//
//   D1  An edge into such a point, or out of it, has the kind of the edges that the point stands
//       for; other edges are kNeutral and belong to every class. No cycle consists of neutral edges
//       alone.
//   D2  The time is linear: Tarjan's strongly connected components. A short cycle is searched only
//       in a component of at least two nodes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foedus::isolation {

enum class EdgeKind : std::uint8_t {
  kNeutral,
  kWw,           // overwrites
  kWr,           // reads what it wrote
  kRw,           // its read is overwritten
  kRwPredicate,  // its miss, or its range, gains or loses a record
  kRealTime,     // ended before that one began
  kEpoch,        // of an earlier epoch
};
std::string_view to_string(EdgeKind kind);

struct Edge {
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t key;  // number of the record, or kNone
  EdgeKind kind;
};

// A cycle, with the name that Adya and Elle give: G0, G1c, G-single, G2-item, G2, with -realtime
// and -epoch if the cycle needs such an edge.
struct Cycle {
  std::string name;
  std::vector<Edge> edges;
};

class Graph {
 public:
  explicit Graph(std::uint32_t nodes) : nodes_(nodes) {}
  std::uint32_t add_node() { return nodes_++; }
  void add(std::uint32_t from, std::uint32_t to, EdgeKind kind, std::uint32_t key) {
    if (from != to) edges_.push_back({from, to, key, kind});
  }
  std::size_t edge_count() const { return edges_.size(); }
  // Returns the shortest cycle of the strictest class in each component; at most `most` of them.
  std::vector<Cycle> cycles(std::size_t most);

 private:
  void sort_edges();
  // Returns components with at least two nodes.
  std::vector<std::vector<std::uint32_t>> components() const;

  std::uint32_t nodes_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> first_;  // of a node's edges, once they are sorted
};

}  // namespace foedus::isolation
