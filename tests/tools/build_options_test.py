# ctest-labels: habits
# ctest-timeout: 300
"""Shows which targets the options of the build leave out, and that warnings are errors only in the
presets that ask for it. Method: build folders are configured, and their targets listed; nothing is
built.
"""

import os
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))


def targets_of(*options):
    """The names of all targets, and the text of the build file."""
    with tempfile.TemporaryDirectory() as build:
        for command in (["cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", *options],
                        ["ninja", "-C", build, "-t", "targets", "all"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise AssertionError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
            return {line.split(":")[0] for line in done.stdout.splitlines()}, file.read()


class BuildOptionsTest(unittest.TestCase):

    def test_the_library_alone_can_be_built(self):
        targets, text = targets_of("-DFOEDUS_BUILD_TESTS=OFF", "-DFOEDUS_BUILD_TOOLS=OFF",
                                   "-DFOEDUS_BUILD_EXPERIMENTS=OFF")
        self.assertIn("lib/libfoedus.a", targets)
        self.assertEqual([name for name in targets if name.startswith("bin/")], [])
        self.assertNotIn("-Werror", text)

    def test_tests_do_without_tools_and_experiments(self):
        targets, _ = targets_of("-DFOEDUS_BUILD_TOOLS=OFF", "-DFOEDUS_BUILD_EXPERIMENTS=OFF")
        self.assertIn("bin/tests/base_tests", targets)
        self.assertNotIn("bin/foedus", targets)
        for folder in ("tools", "hostile", "simulation", "experiments", "kills", "soak"):
            self.assertEqual(
                [name for name in targets if name.startswith(f"bin/tests/{folder}_")], [])

    def test_a_preset_makes_errors_of_warnings(self):
        _, text = targets_of("--preset", "release", "-DFOEDUS_BUILD_TESTS=OFF",
                             "-DFOEDUS_BUILD_EXPERIMENTS=OFF")
        self.assertIn("-Werror", text)


if __name__ == "__main__":
    unittest.main()
