#pragma once
// FOEDUS_PROBE(name, arguments…): a static probe (USDT) of the provider "foedus", for tracers:
// bpftrace, perf, SystemTap. It is one nop, and a note in the object file that says where the nop
// and its arguments are; a tracer that attaches replaces the nop by a trap. Arguments are integers
// or pointers that the function has at hand, since they are computed whether or not a tracer looks.
//
// Without <sys/sdt.h> (systemtap-sdt-dev) there are no probes, and arguments are not computed.
// foedus-core/engine/README.md has all probes, with an example for each.

#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define FOEDUS_PROBE(name, ...) STAP_PROBEV(foedus, name __VA_OPT__(, ) __VA_ARGS__)
#else
#define FOEDUS_PROBE(name, ...) static_cast<void>(0)
#endif
