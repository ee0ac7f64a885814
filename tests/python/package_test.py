# ctest-labels: habits
# ctest-timeout: 240
"""Shows that the Python package is built from its folder, that each example in its README, in that
of the repository, in docs/pages and in its docstrings does as printed, and that errors, threads and
ends are as they say.

Skipped without cffi, setuptools and Python's headers, or in a build without the library.
"""

import asyncio
import doctest
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import built_package

CHILD = """
import sys; sys.path.insert(0, sys.argv[1])
import foedus
db = foedus.open(sys.argv[2], memory_bytes="128MiB")
db.masstree("t")[b"key"] = b"value"
"""


@unittest.skipIf(built_package.lacks(), f"without {built_package.lacks()}")
class PackageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.TemporaryDirectory()
        built_package.build(cls.built.name)
        sys.path.insert(0, cls.built.name)
        import foedus
        cls.foedus = foedus

    @classmethod
    def tearDownClass(cls):
        cls.built.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.db = self.foedus.open(self.folder.name, memory_bytes="128MiB")

    def tearDown(self):
        self.db.close()
        self.folder.cleanup()

    # ---- examples

    def run_example(self, test):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            test.globs.update(foedus=self.foedus, folder=other,
                              db=self.foedus.open(folder, memory_bytes="128MiB"))
            runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
            told = []
            runner.run(test, out=told.append, clear_globs=False)
            test.globs["db"].close()
            self.assertEqual(runner.failures, 0, f"{test.name}\n{''.join(told)}")
            return runner.tries

    def test_each_example_does_as_printed(self):
        package = self.foedus
        modules = [package] + [sys.modules["foedus." + name]
                               for name in ("_codecs", "_tables", "_txn", "_database")]
        tries = 0
        for module in modules:
            for test in doctest.DocTestFinder(exclude_empty=True).find(module):
                tries += self.run_example(test)
        guide = os.path.join(built_package.SOURCE, "docs", "pages")
        for path in [os.path.join(folder, "README.md")
                     for folder in (built_package.PACKAGE, built_package.SOURCE)] + [
                         os.path.join(guide, name) for name in sorted(os.listdir(guide))]:
            with open(path, encoding="utf-8") as file:
                page = doctest.DocTestParser().get_doctest(file.read(), {}, path, None, 0)
            self.assertTrue(page.examples or path.startswith(guide), path)
            if page.examples:
                tries += self.run_example(page)
        self.assertGreater(tries, 50)

    # ---- errors

    def test_an_error_is_one_of_pythons_own_and_says_what_to_do(self):
        foedus, t = self.foedus, self.db.masstree("t")
        t[b"k"] = b"v"
        with self.assertRaises(KeyError):
            t[b"none"]
        with self.assertRaises(KeyError):
            del t[b"none"]
        with self.assertRaises(foedus.NotFound) as caught:
            t.replace(b"none", b"")
        self.assertEqual((caught.exception.storage, caught.exception.key), ("t", b"none"))
        with self.assertRaises(foedus.AlreadyExists):
            t.insert(b"k", b"")
        with self.assertRaises(ValueError) as too_large:
            t[b"k" * 2000] = b""
        self.assertIsInstance(too_large.exception, foedus.TooLarge)
        with self.assertRaises(foedus.Busy):
            foedus.open(self.folder.name)
        with self.assertRaises(foedus.InvalidArgument) as option:
            foedus.open(self.folder.name + "x", memory="1GiB")
        self.assertIn("memory_bytes", option.exception.hint)
        with self.assertRaises(TypeError):
            t["text"] = b"v"
        with self.assertRaises(TypeError):
            self.db.masstree("typed", key=int)["1"] = b""
        with self.assertRaises(IndexError):
            self.db.array("a", 3, value="<q")[3] = 1

    def test_a_closed_database_says_so(self):
        t = self.db.masstree("t")
        self.db.close()
        self.db.close()
        with self.assertRaises(self.foedus.Closed):
            t[b"k"] = b"v"
        with self.assertRaises(self.foedus.Closed):
            self.db.transact(lambda txn: None)

    def test_a_database_with_an_open_transaction_is_not_closed(self):
        t = self.db.masstree("t")
        with self.db.begin() as txn:
            with self.assertRaises(self.foedus.Busy):
                self.db.close()
            txn[t][b"k"] = b"v"
        self.assertEqual(t[b"k"], b"v")

    # ---- transactions

    def test_an_exception_undoes_all_and_is_raised(self):
        t = self.db.masstree("t")

        def fail(txn):
            txn[t][b"k"] = b"v"
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            self.db.transact(fail)
        with self.assertRaises(ZeroDivisionError):
            with self.db.begin() as txn:
                fail(txn)
        with self.db.begin() as txn:
            txn[t][b"k"] = b"v"
            raise self.foedus.Rollback
        self.assertNotIn(b"k", t)

    def test_an_exception_undoes_the_block_of_a_savepoint_alone(self):
        t = self.db.masstree("t")
        with self.db.begin() as txn:
            txn[t][b"kept"] = b"1"
            with self.assertRaises(KeyError):
                with txn.savepoint():
                    txn[t][b"undone"] = b"2"
                    txn[t][b"missing"]
            with txn.savepoint() as point:
                txn[t][b"undone"] = b"3"
                point.rollback()
                txn[t][b"again"] = b"4"
            with self.assertRaises(ValueError):
                point.rollback()
        self.assertEqual(list(t), [b"again", b"kept"])

    def test_threads_lose_no_update(self):
        counter = self.db.array("counter", 1, value="<q")

        def add(txn):
            txn[counter][0] += 1

        threads = [threading.Thread(target=lambda: [self.db.transact(add) for _ in range(300)])
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counter[0], 1200)

    def test_a_block_that_conflicts_says_so(self):
        t = self.db.masstree("t")
        t[b"k"] = b"0"
        with self.assertRaises(self.foedus.Conflict) as caught:
            with self.db.begin() as txn:
                txn[t][b"other"] = txn[t][b"k"]
                t[b"k"] = b"1"
        self.assertEqual(caught.exception.reason, "record_changed")
        self.assertNotIn(b"other", t)

    def test_a_function_that_conflicts_runs_again(self):
        t = self.db.masstree("t")
        t[b"k"] = b"0"
        seen = []

        def read_beside_a_write(txn):
            seen.append(txn[t][b"k"])
            if len(seen) == 1:
                thread = threading.Thread(target=lambda: t.update({b"k": b"1"}))
                thread.start()
                thread.join()
            txn[t][b"copy"] = seen[-1]

        self.db.transact(read_beside_a_write)
        self.assertEqual(seen, [b"0", b"1"])
        self.assertEqual(t[b"copy"], b"1")

    def test_a_transaction_that_ended_is_closed(self):
        t = self.db.masstree("t")
        with self.db.begin() as txn:
            inside = txn[t]
        with self.assertRaises(self.foedus.Closed):
            inside[b"k"] = b"v"

    # ---- rows

    def test_large_values_and_long_scans_are_whole(self):
        t = self.db.masstree("t")
        rows = {b"%06d" % i: bytes([i % 256]) * (i % 700) for i in range(3000)}
        rows[b"large"] = b"x" * 500_000
        self.assertEqual(t.put_many(rows, batch=1000), 3001)
        self.assertEqual(dict(t.items()), rows)
        self.assertEqual(t[b"large"], rows[b"large"])
        with self.db.snapshot() as snap:
            self.assertEqual(list(snap[t].keys(reverse=True)), sorted(rows, reverse=True))
            self.assertEqual(list(snap[t].keys(b"000010", b"000012")), [b"000010", b"000011"])

    def test_columns_sort_as_their_values(self):
        t = self.db.masstree("t", key=(int, float, str), value=str)
        keys = [(-(2**63), 0.0, ""), (-1, 1, "a"), (0, -1.5, "a"), (0, 1.5, "a"), (0, 1.5, "a\0"),
                (0, 1.5, "b"), (255, 0.0, ""), (2**64 - 1, 0.0, "\u00fc")]
        for key in reversed(keys):
            t[key] = repr(key)
        self.assertEqual(list(t), keys)
        self.assertEqual(list(t.keys(low=(0,), high=(1,))), keys[2:6])
        self.assertEqual(list(t.keys(prefix=(0, 1.5, "a"))), keys[3:5])
        with self.assertRaises(OverflowError):
            t[(2**64, 0.0, "")] = ""

    # ---- ends

    def test_a_ticket_can_be_awaited(self):
        t = self.db.masstree("t")

        async def write():
            ticket = self.foedus.Ticket()
            self.db.transact(lambda txn: txn[t].update({b"k": b"v"}), ticket=ticket)
            await ticket
            return ticket.durable

        self.assertTrue(asyncio.run(write()))

    def test_the_end_of_a_program_makes_its_commits_durable(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-c", CHILD, self.built.name, folder], check=True)
            with self.foedus.open(folder, memory_bytes="128MiB") as db:
                self.assertEqual(db.masstree("t")[b"key"], b"value")

    def test_messages_come_as_lines(self):
        lines = []
        with tempfile.TemporaryDirectory() as folder:
            with self.foedus.open(folder, log=lambda level, line: lines.append((level, line))):
                pass
        self.assertTrue(lines)
        self.assertIn(lines[0][0], ("info", "warning", "error"))


if __name__ == "__main__":
    unittest.main()
