"""Trees of a few files, on which tests of the checks run."""

import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR") or os.path.abspath(
    os.path.join(os.path.dirname(__file__), "..", ".."))


def run_check(tool, files, *options):
    """Returns exit status and output of tools/<tool> on a tree that has just these files.

    files: {path: text}. In an option, {root} is the folder of the tree.
    """
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        command = [sys.executable, "-B", os.path.join(SOURCE, "tools", tool), "--root", root,
                   *(option.format(root=root) for option in options)]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class CheckTest(unittest.TestCase):
    """Tests of a check that accepts a tree or finds something in it; TOOL is its file."""

    TOOL = ""

    def assert_accepted(self, files):
        status, output = run_check(self.TOOL, files)
        self.assertEqual(status, 0, output)

    def assert_found(self, files, expected):
        status, output = run_check(self.TOOL, files)
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)
