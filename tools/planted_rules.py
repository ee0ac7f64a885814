"""Reads the rules of planted_bugs.py, makes those of `mutants` blocks, and checks that they fit.

  mutants <name>         a rule for each thing that an operator takes away (planted_mutants.py)
    file <path>          or a pattern of several
    tests <test>...      in the order in which they are tried; at least one must fail. They are
                         named as in ctest, with :<case> for one case
    operators <name>...  else all
    functions <name>...  patterns of their names without those of classes; else all
    - <text>             a mutant that stays alive: function, kind and text; ... replaces the end,
                         #2 is the second of equal ones; a comment above gives the reason
  rule <name>            one thing that no operator takes away
    file <path>
    tests <test>...
    - <text>             lines or a part of one, as in the file but for margins; found once
    + <text>             the replacement; none: the lines are removed
  every <expression> in <file pattern>...   each line with a match is part of a rule or mutant,
                         unless it is a comment
  aside <file>: <text>   excepts lines that hold this text; a comment above gives the reason

There are no rules for limits, messages, memory orders and fences. tests/models weakens those
orders that a model has; sites.aside there gives the reasons for the others.
"""

import fnmatch
import glob
import os
import re
import subprocess

import planted_mutants

RULE_FILES = ("tests/*/planted.lines",)
HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class RuleError(Exception):
    """A line of a rule file that cannot be understood, or that does not fit the tree."""


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


class Generated(Rule):
    """A rule that an operator has made."""

    def __init__(self, block, path, mutant):
        stem = os.path.splitext(os.path.basename(path))[0]
        super().__init__(f"{stem}:{mutant.scope.name}:{mutant.kind}-{mutant.ordinal}", block.number)
        self.file, self.tests, self.mutant = path, block.tests, mutant
        self.which = ""  # tells those with equal notes apart

    def place(self, text):
        return self.mutant.begin, self.mutant.end

    def applied_to(self, text):
        return planted_mutants.applied(text, self.mutant)

    def note(self):
        return self.mutant.note + self.which

    def is_named(self, line):
        """True if a line of the block names it: its note, or the first part of it and then ..."""
        if line.endswith("..."):
            return self.note().startswith(line[:-3])
        return line in (self.note(), self.mutant.note)


class Block:
    """Files of which the operators make rules, except those that lines of - name."""

    def __init__(self, name, number):
        self.name, self.number = name, number
        self.file, self.tests, self.old, self.new = "", [], [], []
        self.operators, self.functions = planted_mutants.OPERATORS, ("*",)

    def paths(self, files):
        return fnmatch.filter(files, self.file)

    @staticmethod
    def is_of(mutant, function):
        return fnmatch.fnmatchcase(mutant.scope.name, function)

    def rules_of(self, root, path):
        """All of a file, those with a reason to stay alive, too."""
        made = [Generated(self, path, mutant) for mutant
                in planted_mutants.mutants(read(root, path), self.operators)
                if any(self.is_of(mutant, one) for one in self.functions)]
        equal = {}
        for rule in made:
            equal.setdefault(rule.mutant.note, []).append(rule)
        for those in equal.values():
            for number, rule in enumerate(those, 1):
                rule.which = f" #{number}" if len(those) > 1 else ""
        return made


class Rules:
    """The contents of rule files: rules, blocks, and expressions whose every match needs a rule."""

    def __init__(self):
        self.rules, self.blocks, self.every, self.aside = [], [], [], []
        self.named = []  # generated rules with a reason to stay alive

    def add(self, text):
        """Adds the text of a rule file."""
        current = []
        for number, line in enumerate(text.splitlines(), 1):
            stripped = line.strip()
            if not stripped or stripped.startswith("#"):
                continue
            try:
                self._parse(number, stripped, current)
            except (IndexError, ValueError, re.error) as error:
                raise RuleError(f"line {number}: cannot be understood: {line}") from error
        for rule in current:
            lacks_lines = not rule.old if isinstance(rule, Rule) else bool(rule.new)
            if not rule.file or not rule.tests or lacks_lines:
                raise RuleError(f"line {rule.number}: rule {rule.name} lacks file, tests or lines")

    def _parse(self, number, line, current):
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word in ("rule", "mutants"):
            if any(known.name == rest for known in self.rules + self.blocks):
                raise ValueError
            current.append(Rule(rest, number) if word == "rule" else Block(rest, number))
            (self.rules if word == "rule" else self.blocks).append(current[-1])
        elif word == "every":
            expression, folders = rest.rsplit(" in ", 1)
            self.every.append((re.compile(expression), folders.split()))
        elif word == "aside":
            path, _, text = rest.partition(": ")
            self.aside.append((path, text.strip()))
        elif word == "file":
            current[-1].file = rest
        elif word == "tests":
            current[-1].tests = rest.split()
        elif word == "operators" and isinstance(current[-1], Block):
            current[-1].operators = tuple(rest.split())
            if not set(current[-1].operators) <= set(planted_mutants.OPERATORS):
                raise ValueError
        elif word == "functions" and isinstance(current[-1], Block):
            current[-1].functions = tuple(rest.split())
        elif word == "-":
            current[-1].old.append(rest)
        elif word == "+":
            current[-1].new.append(rest)
        else:
            raise ValueError

    def keep(self, files):
        """Forgets the rules of other files than these, and blocks without any of them."""
        self.rules = [rule for rule in self.rules if rule.file in files]
        self.blocks = [block for block in self.blocks if block.paths(files)]

    def generate(self, root, only=None):
        """Makes the rules of the blocks; `only`: of no other files, and without complaints."""
        files = tree_files(root) if self.blocks else []
        for block in self.blocks:
            paths = block.paths(files)
            if not paths:
                raise RuleError(f"{block.name}: there is no {block.file}")
            made = [rule for path in paths if only is None or path in only
                    for rule in block.rules_of(root, path)]
            for line in block.old:
                if only is None and not any(rule.is_named(line) for rule in made):
                    raise RuleError(f"{block.name}: no mutant of {block.file} is: {line}")
            for one in block.functions:
                if only is None and not any(block.is_of(rule.mutant, one) for rule in made):
                    raise RuleError(f"{block.name}: {block.file} has no mutant in {one}")
            for rule in made:
                is_named = any(rule.is_named(line) for line in block.old)
                (self.named if is_named else self.rules).append(rule)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def rule_files_of(root):
    return [path for pattern in RULE_FILES
            for path in sorted(glob.glob(os.path.join(root, pattern)))]


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


# ---- lines that changed


def changed_lines(root, commit):
    """{path: [(first line, last line)]} of the lines that were changed or added since a commit."""
    done = subprocess.run(
        ["git", "-C", root, "diff", "-U0", "-M", "--no-color", "--no-ext-diff", "--relative",
         "--dst-prefix=b/", commit, "--"],
        capture_output=True, check=False)
    if done.returncode != 0:
        raise RuleError(done.stderr.decode().strip())
    changed, path = {}, ""
    for line in done.stdout.decode(errors="replace").splitlines():
        hunk = HUNK.match(line)
        if line.startswith("+++ "):
            path = line[len("+++ b/"):]
        elif hunk and hunk.group(2) != "0":
            first = int(hunk.group(1))
            changed.setdefault(path, []).append((first, first + int(hunk.group(2) or 1) - 1))
    return changed


def is_in(rule, text, lines):
    """True if the place of the rule overlaps one of the lines [(first, last)]."""
    begin, end = rule.place(text)
    first, last = text.count("\n", 0, begin) + 1, text.count("\n", 0, end) + 1
    return any(first <= high and low <= last for low, high in lines)


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
    yield from check_tests(root, rule)


def check_tests(root, rule):
    """Complaints about the tests of a rule or block."""
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
        spans = [rule.place(text) for rule in rules.rules + rules.named if rule.file == path]
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
    complaints = [text for rule in rules.rules if not isinstance(rule, Generated)
                  for text in check_rule(root, rule)]
    complaints += [text for block in rules.blocks for text in check_tests(root, block)]
    if not complaints:
        complaints = list(check_covered(root, rules))
    for complaint in complaints:
        print(f"planted bugs: {complaint}")
    return len(complaints)
