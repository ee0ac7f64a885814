# ctest-labels: habits
"""Shows that CHANGELOG.md names the version that the build has, and that its table of formats has
the numbers that the code writes and the FORMAT.md files state.
"""

import re
import unittest

from user_program import SOURCE, read

# Row of the table: file and pattern of the number in the code; pattern of the number in FORMAT.md.
FORMATS = {
    "log segments": ("foedus-core/log/segments/format.h", r"kLogFormatVersion = (\d+);",
                     r"^# Format of the log, version (\d+)"),
    "`savepoint`": ("foedus-core/log/savepoint.h", r"kSavepointVersion = (\d+);",
                    r"with savepoints of version (\d+)$"),
    "snapshots": ("foedus-core/snapshot/files/format.h", r"kSnapshotFormatVersion = (\d+);",
                  r"^# Format of snapshots: files, version (\d+)"),
    "`manifest-": ("foedus-core/snapshot/files/manifest_format.h",
                    r"kManifestFormatVersion = (\d+);",
                    r"manifests, version (\d+)$"),
    "`nvm-": ("foedus-core/snapshot/nvm_pages.cc", r"kNvmVersion = (\d+);",
              r"^`nvm-0`, version (\d+)"),
    "`tiers-": ("foedus-core/device/tiers/extent_map.cc", r"kMapVersion = (\d+);",
               r"^# Format of tiers-<number>-<n>, version (\d+)"),
    "`staging-": ("foedus-core/device/staging/area.cc", r"kStagingVersion = (\d+);",
                 r"^# Format of staging-<n>, version (\d+)"),
    "`run-": ("gleaner/reduce/run_file.h", r"kRunVersion = (\d+);",
              r"^# Format of sorted runs, version (\d+)"),
}


def only(pattern, text):
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        raise AssertionError(f"{pattern}: {found}")
    return found[0]


class ChangelogTest(unittest.TestCase):

    def setUp(self):
        self.changelog = read("CHANGELOG.md")

    def test_the_version_of_the_build_is_named(self):
        version = only(r"^project\(foedus VERSION ([\d.]+)", read("CMakeLists.txt"))
        self.assertRegex(self.changelog, rf"(?m)^## \[?{re.escape(version)}|will be {version},")

    def test_formats_have_the_numbers_of_the_code_and_of_their_descriptions(self):
        for row, (path, in_code, in_description) in FORMATS.items():
            stated = re.findall(rf"^\| {row}[^|]*\| (\d+) \|", self.changelog, re.MULTILINE)
            folder = re.match(r"foedus-core/\w+|gleaner/reduce", path)[0]
            self.assertEqual(
                [only(in_code, read(path)),
                 only(in_description, read(folder, "FORMAT.md"))], stated * 2, row)


if __name__ == "__main__":
    unittest.main()
