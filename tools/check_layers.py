#!/usr/bin/env python3
"""Checks that includes point down and that threads, time, chance and files have one place each.

The rules stand in layers.rules beside this file. Prints one line per violation and exits with 1
if there is any.
"""

import argparse
import fnmatch
import os
import re
import sys

import cpp_text

CHECKED_TOPS = ("foedus-core", "gleaner", "experiments", "examples")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


class RuleError(Exception):
    """A line of the rule file that cannot be understood."""


class Rules:
    """The parsed rule file."""

    def __init__(self, text):
        self.sets = {}
        self.regexes = {}
        self.layers = {}
        self.system = {}
        self.bans = {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if line and not line.startswith("#"):
                self._parse(number, line)

    def _parse(self, number, line):
        left, equals, right = line.partition(" = ")
        words = left.split()
        if not equals or len(words) < 2:
            raise RuleError(f"line {number}: expected '<word> <name> = <value>': {line}")
        kind, name = words[0], words[1]
        if kind == "set":
            self.sets[name] = self._patterns(number, right)
        elif kind == "set-regex":
            self.regexes[name] = right.strip()
        elif kind == "layer":
            self.layers[name] = self._patterns(number, right)
        elif kind == "system":
            self.system[name] = self._patterns(number, right)
        elif kind == "ban" and len(words) > 3 and words[2] == "in":
            for regex, value in self.regexes.items():
                right = right.replace("$" + regex, value)
            self.bans[name] = (words[3:], re.compile(right.strip(), re.MULTILINE), [])
        elif kind == "except" and name in self.bans:
            self.bans[name][2].extend(self._patterns(number, right))
        else:
            raise RuleError(f"line {number}: unknown rule: {line}")

    def _patterns(self, number, text):
        patterns = []
        for word in text.split():
            if not word.startswith("$"):
                patterns.append(word)
            elif word[1:] in self.sets:
                patterns.extend(self.sets[word[1:]])
            else:
                raise RuleError(f"line {number}: unknown set {word}")
        return patterns


def below(path, folder):
    return path.startswith(folder + "/")


def longest_folder(path, table):
    folders = [folder for folder in table if below(path, folder)]
    return max(folders, key=len) if folders else None


def allows(patterns, name):
    def matches(pattern):
        return fnmatch.fnmatchcase(name, pattern)
    refused = any(matches(p[1:]) for p in patterns if p.startswith("!"))
    return not refused and any(matches(p) for p in patterns if not p.startswith("!"))


def check_include(rules, root, path, bracket, name):
    """The complaint about one include line, or None."""
    if bracket == "<" and not below(name, "foedus"):
        if "." not in name:
            return None
        folder = longest_folder(path, rules.system)
        if folder and allows(rules.system[folder], name):
            return None
        return f"may not include <{name}>"
    layer = longest_folder(path, rules.layers)
    if layer is None:
        if path.count("/") == 1:
            return f"lies in no layer, but includes {name}"
        return "lies in a folder that tools/layers.rules does not know"
    if below(name, "foedus-core/include"):
        return f"includes {name}, which is spelled \"{name[len('foedus-core/include/'):]}\""
    spelled = ("foedus-core/include/" + name) if below(name, "foedus") else name
    if not os.path.exists(os.path.join(root, spelled)):
        return f"includes {name}, which is not spelled from the repository root"
    if longest_folder(spelled, rules.layers) == layer or allows(rules.layers[layer], name):
        return None
    return f"may not include {name} (layer {layer})"


def check_file(rules, root, path, text):
    """Yields (line, complaint) for one file."""
    for match in INCLUDE.finditer(cpp_text.code_only(text, keep_strings=True)):
        complaint = check_include(rules, root, path, match.group(1), match.group(2))
        if complaint:
            yield text.count("\n", 0, match.start()) + 1, complaint
    code = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", cpp_text.code_only(text), flags=re.MULTILINE)
    for name, (folders, regex, exceptions) in rules.bans.items():
        if not any(below(path, folder) for folder in folders) or allows(exceptions, path):
            continue
        for match in regex.finditer(code):
            found = " ".join(match.group(0).split())
            yield code.count("\n", 0, match.end()) + 1, f"names '{found}' (rule '{name}')"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=os.path.dirname(here))
    parser.add_argument("--rules", default=os.path.join(here, "layers.rules"))
    arguments = parser.parse_args()
    with open(arguments.rules, encoding="utf-8") as file:
        rules = Rules(file.read())

    violations = 0
    files = [p for p in cpp_text.source_files(arguments.root, CHECKED_TOPS) if cpp_text.is_cpp(p)]
    for path in files:
        text = cpp_text.read_text(arguments.root, path)
        for line, complaint in check_file(rules, arguments.root, path, text):
            print(f"{path}:{line}: {complaint}")
            violations += 1
    print(f"check_layers: {len(files)} files, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
