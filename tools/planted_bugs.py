#!/usr/bin/env python3
"""Shows that tests notice the loss of each thing that correctness depends on, one at a time.

The rules stand in the files that RULE_FILES of planted_rules.py names; tools/README.md explains
them. The tree is copied. For each file, the tests that its rules name are built and run once as
they are, and then once for each rule with its lines replaced. At least one test of the rule has to
fail (a crash, more work than usual or, twice, a time-out is a failure). The mutants that operators
make of a file (planted_mutants.py) are built into one program, which is told which one it runs.

Prints what became of each rule and exits with 1 if no test failed for a rule, if the replacement
of a rule that is not generated did not compile, or if a test fails with nothing replaced.

  planted_bugs.py [--rule PATTERN]...   all rules, or those whose name or file matches
  planted_bugs.py --since COMMIT        those in lines that were changed or added since then
  planted_bugs.py --minutes N           begins no further rule after that time
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

import planted_mutants
from planted_rules import (Generated, RuleError, Rules, changed_lines, check, is_in, read,
                           rule_files_of, tree_files)

CONFIGURE = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
             "-DFOEDUS_WERROR=OFF", "-DCMAKE_UNITY_BUILD=OFF")
# Limits of a test's time and of its processor time, relative to its run on the unchanged tree, for
# a machine with other work.
SLACK_FACTOR, SLACK_S = 5, 20
CPU_FACTOR, CPU_SLACK_S = 3, 4


# ---- taking lines away


class Copy:
    """A copy of the tree in which lines may go, and its build."""

    def __init__(self, root, folder, jobs):
        self.source, self.build = os.path.join(folder, "source"), os.path.join(folder, "build")
        self.jobs, self.usual_s, self.usual_cpu_s = jobs, {}, {}
        self.failed = set()  # tests that fail on the unchanged tree
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

    def failing(self, tests):
        """Builds and runs tests on the unchanged tree, each one once; returns those that fail."""
        new = [test for test in sorted(tests) if test not in self.usual_s]
        output = self.make(new) if new else ""
        if output:
            print(output)
            return ["the build"]
        self.failed |= {test for test in new if self.failure_of(test)}
        return sorted(self.failed & set(tests))

    def make(self, tests):
        """Builds the programs of these tests; returns the output of a failed build, else ""."""
        names = sorted({test.partition(":")[0].replace("/", "_") for test in tests})
        done = subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs), *names],
                              capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stdout

    def failure_of(self, test, number=0):
        """The case that failed, or the other way of failing; "" if it passes within its time.

        number: of the mutant that the program runs; 0: none.
        """
        failure = self._failure_of(test, number)
        # Other processes may have used the machine, so a time-out is tried again.
        return self._failure_of(test, number) if failure == "time-out" else failure

    def _failure_of(self, test, number):
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
                                  env={**os.environ, "FOEDUS_PLANTED": str(number)},
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


class Trial:
    """A pass over rules; outcomes is a list of (rule, text)."""

    def __init__(self, copy, rules, times, deadline):
        self.copy, self.rules, self.times, self.deadline = copy, rules, times, deadline
        self.outcomes, self.failing = [], []

    def run(self):
        for path in sorted({rule.file for rule in self.rules}):
            if self._is_over():
                break
            those = [rule for rule in self.rules if rule.file == path]
            failing = self.copy.failing({test for rule in those for test in rule.tests})
            if failing:
                print(f"{path}: fails as it is: {', '.join(failing)}", flush=True)
                self.failing += failing
                continue
            alone = [rule for rule in those if not isinstance(rule, Generated)]
            self._try_together(path, [rule for rule in those if rule not in alone], alone)
            original = read(self.copy.source, path)
            for rule in alone:
                if not self._is_over():
                    self._try_alone(rule, original)

    def _is_over(self):
        return time.monotonic() > self.deadline

    def _add(self, rule, outcome, began):
        self.outcomes.append((rule, outcome))
        print(f"[{len(self.outcomes)}/{len(self.rules)}] {rule.name}: {outcome}"
              f" ({time.monotonic() - began:.1f} s)", flush=True)

    def _try_alone(self, rule, original):
        began = time.monotonic()
        self.copy.write(rule.file, rule.applied_to(original))
        try:
            output = self.copy.make(rule.tests)
            if output:
                errors = [line for line in output.splitlines() if "error" in line]
                outcome = "did not compile" + "".join("\n    " + line for line in errors[:3])
            else:
                outcome = self._outcome(rule, 0)
        finally:
            self.copy.write(rule.file, original)
        self._add(rule, outcome, began)

    def _try_together(self, path, rules, alone):
        """Tries generated rules in one program; adds those to `alone` that it cannot have."""
        original = read(self.copy.source, path)
        numbered = {}
        for number, rule in enumerate(rules, 1):
            if planted_mutants.can_be_planted(original, rule.mutant):
                numbered[number] = rule
            else:
                alone.append(rule)
        if not numbered or self._is_over():
            return
        try:
            if not self._make_together(path, original, numbered, alone):
                return
            for number, rule in numbered.items():
                if self._is_over():
                    break
                began = time.monotonic()
                self._add(rule, self._outcome(rule, number), began)
        finally:
            self.copy.write(path, original)

    def _make_together(self, path, original, numbered, alone):
        """Builds the program, and takes out of `numbered` those with which it does not compile."""
        tests = sorted({test for rule in numbered.values() for test in rule.tests})
        while numbered:
            self.copy.write(path, planted_mutants.planted(
                original, {number: rule.mutant for number, rule in numbered.items()}))
            output = self.copy.make(tests)
            if not output:
                break
            guilty = planted_mutants.guilty(original, path, output, {
                number: rule.mutant for number, rule in numbered.items()}) or list(numbered)
            alone += [numbered.pop(number) for number in guilty]
        failing = [test for test in tests if numbered and self.copy.failure_of(test)]
        if failing:
            print(f"{path}: with none of its mutants, {', '.join(failing)} fails:"
                  " they are tried one at a time", flush=True)
            alone += numbered.values()
        return bool(numbered) and not failing

    def _outcome(self, rule, number):
        """'killed by …' or 'survived'; number: which one the program runs, 0 if it has no other."""
        lucky = ""
        for test in rule.tests:
            failures = []
            while len(failures) < self.times:
                failure = self.copy.failure_of(test, number)
                if not failure:
                    break
                failures.append(failure)
            if len(failures) == self.times:
                return f"killed by {test}, {failures[0]}"
            if failures:
                lucky = f", though {test} failed {len(failures)} times of {self.times}"
        return "survived" + lucky

    def report(self, minutes):
        """Prints what is not as it should be; returns the exit status."""
        def those(begin):
            return [rule for rule, outcome in self.outcomes if outcome.startswith(begin)]
        survived = those("survived")
        broken = [rule for rule in those("did not") if not isinstance(rule, Generated)]
        print()
        for title, rules in (("survived", survived), ("did not compile", broken)):
            for rule in rules:
                print(f"{title}: {rule.name} ({rule.file}), tests {' '.join(rule.tests)}: "
                      f"{rule.note()}")
        stress = sum("stress" in outcome.partition(",")[0] for _, outcome in self.outcomes
                     if outcome.startswith("killed"))
        left = len(self.rules) - len(self.outcomes)
        print(f"{len(self.outcomes)} rules: {len(those('killed'))} killed, {stress} of them by "
              f"stress, {len(survived)} survived, {len(those('did not'))} did not compile; "
              f"{minutes:.0f} minutes" + (f"; {left} are left" if left else ""))
        return 1 if survived or broken or self.failing else 0


def take_away(arguments, rules, folder):
    begin = time.monotonic()
    deadline = begin + 60 * arguments.minutes if arguments.minutes else float("inf")
    copy = Copy(arguments.root, folder, arguments.jobs)
    copy.configure()
    trial = Trial(copy, rules, arguments.times, deadline)
    trial.run()
    return trial.report((time.monotonic() - begin) / 60)


def parse_arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", default=os.path.dirname(here), help="the tree")
    parser.add_argument("--rules", action="append", default=[],
                        help="a rule file; else those of the tree")
    parser.add_argument("--rule", action="append", default=[], help="pattern of a name or file")
    parser.add_argument("--since", help="a commit: only what is in lines that it does not have")
    parser.add_argument("--minutes", type=float, default=0, help="no rule begins later; 0: all")
    parser.add_argument("--build-dir", default="", help="copy and build stay there; else temporary")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--times", type=int, default=1, help="runs of a test, all of which fail")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def rules_of(arguments, changed):
    """The rules of the files; changed: {path: lines} of which there have to be rules, or None."""
    rules = Rules()
    for path in arguments.rules or rule_files_of(arguments.root):
        try:
            rules.add(read("", path))
        except RuleError as error:
            raise RuleError(f"{path}: {error}") from error
    if changed is not None:
        rules.keep(list(changed))
    rules.generate(arguments.root, changed)
    return rules


def chosen_of(rules, arguments, changed):
    chosen = [rule for rule in rules.rules
              if not arguments.rule or any(fnmatch.fnmatchcase(text, pattern)
                                           for pattern in arguments.rule
                                           for text in (rule.name, rule.file))]
    if changed is None:
        return chosen
    texts = {rule.file: read(arguments.root, rule.file) for rule in chosen}
    return [rule for rule in chosen if is_in(rule, texts[rule.file], changed[rule.file])]


def run(arguments):
    changed = changed_lines(arguments.root, arguments.since) if arguments.since else None
    rules = rules_of(arguments, changed)
    if arguments.check or (changed is None and not arguments.list):
        if check(arguments.root, rules):
            return 1
        if arguments.check:
            return 0
    chosen = chosen_of(rules, arguments, changed)
    if arguments.list:
        for rule in chosen:
            print(f"{rule.name}: {rule.file}: {' '.join(rule.tests)}")
        return 0
    if not chosen and changed is not None:
        print(f"no rule is in a line that was changed since {arguments.since}")
        return 0
    if not chosen:
        print("no rule matches")
        return 1
    if arguments.build_dir:
        return take_away(arguments, chosen, arguments.build_dir)
    with tempfile.TemporaryDirectory(prefix="foedus-lines-") as folder:
        return take_away(arguments, chosen, folder)


def main():
    try:
        return run(parse_arguments())
    except RuleError as error:
        print(f"planted bugs: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
