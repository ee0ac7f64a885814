# ctest-labels: habits
# ctest-timeout: 240
"""Shows that foedus can be a part of another project, by FetchContent and by add_subdirectory: its
libraries are there by the names that find_package gives them, and nothing else of it is built, nor
checked with its flags. The projects are configured and generated, not built.
"""

import os
import tempfile
import unittest

from user_program import SOURCE, readme_block, run, write

FETCHED = f"""include(FetchContent)
FetchContent_Declare(foedus SOURCE_DIR "{SOURCE}")
FetchContent_MakeAvailable(foedus)
"""
ADDED = f"""add_subdirectory("{SOURCE}" foedus EXCLUDE_FROM_ALL)
"""
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C CXX)
{part}
foreach(name foedus::foedus foedus::foedus_shared)
  if(NOT TARGET ${{name}})
    message(FATAL_ERROR "no ${{name}}")
  endif()
endforeach()
add_executable(user main.cc)
target_link_libraries(user PRIVATE foedus::foedus)
add_executable(user_in_c main.c)
target_link_libraries(user_in_c PRIVATE foedus::foedus_shared)
"""


class SubprojectTest(unittest.TestCase):

    def check(self, part):
        with tempfile.TemporaryDirectory() as root:
            write(root, "CMakeLists.txt", PROJECT.format(part=part))
            write(root, "main.cc", "#include <foedus/foedus.h>\nint main() {}\n")
            write(root, "main.c", "#include <foedus/foedus_c.h>\nint main(void) { return 0; }\n")
            build = os.path.join(root, "build")
            run("cmake", "-S", root, "-B", build, "-G", "Ninja")
            lines = run("ninja", "-C", build, "-t", "targets", "all").splitlines()
            built = {line.split(":")[0] for line in lines if "_LINKER__" in line}
            self.assertIn("user", {os.path.basename(name) for name in built})
            self.assertEqual(
                {os.path.basename(name).split(".so")[0] for name in built},
                {"user", "user_in_c", "libfoedus.a", "libfoedus"})
            commands = run("ninja", "-C", build, "-t", "commands", "user")
            self.assertIn("foedus-core/include", commands)
            self.assertNotIn("-Wshadow", commands)

    def test_the_lines_of_the_readme_make_the_program_of_a_project(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "third_party"))
            os.symlink(os.path.abspath(SOURCE), os.path.join(root, "third_party", "foedus"))
            write(root, "CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\n"
                  "project(app LANGUAGES CXX)\nadd_executable(app main.cc)\n"
                  + readme_block("cmake"))
            write(root, "main.cc", "int main() {}\n")
            build = os.path.join(root, "build")
            run("cmake", "-S", root, "-B", build, "-G", "Ninja")
            commands = run("ninja", "-C", build, "-t", "commands", "app")
            self.assertIn("libfoedus.a", commands)
            self.assertIn("foedus-core/include", commands)

    def test_fetch_content_makes_the_libraries(self):
        self.check(FETCHED)

    def test_add_subdirectory_makes_the_libraries(self):
        self.check(ADDED)


if __name__ == "__main__":
    unittest.main()
