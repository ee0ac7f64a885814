#!/usr/bin/env python3
"""Copies the pages, and the files of the repository that they link to, into a folder for mkdocs:
stage_pages.py <folder>.

Pages come into the folder itself, other Markdown and pictures into repository/. Links follow. In a
file that is not a page, a link to something that is not copied becomes its text. In a page it is an
error.
"""

import os
import re
import shutil
import sys

SOURCE = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PAGES = "docs/pages/"
COPIED = (".md", ".svg", ".png")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^()\s]+)\)")
BLOCK = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)


def text_of(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def target_of(path, link):
    """The file that a link in a file leads to, from the root of the repository; None: elsewhere."""
    if "://" in link or link.startswith("#"):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(path), link.partition("#")[0]))


def staged_path(path):
    """Where a file of the repository lies in the folder."""
    return path.removeprefix(PAGES) if path.startswith(PAGES) else "repository/" + path


def linked_files(pages):
    """The pages, and the files that these link to."""
    found = set(pages)
    for page in pages:
        for _, _, link in LINK.findall(BLOCK.sub("", text_of(page))):
            target = target_of(page, link)
            if target is not None:
                if not target.endswith(COPIED) or not os.path.isfile(os.path.join(SOURCE, target)):
                    raise SystemExit(f"{page}: the link {link} leads to no page or picture")
                found.add(target)
    return found


def with_staged_links(path, text, staged):
    """The text of a file with the links that it has in the folder."""
    here = os.path.dirname(staged_path(path))

    def follow(match):
        target = target_of(path, match[3])
        if target is None:
            return match[0]
        if target not in staged:
            return match[2]
        anchor = match[3].partition("#")[1:]
        moved = os.path.relpath(staged_path(target), here or ".")
        return f"{match[1]}[{match[2]}]({moved}{''.join(anchor)})"

    pieces, end = [], 0
    for block in BLOCK.finditer(text):
        pieces += [LINK.sub(follow, text[end:block.start()]), block[0]]
        end = block.end()
    return "".join(pieces) + LINK.sub(follow, text[end:])


def main():
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    pages = [PAGES + name for name in sorted(os.listdir(os.path.join(SOURCE, PAGES)))]
    staged = linked_files(pages)
    for path in sorted(staged):
        to = os.path.join(folder, staged_path(path))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if path.endswith(".md"):
            with open(to, "w", encoding="utf-8") as file:
                file.write(with_staged_links(path, text_of(path), staged))
        else:
            shutil.copyfile(os.path.join(SOURCE, path), to)
    print(f"stage_pages: {len(pages)} pages, {len(staged) - len(pages)} other files")


if __name__ == "__main__":
    main()
