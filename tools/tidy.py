#!/usr/bin/env python3
"""Checks the limits and habits of the source text.

  files at most 500 lines, functions at most 70 (C++), lines at most 100 columns (code)
  no tabs, no trailing blanks, no markers of unfinished work, no commented-out code
  no files named util, common, helper, manager, impl or fwd; no identifiers of tidy.words
  #pragma once in every header and no include guard; a README.md in every folder with sources
  each file that foedus-core/GLOSSARY.md names exists, and has the words of its row
  at most 25 C++ files in a folder
  test cases are named in snake_case, as facts; what they belong to ends with Test

Sample code in a comment is indented by four blanks or more after the slashes. A file that has to
exceed a length stands in tidy.allow with the length measured, which may only shrink. Prints one
line per violation and exits with 1 if there is any.
"""

import argparse
import fnmatch
import os
import re
import sys

import cpp_text
from cpp_functions import function_lengths

LIMITS = {"file_lines": 500, "function_lines": 70, "folder_files": 25}
COLUMNS = 100
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
NAME_WORDS = {
    "util", "utils", "utility", "utilities", "helper", "helpers", "manager", "managers", "impl",
    "impls", "fwd",
}
WORD_FOLDERS = ("foedus-core/", "gleaner/")
CODE = (".h", ".cc", ".py", ".cmake", ".rules", ".sh")
TEXT = CODE + (".md", ".txt", ".json", ".words", ".allow", ".in", "")
LONG_LINES_ALLOWED = (".rules", ".md", ".txt", ".json", ".in")
LENGTH_MEASURED = (".h", ".cc", ".py")
NOT_OURS = ("LICENSE",)
README_WANTED_BY = (".h", ".cc", ".py")
# Those of tests mirror the folders of the code; tests/README.md serves all.
README_NOT_WANTED = ("tests/*", "python/src/foedus")
GLOSSARY = "foedus-core/GLOSSARY.md"
GLOSSARY_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/[\w-]+\.\w+)`")
TEST_CASE = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
COMMENTED_CODE = re.compile(
    r"^\s*//(?! {4})(?!/)\s*"
    r"(?:(?:return|break|continue|else)\b.*|.*(?:[(=]|::|->).*)[;{]$")


def extension(path):
    return os.path.splitext(path)[1]


def check_name(path):
    stem, ending = os.path.splitext(os.path.basename(path))
    words = re.split(r"[_\-.]", stem)
    if ending in CODE and (NAME_WORDS.intersection(words) or stem == "common"):
        yield 1, "a file is named by what it does, not util, common, helper, manager, impl, fwd"


def check_lines(path, text):
    long_lines_allowed = extension(path) in LONG_LINES_ALLOWED
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        if len(line) > COLUMNS and not long_lines_allowed:
            yield number, f"{len(line)} columns, more than {COLUMNS}"
        if UNFINISHED.search(line):
            yield number, "a marker of unfinished work"
        if cpp_text.is_cpp(path) and COMMENTED_CODE.match(line):
            yield number, "commented-out code (indent an example by four blanks)"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end of the file"


def check_header(path, text):
    if not path.endswith(".h"):
        return
    code = cpp_text.code_only(text)
    if not re.search(r"^#pragma once$", code, re.MULTILINE):
        yield 1, "no #pragma once"
    guard = re.search(r"^#ifndef (\w+_H_?)\n#define \1\b", code, re.MULTILINE)
    if guard:
        yield code.count("\n", 0, guard.start()) + 1, "an include guard besides #pragma once"


def check_words(path, text, words):
    if not cpp_text.is_cpp(path) or not path.startswith(WORD_FOLDERS) or not words:
        return
    code = re.sub(r"^[ \t]*#include[^\n]*", "", cpp_text.code_only(text), flags=re.MULTILINE)
    pattern = r"(?<!std::)\b(" + "|".join(map(re.escape, words)) + r")\b"
    for match in re.finditer(pattern, code):
        line = code.count("\n", 0, match.start()) + 1
        yield line, f"'{match.group(1)}': here the word is {words[match.group(1)]}"


def check_test_names(path, text):
    if not cpp_text.is_cpp(path):
        return
    for match in TEST_CASE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if not match.group(1).endswith("Test"):
            yield line, f"{match.group(1)} does not end with Test"
        if match.group(2) != match.group(2).lower():
            yield line, f"{match.group(2)} is not in snake_case"


def check_folders(files, allowed):
    """Complaints about folders with too many C++ files, and about entries that allow too many."""
    counts = {}
    for path in files:
        if cpp_text.is_cpp(path):
            counts[os.path.dirname(path)] = counts.get(os.path.dirname(path), 0) + 1
    for folder, count in sorted(counts.items()):
        entry = allowed.get((folder, "folder_files"))
        limit = entry or LIMITS["folder_files"]
        if count > limit:
            yield folder, f"{count} C++ files, more than {limit}"
        elif entry is not None and count < entry:
            yield folder, f"tidy.allow: folder_files is {count} now: lower or delete the entry"


def check_readmes(files):
    existing = set(files)
    folders = {os.path.dirname(p) for p in files if extension(p) in README_WANTED_BY}
    for folder in sorted(folders - {""}):
        if any(fnmatch.fnmatchcase(folder, pattern) for pattern in README_NOT_WANTED):
            continue
        if folder + "/README.md" not in existing:
            yield folder, "a folder with sources and without README.md"


def glossary_words(line):
    """The words that a row of the glossary explains: its first cell without brackets."""
    cells = line.split("|")
    if len(cells) < 3:
        return []
    words = re.sub(r"\([^)]*\)|[*`]", " ", cells[1]).split(",")
    return [word.strip() for word in words if word.strip()]


def has_word(text, word):
    """True if `text` has it in any case, its parts together or apart: run_file, RunFile."""
    parts = r"[\s_/]*".join(map(re.escape, word.split()))
    return re.search(r"(?<![A-Za-z])" + parts, text, re.IGNORECASE) is not None


def check_glossary(root, files):
    if GLOSSARY not in files:
        return
    for number, line in enumerate(cpp_text.read_text(root, GLOSSARY).split("\n"), 1):
        for path in GLOSSARY_PATH.findall(line):
            if path not in files:
                yield number, f"{path} does not exist"
                continue
            text = cpp_text.read_text(root, path)
            for word in glossary_words(line):
                if not has_word(text, word):
                    yield number, f"{path} does not have the word '{word}'"


def measure(path, text):
    """Yields (metric, line, what, value)."""
    if extension(path) in LENGTH_MEASURED:
        yield "file_lines", 1, "file", text.count("\n")
    if cpp_text.is_cpp(path):
        for name, line, length in function_lengths(text):
            yield "function_lines", line, f"function {name}", length


def check_lengths(path, text, allowed):
    """Complaints about lengths; also those about entries of tidy.allow that are too generous."""
    longest = {}
    for metric, line, what, value in measure(path, text):
        longest[metric] = max(value, longest.get(metric, 0))
        limit = allowed.get((path, metric), LIMITS[metric])
        if value > limit:
            yield line, f"{what} has {value} lines, more than {limit}"
    for (allowed_path, metric), limit in allowed.items():
        value = longest.get(metric, 0)
        if allowed_path != path or metric == "folder_files" or value >= limit:
            continue
        if value <= LIMITS[metric]:
            yield 1, f"tidy.allow: {metric} is {value} now, within the limit: delete the entry"
        else:
            yield 1, f"tidy.allow: {metric} is {value} now: lower the entry from {limit}"


def read_allow(path):
    allowed = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = line.split()
            if not fields or line.startswith("#"):
                continue
            if len(fields) != 3 or fields[1] not in LIMITS or not fields[2].isdigit():
                raise SystemExit(f"{path}:{number}: expected <path> <metric> <measured>")
            allowed[fields[0], fields[1]] = int(fields[2])
    return allowed


def read_words(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split(None, 1) for line in file if not line.startswith("#")]
    return {fields[0]: fields[1].strip() for fields in lines if len(fields) == 2}


def complaints_about(path, text, allowed, words):
    for complaints in (check_name(path), check_lines(path, text), check_header(path, text),
                       check_words(path, text, words), check_test_names(path, text),
                       check_lengths(path, text, allowed)):
        yield from complaints


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.dirname(here))
    parser.add_argument("--allow", default=os.path.join(here, "tidy.allow"))
    parser.add_argument("--words", default=os.path.join(here, "tidy.words"))
    arguments = parser.parse_args()
    allowed, words = read_allow(arguments.allow), read_words(arguments.words)

    files = [p for p in cpp_text.source_files(arguments.root)
             if extension(p) in TEXT and os.path.basename(p) not in NOT_OURS]
    found = []
    for path in files:
        text = cpp_text.read_text(arguments.root, path)
        for line, what in complaints_about(path, text, allowed, words):
            found.append(f"{path}:{line}: {what}")
    found.extend(f"{path}: {what}" for path, what in check_readmes(files))
    found.extend(f"{folder}: {what}" for folder, what in check_folders(files, allowed))
    found.extend(f"{GLOSSARY}:{line}: {what}"
                 for line, what in check_glossary(arguments.root, files))
    found.extend(f"tidy.allow: {path} does not exist"
                 for path in sorted({path for path, metric in allowed
                                     if metric != "folder_files"} - set(files)))
    for complaint in found:
        print(complaint)
    print(f"tidy: {len(files)} files, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
