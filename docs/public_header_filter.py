#!/usr/bin/env python3
"""Prints a header with the comments that doxygen takes: its INPUT_FILTER.

A comment of whole lines describes what comes after it, the first one of a header the file. A
comment behind code describes that code, and goes on in the lines below that have their // in the
same column. Rulers (// ----) stay as they are. Characters that are commands of doxygen, or of HTML,
are escaped.
"""

import re
import sys

WHOLE_LINE = re.compile(r"^(\s*)//(?!/)(.*)$")
BEHIND_CODE = re.compile(r"^(.*\S\s+)//(?!/)(.*)$")
RULER = re.compile(r"^\s*// ?-{4}")
COMMAND = re.compile(r"[\\@<>&#%]")


def escaped(text):
    """The text without commands: doxygen prints it as it stands."""
    return COMMAND.sub(lambda character: "\\" + character[0], text)


def is_in_string(code):
    """True if a // behind this code is within a string."""
    return code.count('"') % 2 == 1


def lines_for_doxygen(lines):
    """The lines of a header, as doxygen wants them."""
    column = None      # of a comment behind code, which the next line may continue
    of_file = "wanted"  # then "open", then "done"
    for line in lines:
        whole = WHOLE_LINE.match(line)
        if whole and RULER.match(line):
            column = None
            yield line
        elif whole and column == len(whole[1]):
            yield f"{whole[1]}///<{escaped(whole[2])}"
        elif whole:
            column = None
            if of_file == "wanted":
                of_file = "open"
                yield "/// @file"
            yield f"{whole[1]}///{escaped(whole[2])}"
        else:
            of_file = "done" if of_file == "open" else of_file
            behind = BEHIND_CODE.match(line)
            if behind and is_in_string(behind[1]):
                behind = None
            column = len(behind[1]) if behind else None
            is_member = behind and not behind[1].lstrip().startswith(("#", "}"))
            yield f"{behind[1]}///<{escaped(behind[2])}" if is_member else line


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in lines_for_doxygen(file.read().split("\n")):
            print(line)


if __name__ == "__main__":
    main()
