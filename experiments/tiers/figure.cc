#include "experiments/tiers/figure.h"

#include <algorithm>
#include <cstdio>

namespace experiments::tiers {

const std::vector<Figure>& all_figures() {
  static const std::vector<Figure> figures = {
      {"8",
       "three tiers have nearly the speed of main memory while the data fits DRAM, are faster than "
       "all others while it fits NVM, and several times faster than an SSD cache beyond",
       draw_data_size},
      {"9",
       "TPC-C is fastest in main memory; it loses less than reads of single rows do where the data "
       "outgrows DRAM, three tiers are faster there than all others, and nearly three times as "
       "fast as an SSD cache where it outgrows NVM",
       draw_warehouses},
      {"10",
       "loading lines in place of pages makes lookups faster and loads 55 times fewer lines; mini "
       "pages halve that again",
       draw_drill_down},
      {"11",
       "evenly read, a cache is faster than a hybrid of DRAM and NVM only while DRAM holds all "
       "pages; by Zipf's law it is a third faster with half of them, and hardly slower with a "
       "tenth",
       draw_hybrid},
      {"12",
       "NVM-direct is a little faster at 165 ns, and slower from 300 ns on; latency costs it more "
       "than a cache; loading whole pages is slower than three tiers at any",
       draw_nvm_latency},
      {"13",
       "DRAM makes no difference to NVM-direct, which three tiers outperform with a tenth of NVM "
       "as DRAM, and a cache of whole pages only with four fifths",
       draw_dram_size},
      {"14",
       "a cache of whole pages hardly slows down as data and memory grow; NVM-direct loses nearly "
       "half of its speed, and three tiers far less than that",
       draw_large_data},
      {"15",
       "updates slow all systems, a cache of whole pages to half of its speed of reads; NVM-direct "
       "and three tiers are faster than it at any share, and lose about as much as each other",
       draw_updates},
      {"16",
       "behind a buffer no line of NVM is written more than a few times, where updates in place "
       "write the hottest lines many thousand times, and fewer lines are written in all",
       draw_wear},
      {"17",
       "after a restart lookups run at once, and full speed is reached soon from NVM, a little "
       "later with mini pages, and far later from an SSD",
       draw_ramp_up},
      {"foedus8",
       "TPC-C is hardly slowed by NVM latencies up to 50 us; without the snapshot cache it is "
       "slower at any latency, and several times slower from 10 us on",
       draw_foedus_8},
      {"hyrise1",
       "a restart takes a fraction of a second whatever the size is, where replay of the log "
       "takes longer the more there is",
       draw_hyrise_1},
      {"pbnvm",
       "through a buffer on NVM in partitions threads evict at least twice as many pages to an SSD "
       "of 1 ms as through one that they share, and at least 1.5 times fewer bytes are written to "
       "it than through a double-write buffer",
       draw_pb_nvm},
  };
  return figures;
}

void print_point(const char* figure, const std::string& curve, const JsonObject& members) {
  JsonObject line;
  line.add("figure", figure);
  line.add("curve", curve);
  line.add("at", members);
  print_line(line);
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace experiments::tiers
