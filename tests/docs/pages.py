"""The pages of docs/pages and README.md, and the blocks in them."""

import dataclasses
import os
import re

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
PAGES = os.path.join(SOURCE, "docs", "pages")
CODE = os.path.join(SOURCE, "docs", "code")
FENCE = re.compile(r"^( *)```(.*)$")
NOT_RUN = re.compile(r"^ *<!-- not run: .+ -->$")


@dataclasses.dataclass
class Block:
    """What stands between two lines of ```."""

    path: str        # of the file, from the root of the repository
    line: int        # of its first line; the first of a file is 1
    tag: str         # the language, behind the first ```
    text: str
    is_marked: bool  # the line above says `<!-- not run: why -->`

    def place(self):
        """Where it is, for messages."""
        return f"{self.path}:{self.line}"


def page_paths():
    """The paths of all pages, from the root of the repository, README.md first."""
    return ["README.md"] + sorted("docs/pages/" + name for name in os.listdir(PAGES)
                                  if name.endswith(".md"))


def read(path):
    """The text of a file, whose path is from the root of the repository."""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def blocks_in(path, text):
    """The blocks of a page. An error names one that does not end."""
    found, begin, above = [], None, ""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if fence and begin is None:
            begin = Block(path, number + 1, fence[2].strip(), "", bool(NOT_RUN.match(above)))
            indent = fence[1]
        elif fence and not fence[2].strip():
            inside = lines[begin.line - 1:number - 1]
            begin.text = "".join(one.removeprefix(indent) + "\n" for one in inside)
            found.append(begin)
            begin = None
        above = line
    if begin is not None:
        raise AssertionError(f"{begin.place()}: a block without an end")
    return found


def all_blocks():
    """The blocks of all pages."""
    return [block for path in page_paths() for block in blocks_in(path, read(path))]


def prose(text):
    """A page without its blocks; lines stay where they are."""
    return re.sub(r"^ *```.*?^ *```", lambda block: re.sub(r"[^\n]", "", block[0]), text,
                  flags=re.DOTALL | re.MULTILINE)
