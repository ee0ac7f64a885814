"""Runs the commands of bin/foedus that open a database: a script for the shell, a dump that is
loaded into another database, exit statuses; the manual page and the completion have every command
and option.
"""

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

FOEDUS = os.path.join(os.environ.get("FOEDUS_BIN_DIR", ""), "foedus")
FOLDER = os.path.join(os.environ.get("FOEDUS_SOURCE_DIR", "."), "tools", "foedus")
SMALL = ("--option", "memory_bytes=64MiB")

SCRIPT = """\
# rows of three kinds
create tree masstree
put k v
put "with blanks" "\\xff\\\\"
begin
put gone 1
rollback
begin
put kept 2
commit
create array array:100:4
put 7 abcd
create list sequential
append one
append two
storages
"""


def foedus(*arguments, data=None, text=True):
    return subprocess.run([FOEDUS, *arguments], input=data, capture_output=True, text=text,
                          check=False)


def commands():
    """Names of the commands, as --help lists them."""
    listed = foedus("--help").stdout.split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+)", listed, re.MULTILINE)


@unittest.skipUnless(os.path.exists(FOEDUS), "no bin/foedus")
class RecordsProgramTest(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.dir = os.path.join(self.root, "db")

    def tearDown(self):
        shutil.rmtree(self.root)

    def run_script(self):
        self.expect(0, "put", self.dir, "first", "k", "v", "--create", "masstree", *SMALL)
        done = foedus("shell", self.dir, *SMALL, data=SCRIPT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "array\tarray:100:4\nfirst\tmasstree\nlist\tsequential\n"
                                      "tree\tmasstree\n")

    def expect(self, status, *arguments, **options):
        done = foedus(*arguments, **options)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout

    def test_a_dump_is_loaded_and_dumped_again(self):
        self.run_script()
        self.assertEqual(self.expect(0, "scan", self.dir, "tree"),
                         "k\tv\nkept\t2\nwith blanks\t\\xff\\\\\n")
        for form in ("jsonl", "csv", "binary"):
            copy = os.path.join(self.root, form)
            dump = (FOEDUS, "dump", self.dir, "--format", form, *SMALL)
            with subprocess.Popen(dump, stdout=subprocess.PIPE) as dumping:
                loaded = subprocess.run((FOEDUS, "load", copy, *SMALL), stdin=dumping.stdout,
                                        capture_output=True, text=True, check=False)
            self.assertEqual(loaded.returncode, 0, loaded.stderr)
            self.assertEqual(loaded.stdout, "loaded 106 rows of 4 storages\n")
            for other in ("jsonl", "csv", "binary"):
                self.assertEqual(*(foedus("dump", one, "--format", other, text=False).stdout
                                   for one in (self.dir, copy)))
            self.expect(0, "verify", copy)

    def test_the_directory_may_stand_at_either_place(self):
        self.run_script()
        for arguments in (("get", self.dir, "tree", "k"), ("get", "tree", "k", "--dir", self.dir),
                          ("get", "--dir", self.dir, "tree", "k")):
            self.assertEqual(self.expect(0, *arguments, *SMALL), "v\n")
        self.expect(0, "put", "tree", "k", "new", "--dir", self.dir)
        self.expect(0, "put", self.dir, "tree", "--", "-k", "-v")
        self.assertEqual(self.expect(0, "get", self.dir, "tree", "--", "-k"), "-v\n")
        self.assertEqual(self.expect(0, "info", self.dir, "--json"),
                         self.expect(0, "info", "--dir", self.dir, "--json"))
        for command in ("info", "verify", "log", "snapshots", "stats", "glean"):
            self.expect(0, command, self.dir)

    def test_usage_and_status(self):
        for arguments in (("get",), ("get", self.dir), ("get", self.dir, "tree"),
                          ("get", self.dir, "tree", "k", "more"), ("put", self.dir, "tree"),
                          ("get", "--dir", self.dir, "tree"), ("get", self.dir, "tree", "k"),
                          ("dump", self.dir, "--format", "xml"), ("explain", "weather")):
            self.expect(2, *arguments)
        self.assertFalse(os.path.exists(self.dir))
        self.run_script()
        self.expect(1, "get", self.dir, "tree", "none")
        self.expect(1, "erase", self.dir, "tree", "none")
        self.expect(2, "get", self.dir, "none", "k")
        self.expect(2, "put", self.dir, "tree", "k")
        self.expect(1, "load", self.dir, data="foedus_dump,1\nrow\n")
        self.assertEqual(self.expect(0, "put", self.dir, "tree", "", ""), "")
        self.assertEqual(self.expect(0, "get", self.dir, "tree", ""), "\n")
        self.expect(0, "put", self.dir, "tree", "[a,b]", "{c,d}")
        self.assertEqual(self.expect(0, "get", self.dir, "tree", "[a,b]"), "{c,d}\n")
        self.assertRegex(self.expect(0, "--version"), r"^foedus \d+\.\d+\.\d+\n$")

    def test_a_reader_that_ends_early_leaves_a_closed_database(self):
        self.run_script()
        rows = "".join(f"row,{i:06},{'v' * 100}\n" for i in range(20000))
        self.expect(0, "load", self.dir, data=f"foedus_dump,1\nstorage,t,masstree\n{rows}"
                                              "end,1,20000\n")
        with subprocess.Popen((FOEDUS, "scan", self.dir, "t"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as scan:
            scan.stdout.readline()
            scan.stdout.close()
            self.assertIn(b"cannot be written", scan.stderr.read())
            self.assertEqual(scan.wait(), 2)
        self.assertIn("closed cleanly", self.expect(0, "info", self.dir))

    def test_a_person_has_completion_and_history(self):
        self.run_script()
        process, terminal = pty.fork()
        if process == 0:
            os.environ.update({"HOME": self.root, "TERM": "vt100"})
            os.execv(FOEDUS, (FOEDUS, "shell", self.dir))
        shown = b""

        def wait_for(text):
            nonlocal shown
            end = time.monotonic() + 60
            while text not in shown:
                self.assertLess(time.monotonic(), end, shown)
                if select.select([terminal], [], [], 1)[0]:
                    shown += os.read(terminal, 4096)
            shown = shown.split(text, 1)[1]

        wait_for(b"foedus> ")
        os.write(terminal, b"jump\n")
        wait_for(b"there is no command")
        wait_for(b"foedus> ")
        os.write(terminal, b"use tr\t\n")
        libraries = subprocess.run(("ldd", FOEDUS), capture_output=True, text=True, check=False)
        if "libedit" not in libraries.stdout:
            os.write(terminal, b"use tree\n")
        wait_for(b"foedus(tree)> ")
        os.write(terminal, b"get k\n")
        wait_for(b"v\r\n")
        os.write(terminal, b"quit\n")
        status = os.waitpid(process, 0)[1]
        os.close(terminal)
        self.assertEqual(status, 0)

    def test_every_command_and_option_is_documented(self):
        with open(os.path.join(FOLDER, "foedus.1"), encoding="utf-8") as file:
            manual = file.read().replace("\\-", "-")
        with open(os.path.join(FOLDER, "foedus.bash-completion"), encoding="utf-8") as file:
            completion = file.read()
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
            readme = file.read()
        names = commands()
        self.assertGreaterEqual(len(names), 15)
        for name in names:
            described = re.search(rf"^\.B {name} (.*?)^\.(TP|SH)", manual,
                                  re.MULTILINE | re.DOTALL)
            self.assertIsNotNone(described, name)
            self.assertRegex(readme, rf"(?m)^foedus {name} ")
            self.assertRegex(completion, rf'commands="[^"]*\b{name}\b')
            case = re.search(rf"^    (?:\w+ \| )*{name}(?: \| \w+)*\) options=.*$", completion,
                             re.MULTILINE)
            for option in re.findall(r"--[a-z-]+", foedus(name, "--help").stdout):
                if option in ("--dir", "--dirs", "--ssd-dirs", "--help", "--option"):
                    self.assertIn(option, manual)
                    continue
                self.assertIn(option, described.group(1), name)
                self.assertIn(option, case.group(0), name)

    def test_the_completion_completes(self):
        script = (f"source {os.path.join(FOLDER, 'foedus.bash-completion')}; "
                  "complete_words() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _foedus; "
                  "echo \"${COMPREPLY[*]}\"; }; ")
        for words, expected in (("foedus sn", "snapshots"), ("foedus dump db --fo", "--format"),
                                ("foedus dump db --format c", "csv"),
                                ("foedus explain page_d", "page_dropped")):
            done = subprocess.run(("bash", "-c", script + "complete_words " + words),
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.stdout.strip(), done.stderr), (expected, ""), words)


if __name__ == "__main__":
    unittest.main()
