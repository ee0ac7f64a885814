#!/usr/bin/env python3
"""Measures lines, branches and MC/DC of the modules that durability and commits depend on.

    cmake --preset coverage && cmake --build --preset coverage -j2
    tools/coverage.py                       # runs the tests of build/coverage, prints the figures
    tools/coverage.py --missing --no-run    # lines that the last run did not cover
    tools/coverage.py --missing --module log --export some.json

A branch has two sides for each condition, those of FOEDUS_TRY and FOEDUS_CHECK too. The side on
which a FOEDUS_INVARIANT fails is left out. MC/DC counts the conditions of decisions of two or more
of which some pair of evaluations shows that the condition alone decides (clang looks at each
instance of a template for itself; a condition counts if one instance has its pair). Sides that
hand on an error, `FOEDUS_CHECK(...)` or `if (!x.is_ok()) return`, are counted apart as well.

A process that is killed or leaves by _exit() leaves no figures: code that runs only there is not
counted as covered.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULES = {
    "txn": ["foedus-core/txn/*"],
    "log": ["foedus-core/log/*"],
    "snapshot": ["foedus-core/snapshot/*"],
    "install": ["foedus-core/engine/glean/snapshot_installer.cc",
                "foedus-core/storage/base/install*.h"],
    "recovery": ["foedus-core/engine/glean/recovery.*"],
    "storages": ["foedus-core/storage/*_install.*"],  # what they install
}
EXPANSION, PLAIN_BRANCH, MCDC_BRANCH = 1, 4, 6  # kinds of regions in llvm-cov's export
INVARIANT = ("FOEDUS_INVARIANT",)
HAND_ON = ("FOEDUS_TRY", "FOEDUS_CHECK")


class Sources:
    """The text between two places of a file; files that are not there have no text."""

    def __init__(self, read=None):
        self._read = read or self._read_file
        self._lines = {}

    @staticmethod
    def _read_file(path):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""

    def lines(self, path):
        if path not in self._lines:
            self._lines[path] = self._read(path).split("\n")
        return self._lines[path]

    def line(self, path, number):
        lines = self.lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def text(self, path, region):
        begin_line, begin, end_line, end = region[:4]
        if begin_line != end_line:
            return self.line(path, begin_line)[begin - 1:]
        return self.line(path, begin_line)[begin - 1:end - 1]


class Branch:
    """One condition: how often it was true and false, and whether MC/DC has a pair for it."""

    def __init__(self, line, text, outer, returns, is_split):
        self.line = line          # of the file, also if the branch is in a macro
        self.text = text
        self.outer = outer        # the macro, or ""
        self.returns = returns    # that line returns
        self.is_split = is_split  # part of a decision that clang did not instrument
        self.counts = [0, 0]
        self.has_mcdc = False
        self.has_pair = False

    def is_invariant(self):
        return self.outer in INVARIANT

    def hands_on(self, side):
        """Whether this side returns an error to the caller."""
        return (side and self.text.startswith("!") and self.text.endswith(".is_ok()")
                and (self.outer in HAND_ON or self.returns))

    def missing_sides(self):
        """The sides (true, false) that no test took, but for the failing side of an invariant."""
        failing = self.text.startswith("!") if self.is_invariant() else None
        return [side for side, count in zip((True, False), self.counts)
                if count == 0 and side is not failing]

    def sides(self):
        return 1 if self.is_invariant() else 2


def places(function, sources):
    """For each file of a function's list: (index of the outermost one, line there, macro, regions
    of the macros on the way)."""
    above = {r[6]: r for r in function["regions"] if r[7] == EXPANSION}
    result = []
    for index in range(len(function["filenames"])):
        file, line, macro, site = index, 0, "", ()
        while file in above:
            region = above[file]
            file, line, site = region[5], region[0], site + tuple(region[:4])
            macro = sources.text(function["filenames"][file], region)
        result.append((file, line, macro, site))
    return result


def beside_and_or(path, region, sources):
    """Whether a condition is an operand of && or ||."""
    lines = sources.lines(path)
    before = sources.line(path, region[0])[:region[1] - 1].rstrip(" !(")
    if not before and region[0] > 1:
        before = lines[region[0] - 2].rstrip()
    after = sources.line(path, region[2])[region[3] - 1:].lstrip(" )")
    if after.startswith("?"):
        return False
    return before.endswith(("&&", "||")) or after.startswith(("&&", "||"))


def function_branches(function, wanted, sources):
    """(path, key, Branch) of each branch; the keys are the same in all instances of a template."""
    names = function["filenames"]
    where = places(function, sources)
    ordinals = {}
    found = []
    for region in function["branches"]:
        outer, line, macro, site = where[region[6]]
        path = names[outer]
        spot = tuple(region[:4])
        ordinal = ordinals[(region[6], spot)] = ordinals.get((region[6], spot), -1) + 1
        split = region[8] == PLAIN_BRANCH and beside_and_or(names[region[6]], region, sources)
        line = line or region[0]
        branch = Branch(line, sources.text(names[region[6]], region), macro,
                        "return" in sources.line(path, line), split)
        branch.counts = [region[4], region[5]]
        branch.has_mcdc = region[8] == MCDC_BRANCH
        found.append((path, (site, spot, ordinal), branch, region))
    # A record does not say in which file it is; records and branches come in the same order.
    rest = [one for one in found if one[2].has_mcdc]
    for record in function.get("mcdc_records", ()):
        begin, end = tuple(record[:2]), tuple(record[2:4])
        inside = [one for one in rest if begin <= tuple(one[3][:2]) and tuple(one[3][2:4]) <= end]
        chosen = [one for one in inside if one[3][6] == inside[0][3][6]][:len(record[-1])]
        for one, has_pair in zip(chosen, record[-1]):
            one[2].has_pair = has_pair
        taken = {id(one) for one in chosen}
        rest = [one for one in rest if id(one) not in taken]
    return [(path, key, branch) for path, key, branch, _ in found if wanted(path)]


def all_branches(data, wanted, sources):
    """{path: {key: Branch}}, instances of templates and inline functions put together."""
    files = {}
    for function in data["functions"]:
        if not any(wanted(name) for name in function["filenames"]):
            continue
        for path, key, branch in function_branches(function, wanted, sources):
            known = files.setdefault(path, {}).setdefault(key, branch)
            if known is not branch:
                known.counts = [a + b for a, b in zip(known.counts, branch.counts)]
                known.has_pair = known.has_pair or branch.has_pair
                known.has_mcdc = known.has_mcdc or branch.has_mcdc
    return files


def figures(lines, branches):
    """[lines, of, sides, of, conditions, of, missing sides that hand on errors]."""
    missing = [(branch, side) for branch in branches for side in branch.missing_sides()]
    sides = sum(branch.sides() for branch in branches)
    conditions = [b for b in branches if b.has_mcdc and not b.is_invariant()]
    return [lines["covered"], lines["count"], sides - len(missing), sides,
            sum(b.has_pair for b in conditions), len(conditions),
            sum(branch.hands_on(side) for branch, side in missing)]


def row(name, numbers):
    def share(covered, of):
        percent = f"{100 * covered / of:6.2f} %" if of else "      - "
        return f"{covered:5}/{of:<5}{percent}"
    return (f"{name:<44}{share(*numbers[0:2])}  {share(*numbers[2:4])}  {share(*numbers[4:6])}"
            f"{numbers[6]:6}")


def missing_lines(path, branches, sources):
    """The branches and lines that are not covered, a line each."""
    for branch in sorted(branches, key=lambda one: one.line):
        source = sources.line(path, branch.line).strip()
        text = branch.text if branch.text not in source else branch.text[:60]
        sides = branch.missing_sides()
        for side in sides:
            kind = "error handed on" if branch.hands_on(side) else "branch"
            yield f"{branch.line}: {kind}: never {str(side).lower()}: {text}    | {source}"
        if branch.is_split:
            yield f"{branch.line}: decision not measured by clang: {text}    | {source}"
        if branch.has_mcdc and not branch.has_pair and not branch.is_invariant() and not sides:
            yield f"{branch.line}: no independence pair: {text}    | {source}"


def report(data, root, only=None, missing=False, sources=None, out=print):
    """Prints the figures of an export, or what is missing, for the modules asked for."""
    sources = sources or Sources()
    module_of = {}
    lines_of = {}
    for file in data["files"]:
        relative = os.path.relpath(file["filename"], root)
        for module, patterns in MODULES.items():
            if any(fnmatch.fnmatch(relative, pattern) for pattern in patterns):
                module_of[file["filename"]] = module
                lines_of[file["filename"]] = file["summary"]["lines"]
    files = all_branches(data, lambda path: path in module_of, sources)
    if not missing:
        out(f"{'':<44}{'lines':<20}  {'sides of branches':<20}  {'MC/DC':<17} errors handed on")
    for module in MODULES:
        if only and module not in only:
            continue
        rows = []
        for path in sorted(path for path in module_of if module_of[path] == module):
            branches = list(files.get(path, {}).values())
            rows.append((os.path.relpath(path, root), figures(lines_of[path], branches)))
            for line in missing_lines(path, branches, sources) if missing else ():
                out(f"{os.path.relpath(path, root)}:{line}")
        if not missing and rows:
            out(row(module, [sum(column) for column in zip(*(one for _, one in rows))]))
            for name, numbers in rows:
                out(row("  " + name.removeprefix("foedus-core/"), numbers))


def run_tests(build, profiles, wanted, jobs, timeout_s):
    """Runs the tests that were built; returns those that failed."""
    folder = os.path.join(build, "bin", "tests")
    tests = [name for name in sorted(os.listdir(folder)) if re.search(wanted, name)]
    environment = {**os.environ, "FOEDUS_SOURCE_DIR": ROOT,
                   "FOEDUS_BIN_DIR": os.path.join(build, "bin")}

    def run(name):
        # %m: a child that a test forks adds to the file of its parent.
        profile = os.path.join(profiles, name + "-%m.profraw")
        for old in os.listdir(profiles):
            if old.startswith(name + "-"):
                os.remove(os.path.join(profiles, old))
        try:
            done = subprocess.run([os.path.join(folder, name)], capture_output=True, check=False,
                                  env={**environment, "LLVM_PROFILE_FILE": profile},
                                  timeout=timeout_s)
            status, said = done.returncode, done.stdout[-2000:].decode(errors="replace")
        except subprocess.TimeoutExpired:
            status, said = "time-out", ""
        if status != 0:
            print(f"{name}: {status}\n{said}", file=sys.stderr, flush=True)
        return name, status

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [name for name, status in pool.map(run, tests) if status != 0]


def export(build, profiles, llvm):
    """Merges the profiles of the tests and returns llvm-cov's export of the whole library."""
    merged = os.path.join(build, "coverage.profdata")
    raw = sorted(os.path.join(profiles, one) for one in os.listdir(profiles))
    subprocess.run([f"llvm-profdata{llvm}", "merge", "--sparse", "-o", merged, *raw], check=True)
    # The archive is not read: llvm-cov misreads members that begin at an odd multiple of two bytes.
    # Objects of tests are read for their instances of templates.
    objects = [os.path.join(folder, name) for layer in ("foedus-core", "gleaner", "tests")
               for folder, _, names in os.walk(os.path.join(build, layer))
               for name in sorted(names) if name.endswith(".o")]
    path = os.path.join(build, "coverage.json")
    with open(path, "w", encoding="utf-8") as out:
        subprocess.run([f"llvm-cov{llvm}", "export", f"--instr-profile={merged}",
                        *(f"--object={one}" for one in objects)], stdout=out, check=True)
    return path


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(ROOT, "build", "coverage"))
    parser.add_argument("--tests", default="", help="regex of the tests to run (all)")
    parser.add_argument("--jobs", "-j", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=1800, help="of one test, in seconds")
    parser.add_argument("--no-run", action="store_true", help="take the profiles that are there")
    parser.add_argument("--export", help="take this export of llvm-cov and measure nothing")
    parser.add_argument("--module", action="append", choices=MODULES)
    parser.add_argument("--missing", action="store_true", help="list what is not covered")
    parser.add_argument("--llvm", default="-19", help="suffix of LLVM's programs")
    options = parser.parse_args()
    failed = []
    path = options.export
    if path is None:
        build = os.path.abspath(options.build_dir)
        profiles = os.path.join(build, "profiles")
        os.makedirs(profiles, exist_ok=True)
        if not options.no_run:
            failed = run_tests(build, profiles, options.tests, options.jobs, options.timeout)
        path = export(build, profiles, options.llvm)
    with open(path, encoding="utf-8") as file:
        report(json.load(file)["data"][0], ROOT, options.module, options.missing)
    if failed:
        print("failed: " + " ".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
