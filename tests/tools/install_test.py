# ctest-labels: habits
"""Shows that an installed library is found by find_package and pkg-config, and that the program of
README.md, and one in C, run with it.

Installs the build at FOEDUS_BINARY_DIR into a temporary folder and builds the program as a user who
has nothing but that folder. Skipped in a build without the library.
"""

import os
import tempfile
import unittest

from user_program import BINARY, PROGRAM_IN_C, README_PRINTS, readme_program, run, write

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES CXX)
find_package(foedus REQUIRED)
add_executable(user main.cc)
target_link_libraries(user PRIVATE foedus::foedus)
"""


@unittest.skipUnless(os.path.exists(os.path.join(BINARY, "lib", "libfoedus.a")), "no libfoedus.a")
class InstallTest(unittest.TestCase):

    def test_a_user_can_build_with_the_installed_library(self):
        with tempfile.TemporaryDirectory() as root:
            prefix, user = os.path.join(root, "prefix"), os.path.join(root, "user")
            write(user, "CMakeLists.txt", CMAKE)
            write(user, "main.cc", readme_program())
            run("cmake", "--install", BINARY, "--prefix", prefix)

            for name in ("LICENSE", "README.md"):
                path = os.path.join(prefix, "share", "doc", "foedus", name)
                self.assertTrue(os.path.exists(path), path)

            build = os.path.join(user, "build")
            run("cmake", "-S", user, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
            run("cmake", "--build", build)
            self.check_output(run(os.path.join(build, "user"), os.path.join(root, "bank1")))
            self.check_output(run(os.path.join(build, "user"), folder=root))  # without argument

            flags = run("pkg-config", "--cflags", "--libs", "foedus",
                        PKG_CONFIG_PATH=os.path.join(prefix, "lib", "pkgconfig")).split()
            program = os.path.join(user, "by_pkg_config")
            run("c++", "-std=c++20", os.path.join(user, "main.cc"), *flags, "-o", program)
            self.check_output(run(program, os.path.join(root, "bank2")))
            self.assertEqual("libisal" in run("ldd", program), "-lisal" in " ".join(flags))

            # By hand, without ISA-L: its checksums are those of a program that has it.
            without = [flag for flag in flags if "-lisal" not in flag]
            program = os.path.join(user, "by_hand")
            run("c++", "-std=c++20", os.path.join(user, "main.cc"), *without, "-o", program)
            self.check_output(run(program, os.path.join(root, "bank3")))
            self.assertNotIn("libisal", run("ldd", program))
            tool = os.path.join(prefix, "bin", "foedus")
            if os.path.exists(tool):
                for name in ("man/man1/foedus.1", "bash-completion/completions/foedus"):
                    self.assertTrue(os.path.exists(os.path.join(prefix, "share", name)), name)
                run(tool, "verify", "--dir", os.path.join(root, "bank3"))

            self.check_program_in_c(prefix, user, root)

    def check_program_in_c(self, prefix, user, root):
        libraries = os.path.join(prefix, "lib")
        if not os.path.exists(os.path.join(libraries, "libfoedus.so")):
            return
        flags = run("pkg-config", "--cflags", "--libs", "foedus_c",
                    PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig")).split()
        program = os.path.join(user, "in_c")
        run("cc", "-std=c11", PROGRAM_IN_C, *flags, "-o", program)
        run(program, os.path.join(root, "bank_c"), LD_LIBRARY_PATH=libraries)

    def check_output(self, output):
        self.assertEqual(output, README_PRINTS)


if __name__ == "__main__":
    unittest.main()
