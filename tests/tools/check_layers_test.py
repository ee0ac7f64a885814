# ctest-labels: habits
"""Shows that tools/check_layers.py accepts the real rules' good cases and finds each violation."""

import unittest

from small_tree import CheckTest


class CheckLayersTest(CheckTest):

    TOOL = "check_layers.py"

    def test_an_include_that_points_down_is_accepted(self):
        self.assert_accepted({
            "foedus-core/include/foedus/status.h": "#pragma once\n",
            "foedus-core/base/invariant.h": "#pragma once\n#include <cstdint>\n",
            "foedus-core/page/tid.h": "#pragma once\n",
            "foedus-core/log/logger.cc":
                '#include "foedus-core/base/invariant.h"\n#include "foedus-core/page/tid.h"\n'
                '#include "foedus/status.h"\n',
        })

    def test_an_include_that_points_up_is_found(self):
        self.assert_found({
            "foedus-core/txn/commit.h": "#pragma once\n",
            "foedus-core/storage/hash/storage.cc": '\n#include "foedus-core/txn/commit.h"\n',
        }, "foedus-core/storage/hash/storage.cc:2: may not include foedus-core/txn/commit.h")

    def test_a_header_of_a_lower_layer_that_is_not_named_is_found(self):
        self.assert_found({
            "foedus-core/page/page_pool.h": "#pragma once\n",
            "foedus-core/log/logger.cc": '#include "foedus-core/page/page_pool.h"\n',
        }, "may not include foedus-core/page/page_pool.h")

    def test_a_sibling_storage_is_found(self):
        self.assert_found({
            "foedus-core/storage/array/array_page.h": "#pragma once\n",
            "foedus-core/storage/hash/layout/page.h":
                '#include "foedus-core/storage/array/array_page.h"\n',
        }, "may not include foedus-core/storage/array/array_page.h")

    def test_a_gleaner_stage_sees_layouts_but_no_storage_code(self):
        page = "foedus-core/storage/array/array_page.h"
        code = "foedus-core/storage/array/array_storage.h"
        self.assert_accepted({page: "", "gleaner/compose/a.cc": f'#include "{page}"\n'})
        self.assert_found({code: "", "gleaner/compose/a.cc": f'#include "{code}"\n'}, code)

    def test_an_experiment_that_looks_inside_the_core_is_found(self):
        self.assert_found({
            "foedus-core/page/tid.h": "",
            "experiments/tpcc/main.cc": '#include "foedus-core/page/tid.h"\n',
        }, "may not include foedus-core/page/tid.h")

    def test_an_include_that_is_not_spelled_from_the_root_is_found(self):
        self.assert_found({
            "foedus-core/base/system/clock.h": "",
            "foedus-core/base/system/clock.cc": '#include "clock.h"\n',
        }, "not spelled from the repository root")

    def test_a_system_header_outside_its_layer_is_found(self):
        self.assert_accepted({"foedus-core/numa/topology.cc": "#include <numa.h>\n"})
        self.assert_found({"foedus-core/page/page_pool.cc": "#include <numa.h>\n"}, "<numa.h>")

    def test_threads_time_and_chance_are_found_outside_their_place(self):
        for code in ("std::thread t;", "usleep(1);", "std::this_thread::yield();",
                     "auto n = std::chrono::steady_clock::now();", "clock_gettime(0, &t);",
                     "__rdtsc();", "int r = rand();", "std::random_device d;", "std::mt19937 g;"):
            self.assert_found({"foedus-core/log/logger.cc": f"void f() {{\n  {code}\n}}\n"},
                              "foedus-core/log/logger.cc:2: names")
            self.assert_accepted(
                {"foedus-core/base/system/clock.cc": f"void f() {{\n  {code}\n}}\n"})

    def test_file_system_calls_are_found_outside_device(self):
        for code in ("int fd = ::open(path, 0);", "if (fsync(fd) != 0) return;", "unlink(path);",
                     "return pwrite(fd, p, n, 0);", "std::ofstream f;", "void* p = mmap(a);"):
            self.assert_found({"foedus-core/engine/engine.cc": f"void f() {{\n  {code}\n}}\n"},
                              "foedus-core/engine/engine.cc:2: names")
            self.assert_accepted(
                {"foedus-core/device/posix/file.cc": f"void f() {{\n  {code}\n}}\n"})
        self.assert_accepted({"foedus-core/numa/soc_memory.cc": "void f() { ::mmap(a); }\n"})

    def test_methods_comments_and_strings_do_not_count(self):
        self.assert_accepted({
            "foedus-core/engine/engine.cc":
                "// never sleep, never open(x)\n/* std::thread */\n"
                "Result<Database> Database::open(Options options) {\n"
                '  log("rand"); device.open(name); device->unlink(name);\n'
                "  return Engine::open(options);\n}\n",
            "foedus-core/engine/engine.h":
                "struct Engine {\n  static Result<Engine*> open(int);\n"
                "  Engine& rename(int);\n};\n",
        })


if __name__ == "__main__":
    unittest.main()
