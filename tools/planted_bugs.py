#!/usr/bin/env python3
"""Shows that tests notice the loss of each line that correctness depends on, one at a time.

The rules stand beside this file: durability.lines for what is on the way to the device,
planted.lines for the rest. The tree is copied, the tests that the rules name are built and run
once as they are, and then once for each rule with its lines replaced. At least one test of the
rule has to fail (a crash, more work than usual or, twice, a time-out is a failure). Prints what
became of each rule and exits with 1 if no test failed for a rule, or if its replacement did not
compile.

  planted_bugs.py [--rule PATTERN]...   all rules, or those whose name or file matches
  planted_bugs.py --times 10            a test counts only if it fails that often, one run after
                                        the other
  planted_bugs.py --list                names, files and tests
  planted_bugs.py --check               only whether the rules still fit the tree: fast
"""

import argparse
import fnmatch
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import planted_conditions

CONFIGURE = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
             "-DFOEDUS_WERROR=OFF", "-DCMAKE_UNITY_BUILD=OFF")
RULE_FILES = ("durability.lines", "planted.lines")
# Limits of a test's time and of its processor time, relative to its run on the unchanged tree, for
# a machine with other work.
SLACK_FACTOR, SLACK_S = 5, 20
CPU_FACTOR, CPU_SLACK_S = 3, 4


class RuleError(Exception):
    """A line of the rule file that cannot be understood, or that does not fit the tree."""


class Rule:
    """A place in a file, its replacement, and the tests that must notice."""

    def __init__(self, name, number):
        self.name, self.number = name, number
        self.file, self.tests, self.old, self.new = "", [], [], []

    def place(self, text):
        """(begin, end) of the lines to replace."""
        pattern = r"[ \t]*\n[ \t]*".join(re.escape(line) for line in self.old)
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise RuleError(f"{self.file}: found {len(found)} times, not once: {self.old[0]}")
        return found[0].span()

    def applied_to(self, text):
        begin, end = self.place(text)
        return text[:begin] + "\n".join(self.new) + text[end:]

    def note(self):
        """The text that is taken away, in one line."""
        return " ".join(self.old)


class Condition(Rule):
    """A generated rule: it removes one operand of a condition of the file."""

    def __init__(self, origin, number, mutant, text):
        super().__init__(f"{origin.name}-{number}", origin.number)
        self.file, self.tests = origin.file, origin.tests
        self.begin, self.end, replacement, self.goes = mutant
        self.old, self.new = [text[self.begin:self.end]], [replacement]

    def place(self, text):
        return self.begin, self.end

    def note(self):
        return " ".join(self.goes.split())


class Rules:
    """The contents of rule files: rules, and expressions whose every match needs a rule."""

    def __init__(self):
        self.rules, self.every, self.aside = [], [], []
        self.conditions = []  # becomes a rule for each condition of its file

    def add(self, text):
        """Adds the text of a rule file."""
        known = len(self.rules)
        for number, line in enumerate(text.splitlines(), 1):
            stripped = line.strip()
            if not stripped or stripped.startswith("#"):
                continue
            try:
                self._parse(number, stripped)
            except (IndexError, ValueError, re.error) as error:
                raise RuleError(f"line {number}: cannot be understood: {line}") from error
        for rule in self.rules[known:]:
            if rule in self.conditions and rule.file and rule.tests and not rule.new:
                continue
            if not (rule.file and rule.tests and rule.old):
                raise RuleError(f"line {rule.number}: rule {rule.name} lacks file, tests or lines")

    def _parse(self, number, line):
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word in ("rule", "conditions"):
            if any(rule.name == rest for rule in self.rules):
                raise ValueError
            self.rules.append(Rule(rest, number))
            if word == "conditions":
                self.conditions.append(self.rules[-1])
        elif word == "every":
            expression, folders = rest.rsplit(" in ", 1)
            self.every.append((re.compile(expression), folders.split()))
        elif word == "aside":
            path, _, text = rest.partition(": ")
            self.aside.append((path, text.strip()))
        elif word == "file":
            self.rules[-1].file = rest
        elif word == "tests":
            self.rules[-1].tests = rest.split()
        elif word == "-":
            self.rules[-1].old.append(rest)
        elif word == "+":
            self.rules[-1].new.append(rest)
        else:
            raise ValueError

    def make_conditions(self, root):
        """Puts rules in the place of each `conditions`; lines of `-` name operands that stay."""
        for origin in self.conditions:
            try:
                text = read(root, origin.file)
            except OSError as error:
                raise RuleError(f"{origin.name}: there is no {origin.file}") from error
            made = [Condition(origin, number, mutant, text) for number, mutant
                    in enumerate(planted_conditions.mutants(text), 1)]
            notes = {rule.note() for rule in made}
            for line in origin.old:
                if line not in notes:
                    raise RuleError(f"{origin.name}: no condition of {origin.file} is: {line}")
            place = self.rules.index(origin)
            self.rules[place:place + 1] = [rule for rule in made if rule.note() not in origin.old]
            if not made:
                raise RuleError(f"{origin.name}: {origin.file} has no condition")
        self.conditions = []


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def tree_files(root):
    """Files of the tree, ignored ones aside, as paths relative to it."""
    done = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False)
    if done.returncode == 0:
        names = done.stdout.decode().split("\0")
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, files in os.walk(root) for name in files]
    return sorted(name for name in names if name and os.path.isfile(os.path.join(root, name)))


# ---- the rules against the tree


def check_rule(root, rule):
    """Complaints about one rule."""
    try:
        rule.place(read(root, rule.file))
    except OSError:
        yield f"{rule.name}: there is no {rule.file}"
    except RuleError as error:
        yield f"{rule.name}: {error}"
    if rule.old == rule.new:
        yield f"{rule.name}: replaces its lines by themselves"
    for test in rule.tests:
        name, _, case = test.partition(":")
        if not os.path.isfile(os.path.join(root, "tests", name + ".cc")):
            yield f"{rule.name}: there is no test {name}"
        elif case and not re.search(r"\b" + re.escape(case.rpartition(".")[2]) + r"\b",
                                    read(root, f"tests/{name}.cc")):
            yield f"{rule.name}: there is no {case} in test {name}"


def check_covered(root, rules):
    """Complaints about lines that match an `every` and are in no rule."""
    asides = set()
    for path in tree_files(root):
        expressions = [expression for expression, folders in rules.every
                       if any(fnmatch.fnmatchcase(path, folder) for folder in folders)]
        if not expressions:
            continue
        text = read(root, path)
        spans = [rule.place(text) for rule in rules.rules if rule.file == path]
        offset = 0
        for number, line in enumerate(text.split("\n"), 1):
            begin, offset = offset, offset + len(line) + 1
            if line.lstrip().startswith("//") or not any(e.search(line) for e in expressions):
                continue
            aside = next((a for a in rules.aside if a[0] == path and a[1] in line), None)
            asides.add(aside)
            if aside is None and not any(b < offset and begin < e for b, e in spans):
                yield f"{path}:{number}: in no rule: {line.strip()}"
    for aside in rules.aside:
        if aside not in asides:
            yield f"aside without use: {aside[0]}: {aside[1]}"


def check(root, rules):
    complaints = [text for rule in rules.rules for text in check_rule(root, rule)]
    if not complaints:
        complaints = list(check_covered(root, rules))
    for complaint in complaints:
        print(f"planted bugs: {complaint}")
    return len(complaints)


# ---- taking lines away


class Copy:
    """A copy of the tree in which lines may go, and its build."""

    def __init__(self, root, folder, jobs):
        self.source, self.build = os.path.join(folder, "source"), os.path.join(folder, "build")
        self.jobs, self.usual_s, self.usual_cpu_s = jobs, {}, {}
        files = tree_files(root)
        self._remove_others(set(files))
        for path in files:
            self._copy(os.path.join(root, path), os.path.join(self.source, path))

    def _remove_others(self, files):
        for folder, _, names in os.walk(self.source):
            for name in names:
                full = os.path.join(folder, name)
                if os.path.relpath(full, self.source) not in files:
                    os.remove(full)

    @staticmethod
    def _copy(origin, target):
        """Leaves an unchanged file alone, so that it is not built again."""
        with open(origin, "rb") as file:
            content = file.read()
        if os.path.isfile(target):
            with open(target, "rb") as file:
                if file.read() == content:
                    return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        shutil.copymode(origin, target)

    def write(self, path, text):
        with open(os.path.join(self.source, path), "w", encoding="utf-8") as file:
            file.write(text)

    def configure(self):
        subprocess.run(["cmake", *CONFIGURE, "-S", self.source, "-B", self.build], check=True,
                       stdout=subprocess.DEVNULL)

    def make(self, tests):
        """Builds the programs of these tests; returns the output of a failed build, else ""."""
        names = sorted({test.partition(":")[0].replace("/", "_") for test in tests})
        done = subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs), *names],
                              capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stdout

    def failure_of(self, test):
        """The case that failed, or the other way of failing; "" if it passes within its time."""
        failure = self._failure_of(test)
        # Other processes may have used the machine, so a time-out is tried again.
        return self._failure_of(test) if failure == "time-out" else failure

    def _failure_of(self, test):
        name, _, case = test.partition(":")
        program = os.path.join(self.build, "bin", "tests", name.replace("/", "_"))
        command = [program, "--gtest_fail_fast", "--gtest_brief=1"]
        if case:
            command.append(f"--gtest_filter={case}")
        limit_s = self.usual_s.get(test, 600) * SLACK_FACTOR + SLACK_S
        cpu_limit_s = int(self.usual_cpu_s.get(test, 600) * CPU_FACTOR + CPU_SLACK_S)
        begin, cpu_begin = time.monotonic(), cpu_of_children()
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=limit_s, check=False,
                                  preexec_fn=lambda: limit_cpu(cpu_limit_s))
        except subprocess.TimeoutExpired:
            return "time-out"
        self.usual_s.setdefault(test, time.monotonic() - begin)
        self.usual_cpu_s.setdefault(test, cpu_of_children() - cpu_begin)
        if done.returncode == 0:
            return ""
        if done.returncode == -signal.SIGXCPU:
            return "too much work"
        cases = re.findall(rb"^\[  FAILED  \] (\w+\.\w+)", done.stdout, re.MULTILINE)
        return cases[0].decode() if cases else f"status {done.returncode}"


def cpu_of_children():
    """Processor seconds of child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def limit_cpu(seconds):
    """Runs in the child before it becomes a test: SIGXCPU will end it."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 60))


def try_rule(copy, rule, original, times):
    """'killed by …', 'survived' or 'did not compile'."""
    copy.write(rule.file, rule.applied_to(original))
    try:
        output = copy.make(rule.tests)
        if output:
            errors = [line for line in output.splitlines() if "error" in line]
            return "did not compile" + "".join("\n    " + line for line in errors[:3])
        lucky = ""
        for test in rule.tests:
            failures = failures_of(copy, test, times)
            if len(failures) == times:
                return f"killed by {test}, {failures[0]}"
            if failures:
                lucky = f", though {test} failed {len(failures)} times of {times}"
        return "survived" + lucky
    finally:
        copy.write(rule.file, original)


def failures_of(copy, test, times):
    """The failures of at most `times` runs; no run follows one that passes."""
    failures = []
    while len(failures) < times:
        failure = copy.failure_of(test)
        if not failure:
            break
        failures.append(failure)
    return failures


def run_as_it_is(copy, rules):
    """Builds and runs every test once; returns those that fail on the unchanged tree."""
    tests = sorted({test for rule in rules for test in rule.tests})
    print(f"building {len(tests)} tests as they are", flush=True)
    copy.configure()
    output = copy.make(tests)
    if output:
        print(output)
        return ["the build"]
    return [test for test in tests if copy.failure_of(test)]


def take_away(root, rules, folder, jobs, times):
    begin = time.monotonic()
    copy = Copy(root, folder, jobs)
    failing = run_as_it_is(copy, rules)
    if failing:
        print("fails before anything is taken away: " + ", ".join(failing))
        return 1
    print(f"all pass after {time.monotonic() - begin:.0f} s", flush=True)
    outcomes = []
    for number, rule in enumerate(sorted(rules, key=lambda rule: rule.file), 1):
        began = time.monotonic()
        outcome = try_rule(copy, rule, read(copy.source, rule.file), times)
        outcomes.append((rule, outcome))
        print(f"[{number}/{len(rules)}] {rule.name}: {outcome}"
              f" ({time.monotonic() - began:.0f} s)", flush=True)
    survived = [rule for rule, outcome in outcomes if outcome.startswith("survived")]
    broken = [rule for rule, outcome in outcomes if outcome.startswith("did not")]
    print()
    for title, those in (("survived", survived), ("did not compile", broken)):
        for rule in those:
            print(f"{title}: {rule.name} ({rule.file}), tests {' '.join(rule.tests)}: "
                  f"{rule.note()}")
    killed = len(rules) - len(survived) - len(broken)
    by_stress = sum(outcome.startswith("killed") and "stress" in outcome for _, outcome in outcomes)
    print(f"{len(rules)} rules: {killed} killed, {by_stress} of them by stress, "
          f"{len(survived)} survived, {len(broken)} did not compile; "
          f"{(time.monotonic() - begin) / 60:.0f} minutes")
    return 1 if survived or broken else 0


def parse_arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", default=os.path.dirname(here), help="the tree")
    parser.add_argument("--rules", action="append", default=[],
                        help="a rule file; else those of the tree")
    parser.add_argument("--rule", action="append", default=[], help="pattern of a name or file")
    parser.add_argument("--build-dir", default="", help="copy and build stay there; else temporary")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--times", type=int, default=1, help="runs of a test, all of which fail")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def rule_files_of(root):
    paths = [os.path.join(root, "tools", name) for name in RULE_FILES]
    return [path for path in paths if os.path.isfile(path)]


def main():
    arguments = parse_arguments()
    rules = Rules()
    for path in arguments.rules or rule_files_of(arguments.root):
        try:
            rules.add(read("", path))
        except RuleError as error:
            print(f"{path}: {error}")
            return 1
    try:
        rules.make_conditions(arguments.root)
    except RuleError as error:
        print(f"planted bugs: {error}")
        return 1
    if arguments.check:
        return 1 if check(arguments.root, rules) else 0
    chosen = [rule for rule in rules.rules
              if not arguments.rule or any(fnmatch.fnmatchcase(text, pattern)
                                           for pattern in arguments.rule
                                           for text in (rule.name, rule.file))]
    if arguments.list:
        for rule in chosen:
            print(f"{rule.name}: {rule.file}: {' '.join(rule.tests)}")
        return 0
    if not chosen:
        print("no rule matches")
        return 1
    if check(arguments.root, rules):
        return 1
    if arguments.build_dir:
        return take_away(arguments.root, chosen, arguments.build_dir, arguments.jobs,
                         arguments.times)
    with tempfile.TemporaryDirectory(prefix="foedus-lines-") as folder:
        return take_away(arguments.root, chosen, folder, arguments.jobs, arguments.times)


if __name__ == "__main__":
    sys.exit(main())
