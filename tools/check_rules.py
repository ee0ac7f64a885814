#!/usr/bin/env python3
"""Checks the numbers of rules: each is defined once, where a README says, and each cited one is.

A rule is a capital letter and a number. It is defined in a comment of C++ that begins with it and
three blanks before it, or else, where no comment has it, in a README, as **X1**. The README of the
folder that defines it names it, alone or within a range (X1–X4, X1 to X4). Comments and Markdown
cite rules; code, strings and Markdown's `code` do not. Prints one line per violation and exits
with 1 if there is any.
"""

import argparse
import re
import sys

import cpp_text

CHECKED_TOPS = ("foedus-core", "gleaner", "experiments", "tests", "tools")
DEFINED = re.compile(r"^ *//   ([A-Z]\d{1,3}) +\S", re.MULTILINE)
DEFINED_IN_README = re.compile(r"\*\*([A-Z]\d{1,3})\*\*")
CITED = re.compile(r"(?<![\w.`-])([A-Z])(\d{1,3})(?![\w-])")
RANGE = re.compile(r"\b([A-Z])(\d{1,3})(?:–| to )(?:\1)(\d{1,3})\b")
MARKDOWN_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
# Names of others: phenomena of isolation (Adya).
OTHERS = {"G0"}


def blanked(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def comments_only(text):
    """The text of a C++ file without its code; lines stay where they are."""
    kept = []
    end = 0
    for match in cpp_text.TOKEN.finditer(text):
        if match.lastgroup not in ("line", "block"):
            continue
        kept.append(re.sub(r"[^\n]", " ", text[end:match.start()]) + match.group(0))
        end = match.end()
    return "".join(kept) + re.sub(r"[^\n]", " ", text[end:])


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def named_in(text):
    """All rules that a README names, those within its ranges, too."""
    named = {letter + number for letter, number in CITED.findall(text)}
    for letter, first, last in RANGE.findall(text):
        named.update(letter + str(number) for number in range(int(first), int(last) + 1))
    return named


class Rules:
    def __init__(self, root):
        self.texts = {}
        for path in cpp_text.source_files(root, CHECKED_TOPS):
            if cpp_text.is_cpp(path):
                self.texts[path] = comments_only(cpp_text.read_text(root, path))
            elif path.endswith(".md"):
                text = cpp_text.read_text(root, path)
                self.texts[path] = MARKDOWN_CODE.sub(blanked, text)
        self.defined = {}  # by rule: (path, line) of each definition
        self.find_definitions(cpp_text.is_cpp, DEFINED)
        in_comments = set(self.defined)
        self.find_definitions(lambda path: path.endswith(".md"), DEFINED_IN_README, in_comments)

    def find_definitions(self, is_looked_at, pattern, known=frozenset()):
        for path, text in self.texts.items():
            for match in pattern.finditer(text) if is_looked_at(path) else ():
                if match.group(1) not in known:
                    place = (path, line_of(text, match.start()))
                    self.defined.setdefault(match.group(1), []).append(place)

    def violations(self):
        for rule, places in sorted(self.defined.items()):
            for path, line in places[1:]:
                yield f"{path}:{line}: {rule} is a rule of {places[0][0]}:{places[0][1]} already"
            path, line = places[0]
            folder = path.rpartition("/")[0]
            readme = self.texts.get(folder + "/README.md", "")
            if rule not in named_in(readme):
                yield f"{path}:{line}: {folder}/README.md does not name {rule}"
        for path, text in sorted(self.texts.items()):
            for match in CITED.finditer(text):
                rule = match.group(1) + match.group(2)
                if rule not in self.defined and rule not in OTHERS:
                    yield f"{path}:{line_of(text, match.start())}: no rule {rule} is defined"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=".")
    rules = Rules(parser.parse_args().root)
    violations = list(rules.violations())
    for violation in violations:
        print(violation)
    print(f"check_rules: {len(rules.defined)} rules, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
