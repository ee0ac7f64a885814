"""Files of the tree, and C++ text without comments, for the checks of this folder."""

import os
import re

SKIPPED_FOLDERS = {".git", "build", "__pycache__", ".cache", ".vscode", ".idea"}

TOKEN = re.compile(
    r'(?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<number>\b\d[\w']*)"
    r"|(?P<char>'(?:[^'\\\n]|\\.)+')"
    r"|(?P<line>//(?:[^\n\\]|\\.)*)"
    r"|(?P<block>/\*.*?\*/)",
    re.DOTALL,
)


def source_files(root, tops=None):
    """Paths below root, relative to it, sorted; tops limits the walk to some first folders."""
    found = []
    for folder, subfolders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        relative = "" if relative == "." else relative + "/"
        subfolders[:] = [
            s for s in subfolders
            if s not in SKIPPED_FOLDERS and (relative or tops is None or s in tops)
        ]
        if relative or tops is None:
            found.extend(relative + name for name in names)
    return sorted(found)


def read_text(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def is_cpp(path):
    return path.endswith((".h", ".cc"))


def code_only(text, keep_strings=False):
    """The text with comments and the contents of literals blanked; lines stay where they are."""
    def blank(match):
        piece = match.group(0)
        kind = match.lastgroup
        if kind == "number" or (keep_strings and kind in ("raw", "string", "char", "tag")):
            return piece
        if kind in ("line", "block"):
            return re.sub(r"[^\n]", " ", piece)
        return piece[0] + re.sub(r"[^\n]", " ", piece[1:-1]) + piece[-1]
    return TOKEN.sub(blank, text)
