# ctest-labels: habits
# ctest-timeout: 300
"""Shows that tools/docs builds the site without a warning, that links lead on in what it stages,
and that doxygen gets the comments of a header.

The first case is skipped without mkdocs, its theme and doxygen, which building and testing the
engine does not need.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
import unittest

from pages import SOURCE

LACKS = [tool for tool in ("mkdocs", "doxygen") if shutil.which(tool) is None]
HEADER = '''\
#pragma once
// What <this> is.

// ---- a ruler ----

// Does it.
void f();  // at once,
           // or later
const char* g = "http://a";
'''


def load(name):
    """A program of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(SOURCE, "docs", name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class SiteTest(unittest.TestCase):

    @unittest.skipIf(LACKS, f"without {', '.join(LACKS)}: tools/docs installs what is missing")
    def test_the_site_is_built_without_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [os.path.join(SOURCE, "tools", "docs"), "--no-install", "--to", folder],
                capture_output=True, text=True, check=False)
            if "theme" in done.stderr and done.returncode != 0:
                self.skipTest("without mkdocs-material: tools/docs installs what is missing")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for page in ("index.html", "start.html", "repository/index.html",
                         "cpp/classfoedus_1_1Database.html"):
                self.assertTrue(os.path.exists(os.path.join(folder, "site", page)), page)
            with open(os.path.join(folder, "site", "cpp", "classfoedus_1_1Ticket.html"),
                      encoding="utf-8") as page:
                self.assertIn("Never waits.", page.read())

    def test_links_follow_what_is_staged_and_others_become_text(self):
        stage = load("stage_pages")
        staged = {"docs/pages/a.md", "README.md", "x/plot.svg"}
        text = "[a](a.md#b) [r](../../README.md) [w](https://a.b)\n```\n[a](a.md)\n```\n"
        self.assertEqual(
            stage.with_staged_links("docs/pages/c.md", text, staged),
            "[a](a.md#b) [r](repository/README.md) [w](https://a.b)\n```\n[a](a.md)\n```\n")
        text = "[a](docs/pages/a.md), [l](LICENSE) ![p](x/plot.svg)"
        self.assertEqual(stage.with_staged_links("README.md", text, staged),
                         "[a](../a.md), l ![p](x/plot.svg)")

    def test_doxygen_gets_the_comments_of_a_header(self):
        lines = load("public_header_filter").lines_for_doxygen(HEADER.split("\n"))
        self.assertEqual("\n".join(lines), '''\
#pragma once
/// @file
/// What \\<this\\> is.

// ---- a ruler ----

/// Does it.
void f();  ///< at once,
           ///< or later
const char* g = "http://a";
''')


if __name__ == "__main__":
    unittest.main()
