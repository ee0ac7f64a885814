# ctest-labels: habits
"""Shows that tools/plot.py draws lines of experiments, and that tools/sweep.py makes them."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR") or os.path.abspath(
    os.path.join(os.path.dirname(__file__), "..", ".."))
ECHO = """import json, sys
print("a word of progress")
print(json.dumps({"txn_per_s": 7, "options": {"rows": int(sys.argv[1]), "dir": sys.argv[3]}}))
"""


def run(tool, *arguments):
    return subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "tools", tool), *arguments],
                          capture_output=True, text=True, check=False)


class PlotTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def test_a_sweep_prints_the_line_of_each_value(self):
        echo = self.path("echo.py", ECHO)
        done = run("sweep.py", "--dir", self.path("data"), f"{sys.executable} {echo} {{}}", "5",
                   "6")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["options"]["rows"] for line in lines], [5, 6])
        self.assertEqual(lines[0]["options"]["dir"], self.path("data"))

    def test_a_sweep_ends_with_the_first_run_that_fails(self):
        done = run("sweep.py", "--dir", self.path("data"), "false {}", "5", "6")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit status 1", done.stderr)

    def test_a_plot_is_drawn_of_members(self):
        lines = self.path("lines", '{"a": {"x": 1}, "y": 2, "z": "p"}\n'
                                   '{"a": {"x": 2}, "y": 3, "z": "q"}\n')
        out = self.path("out.svg")
        done = run("plot.py", "--x", "a.x", "--y", "y", "--by", "z", "--mark", "1.5=here",
                   "--y-scale", "log", "--out", out, lines)
        if importlib.util.find_spec("matplotlib") is None:
            self.assertIn("apt-get install", done.stderr)
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, encoding="utf-8") as file:
            self.assertIn("<svg", file.read())

    def test_a_member_that_is_missing_is_named(self):
        done = run("plot.py", "--x", "a.b", "--y", "y", "--out", self.path("out.svg"),
                   self.path("lines", '{"a": {"x": 1}, "y": 2}\n'))
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.b", done.stderr)


if __name__ == "__main__":
    unittest.main()
