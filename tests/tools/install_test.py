# ctest-labels: habits
"""Shows that an installed library is found by find_package and pkg-config, and that the program of
README.md, and one in C, run with it.

Installs the build at FOEDUS_BINARY_DIR into a temporary folder and builds the program as a user who
has nothing but that folder. Skipped in a build without the library.
"""

import os
import subprocess
import tempfile
import unittest

BINARY = os.environ.get("FOEDUS_BINARY_DIR", "")

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES CXX)
find_package(foedus REQUIRED)
add_executable(user main.cc)
target_link_libraries(user PRIVATE foedus::foedus)
"""

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))


def readme_program():
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        return file.read().split("```cpp\n")[1].split("```")[0]


def run(*command, folder=None, **environment):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


@unittest.skipUnless(os.path.exists(os.path.join(BINARY, "lib", "libfoedus.a")), "no libfoedus.a")
class InstallTest(unittest.TestCase):

    def test_a_user_can_build_with_the_installed_library(self):
        with tempfile.TemporaryDirectory() as root:
            prefix, user = os.path.join(root, "prefix"), os.path.join(root, "user")
            os.mkdir(user)
            for name, text in (("CMakeLists.txt", CMAKE), ("main.cc", readme_program())):
                with open(os.path.join(user, name), "w", encoding="utf-8") as file:
                    file.write(text)
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
                run(tool, "verify", "--dir", os.path.join(root, "bank3"))

            self.check_program_in_c(prefix, user, root)

    def check_program_in_c(self, prefix, user, root):
        libraries = os.path.join(prefix, "lib")
        if not os.path.exists(os.path.join(libraries, "libfoedus.so")):
            return
        flags = run("pkg-config", "--cflags", "--libs", "foedus_c",
                    PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig")).split()
        program = os.path.join(user, "in_c")
        run("cc", "-std=c11", os.path.join(SOURCE, "tests", "c", "interface_program.c"), *flags,
            "-o", program)
        run(program, os.path.join(root, "bank_c"), LD_LIBRARY_PATH=libraries)

    def check_output(self, output):
        self.assertEqual(output, "left: 750\nsum: 10000\n")


if __name__ == "__main__":
    unittest.main()
