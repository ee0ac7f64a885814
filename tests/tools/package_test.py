# ctest-labels: habits
# ctest-timeout: 300
"""Shows that cpack makes small Debian packages, whose files and dependencies are complete: with
nothing but their files, programs in C++ and C and the examples are built and run.

Packages are made of the build at FOEDUS_BINARY_DIR. They are not installed, but unpacked. Skipped
without cpack and dpkg-deb, or if the library or the program `foedus` is not built.
"""

import os
import shutil
import tempfile
import unittest

from user_program import (BINARY, PROGRAM_IN_C, README_PRINTS, SOURCE, readme_program, run,
                          write)

MIB = 1 << 20
MAX_BYTES = {"libfoedus0": 2 * MIB, "libfoedus-dev": 3 * MIB, "foedus-tools": 2 * MIB}
MAX_UNPACKED = {"libfoedus0": 6 * MIB, "libfoedus-dev": 16 * MIB, "foedus-tools": 6 * MIB}
WANTED = {
    "libfoedus0": ["lib/libfoedus.so.0"],
    "libfoedus-dev": ["lib/libfoedus.a", "lib/libfoedus.so", "lib/pkgconfig/foedus.pc",
                      "lib/pkgconfig/foedus_c.pc", "lib/cmake/foedus/foedusConfig.cmake",
                      "include/foedus/foedus.h", "include/foedus/foedus_c.h"],
    "foedus-tools": ["bin/foedus"],
}
NEEDED = {
    "libfoedus0": ["libc6", "libnuma1", "libstdc++6", "liburing2"],
    "libfoedus-dev": ["libfoedus0 (= ", "libnuma-dev", "liburing-dev", "pkg-config"],
    "foedus-tools": ["libc6", "libnuma1", "libstdc++6", "liburing2"],
}

MISSING = [name for name in ("cpack", "dpkg-deb", "dpkg-shlibdeps") if shutil.which(name) is None]
MISSING += [name for name in ("lib/libfoedus.a", "lib/libfoedus.so", "bin/foedus")
            if not os.path.exists(os.path.join(BINARY, name))]


def files_below(folder):
    return {os.path.relpath(os.path.join(parent, name), folder)
            for parent, _, names in os.walk(folder) for name in names}


@unittest.skipIf(not BINARY or MISSING, f"without {MISSING}")
class PackageTest(unittest.TestCase):

    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.folder = self.kept.name
        run("cpack", "--config", os.path.join(BINARY, "CPackConfig.cmake"), "-G", "DEB",
            "-B", self.folder, folder=self.folder)
        self.packages = {name.split("_")[0]: os.path.join(self.folder, name)
                         for name in os.listdir(self.folder) if name.endswith(".deb")}
        self.root = os.path.join(self.folder, "root")

    def unpack(self, package):
        """Unpacks into a folder of its own, and into the root; returns its files."""
        own = os.path.join(self.folder, package)
        for target in (own, self.root):
            run("dpkg-deb", "-x", self.packages[package], target)
        return own

    def test_packages_are_small_and_enough_to_build_with(self):
        self.assertEqual(set(self.packages), set(WANTED))
        seen = set()
        for package, path in self.packages.items():
            own = self.unpack(package)
            files = {name.removeprefix("usr/") for name in files_below(own)}
            unpacked = sum(os.lstat(os.path.join(own, "usr", name)).st_size for name in files)
            print(f"{package}: {os.path.getsize(path)} bytes, unpacked {unpacked}")
            self.assertLess(os.path.getsize(path), MAX_BYTES[package], package)
            self.assertLess(unpacked, MAX_UNPACKED[package], package)
            wanted = WANTED[package] + [f"share/doc/{package}/copyright",
                                        f"share/doc/{package}/README.md"]
            self.assertEqual([name for name in wanted if name not in files], [], package)
            self.assertEqual(files & seen, set(), package)  # else dpkg refuses the second one
            seen |= files
            depends = run("dpkg-deb", "-f", path, "Depends")
            for needed in NEEDED[package]:
                self.assertIn(needed, depends, package)
        with tempfile.TemporaryDirectory() as control:
            run("dpkg-deb", "-e", self.packages["libfoedus0"], control)
            with open(os.path.join(control, "shlibs"), encoding="utf-8") as file:
                self.assertIn("libfoedus 0 libfoedus0", file.read())
        self.build_by_pkg_config()
        self.build_an_example()
        run(os.path.join(self.root, "usr", "bin", "foedus"), "verify", "--dir",
            os.path.join(self.folder, "bank"))

    def build_by_pkg_config(self):
        libraries = os.path.join(self.root, "usr", "lib")

        def flags(name):
            return run("pkg-config", "--cflags", "--libs", name,
                       PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig")).split()

        source = write(self.folder, "user/main.cc", readme_program())
        program = os.path.join(self.folder, "in_cpp")
        run("c++", "-std=c++20", source, *flags("foedus"), "-o", program)
        self.assertEqual(run(program, os.path.join(self.folder, "bank")), README_PRINTS)

        program = os.path.join(self.folder, "in_c")
        run("cc", "-std=c11", PROGRAM_IN_C, *flags("foedus_c"), "-o", program)
        run(program, os.path.join(self.folder, "bank_c"), LD_LIBRARY_PATH=libraries)

    def build_an_example(self):
        """Builds examples/ as a project of its own, which finds the package by find_package."""
        build = os.path.join(self.folder, "examples")
        run("cmake", "-S", os.path.join(SOURCE, "examples"), "-B", build,
            f"-DCMAKE_PREFIX_PATH={os.path.join(self.root, 'usr')}")
        run("cmake", "--build", build, "--target", "example_counters")
        self.assertIn("lorem 1000", run(os.path.join(build, "counters"), folder=self.folder))


if __name__ == "__main__":
    unittest.main()
