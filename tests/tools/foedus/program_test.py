"""Runs bin/foedus on a database that TPC-C wrote and the gleaner gleaned: JSON of all commands
parses and agrees with itself, exit statuses are those of the README.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

BIN = os.environ.get("FOEDUS_BIN_DIR", "")
FOEDUS = os.path.join(BIN, "foedus")
MAKER = os.path.join(BIN, "gleaner_speed")
LOG_MAKER = os.path.join(BIN, "ycsb")


def foedus(*arguments):
    return subprocess.run([FOEDUS, *arguments], capture_output=True, text=True, check=False)


@unittest.skipUnless(os.path.exists(FOEDUS) and os.path.exists(MAKER), "no bin/foedus")
class ProgramTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        cls.dir = os.path.join(cls.root, "db")
        subprocess.run([MAKER, "--dir", cls.dir, "--warehouses", "1", "--seconds", "0.2",
                        "--sessions", "1", "--glean_close_us", "0"],  # some log may stay
                       check=True, capture_output=True)
        cls.logged = os.path.join(cls.root, "logged")  # all of it is in the log
        subprocess.run([LOG_MAKER, "--dir", cls.logged, "--rows", "100", "--seconds", "0.1",
                        "--sessions", "1", "--glean", "off"], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def document(self, *arguments, status=0):
        done = foedus(*arguments, "--json")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_json_of_all_commands_agrees(self):
        info = self.document("info", "--dir", self.dir)
        verify = self.document("verify", "--dir", self.dir, "--all")
        snapshots = self.document("snapshots", "--dir", self.dir)
        summary = self.document("log", "--dir", self.dir, "--summary")
        self.assertTrue(info["ok"] and verify["ok"] and snapshots["ok"] and summary["ok"])

        self.assertEqual({one["number"] for one in snapshots["snapshots"]},
                         {one["number"] for one in verify["snapshots"]})
        verified = max(verify["snapshots"], key=lambda one: one["number"])
        self.assertEqual(info["epochs"]["covered"], verified["covered_epoch"])
        self.assertEqual(sum(one["pages"] for one in verified["storages"]),
                         sum(one["live_pages_counted"] for one in verified["files"]))
        counted = {one["name"]: one["records"] for one in verified["storages"]}
        self.assertEqual(counted["item"], 100000)
        self.assertEqual(counted, {one["name"]: one["in_snapshot"]["records"]
                                   for one in info["storages"]})
        self.assertEqual(verify["log"]["records"],
                         sum(one["records"] for one in summary["summary"]))
        self.assertEqual(verify["log"]["records"],
                         sum(one["records"] for one in info["segments"]))

    def test_records_are_one_document(self):
        summary = self.document("log", "--dir", self.logged, "--summary")["summary"]
        most = max(summary, key=lambda one: one["records"])
        self.assertGreaterEqual(most["records"], 100)
        document = self.document("log", "--dir", self.logged, "--storage", most["storage_name"],
                                 "--limit", "9")
        self.assertEqual(len(document["records"]), 9)
        self.assertEqual({one["storage_name"] for one in document["records"]},
                         {most["storage_name"]})

    def test_damage_is_status_1_and_a_finding_with_file_and_page(self):
        copy = os.path.join(self.root, "copy")
        shutil.copytree(self.dir, copy)
        snapshots = self.document("snapshots", "--dir", self.dir)["snapshots"]
        newest = max(one["number"] for one in snapshots)
        name = f"snapshot-{newest:08}-0"  # all its pages are live
        with open(os.path.join(copy, name), "r+b") as file:
            file.seek(5 * 4096 + 100)
            file.write(b"damaged")
        document = self.document("verify", "--dir", copy, status=1)
        self.assertFalse(document["ok"])
        self.assertIn((name, 5),
                      {(one["file"], one.get("page")) for one in document["findings"]})
        self.assertEqual(foedus("verify", "--dir", copy).returncode, 1)

    def test_what_cannot_be_read_is_status_2_in_json_too(self):
        missing = os.path.join(self.root, "missing")
        document = self.document("verify", "--dir", missing, status=2)
        self.assertEqual((document["ok"], document["error"]), (False, "not_found"))
        self.assertFalse(os.path.exists(missing))

    def test_usage_is_status_2_and_help_is_0(self):
        for arguments in ((), ("nothing",), ("verify",), ("info", "--dir"),
                          ("log", "--dir", self.dir, "--limit", "many")):
            self.assertEqual(foedus(*arguments).returncode, 2, arguments)
        self.assertEqual(foedus("--help").returncode, 0)
        self.assertEqual(foedus("verify", "--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
