# ctest-labels: habits
"""Shows that each block of README.md and of docs/pages is run by some test, or says why it is not,
that links and names of sections lead somewhere, and that the interface has the names in the text.

A block's language decides what runs it:
  cpp, c    stands line for line in a file of docs/code, whose program code_test runs; the first
            one of README.md is built and run by tools/install_test
  cmake     of README.md: tools/subproject_test
  python    an example of doctest, which python/package_test runs
  console   commands and what they print: console_test
  text      a picture or a list of files
All others have the line `<!-- not run: why -->` above them.
"""

import os
import re
import textwrap
import unittest

from pages import CODE, SOURCE, all_blocks, blocks_in, page_paths, prose, read

LINK = re.compile(r"\]\(([^()\s]+)\)")
INLINE = re.compile(r"`([^`\n]+)`")
REPOSITORY_PATH = re.compile(
    r"^(?:foedus-core|gleaner|tools|tests|examples|python|experiments|docs)/[\w./-]+$")
# Names of the interface in C++, C or Python: kName, call(), Type::member.
NAME = re.compile(r"\bk[A-Z]\w+|\w+(?=\()|\w+::\w+")
OTHERS = {"help"}  # of Python
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def lines_of(text):
    return textwrap.dedent(text).rstrip("\n").split("\n")


def stands_in(block_text, source_text):
    """True if the source has the lines of the block one after another, in any indentation."""
    block = lines_of(block_text)
    source = source_text.split("\n")
    return any(source[at].strip() == block[0].strip()
               and lines_of("\n".join(source[at:at + len(block)])) == block
               for at in range(len(source) - len(block) + 1))


def sources(endings):
    return [read("docs/code/" + name) for name in sorted(os.listdir(CODE))
            if name.endswith(endings)]


def anchors(text):
    """The names that a page's headings get as anchors."""
    names = set()
    for heading in HEADING.findall(prose(text)):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        names.add(plain.strip().replace(" ", "-"))
    return names


class PagesTest(unittest.TestCase):

    def setUp(self):
        self.code = {"cpp": sources(".cc"), "c": sources(".c")}

    def trouble_of(self, block):
        """What is wrong with a block; empty if a test runs it, or it says why none does."""
        in_readme = block.path == "README.md"
        if block.is_marked:
            return "" if block.tag in ("", "sh", "yaml", "c++", "text") else \
                f"a block `{block.tag}` has to run, and cannot be marked"
        if in_readme and block.tag in ("cpp", "cmake"):
            first = next(one for one in blocks_in("README.md", read("README.md"))
                         if one.tag == block.tag)
            if block == first:
                return ""
        if block.tag in ("cpp", "c"):
            found = any(stands_in(block.text, source) for source in self.code[block.tag])
            return "" if found else f"no file of docs/code has this block of {block.tag}"
        if block.tag == "python":
            return "" if block.text.startswith(">>> ") else "doctest does not run this"
        if block.tag == "console":
            return "" if block.text.startswith("$ ") else "does not begin with a command"
        return "" if block.tag == "text" else f"nothing runs a block `{block.tag}`"

    def test_each_block_is_run_or_says_why_not(self):
        blocks = all_blocks()
        troubles = [f"{block.place()}: {trouble}" for block in blocks
                    if (trouble := self.trouble_of(block))]
        self.assertEqual(troubles, [], "\n".join(troubles))
        marked = [block.place() for block in blocks if block.is_marked]
        run = sum(block.tag not in ("text", "") and not block.is_marked for block in blocks)
        print(f"{run} blocks are run, {len(marked)} say that they are not: {', '.join(marked)}")
        self.assertGreater(run, 40)
        self.assertLess(len(marked), 10)

    def test_a_block_that_nothing_runs_is_named_by_its_line(self):
        text = "# page\n\n```cpp\nint unknown = 1;\n```\n\n```sh\nrm -rf x\n```\n"
        first, second = blocks_in("docs/pages/some.md", text)
        self.assertEqual(first.place(), "docs/pages/some.md:4")
        self.assertIn("no file", self.trouble_of(first))
        self.assertEqual(second.place(), "docs/pages/some.md:8")
        self.assertIn("nothing runs", self.trouble_of(second))
        with self.assertRaisesRegex(AssertionError, "some.md:2: a block without an end"):
            blocks_in("some.md", "```cpp\nint x;\n")

    def test_a_block_is_found_line_for_line_in_any_indentation(self):
        source = "f() {\n  if (a) {\n    b();\n\n    c();\n  }\n}\n"
        self.assertTrue(stands_in("b();\n\nc();\n", source))
        self.assertTrue(stands_in("if (a) {\n  b();\n", source))
        self.assertFalse(stands_in("if (a) {\nb();\n", source))
        self.assertFalse(stands_in("b();\nc();\n", source))

    def test_links_lead_to_files_and_sections(self):
        for page in page_paths() + ["docs/README.md", "docs/code/README.md"]:
            for link in LINK.findall(prose(read(page))):
                if "://" in link:
                    continue
                path, _, anchor = link.partition("#")
                target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path \
                    else page
                self.assertTrue(os.path.exists(os.path.join(SOURCE, target)), f"{page}: {link}")
                if anchor:
                    self.assertIn(anchor, anchors(read(target)), f"{page}: {link}")

    def test_files_and_names_in_the_text_are_those_of_the_repository(self):
        headers = [name for name in os.listdir(os.path.join(SOURCE, "foedus-core/include/foedus"))]
        interface = "".join(read("foedus-core/include/foedus/" + name) for name in headers
                            if name.endswith(".h"))
        package = os.path.join(SOURCE, "python", "src", "foedus")
        interface += "".join(read("python/src/foedus/" + name)
                             for name in os.listdir(package) if name.endswith(".py"))
        words = set(re.findall(r"\w+", interface))
        for page in page_paths()[1:]:
            text = prose(read(page))
            if page.endswith("/porting.md"):
                text = re.sub(r"^\| [^|]*", "", text, flags=re.MULTILINE)  # calls of other engines
            for code in INLINE.findall(text):
                if REPOSITORY_PATH.match(code):
                    self.assertTrue(os.path.exists(os.path.join(SOURCE, code)), f"{page}: {code}")
                elif re.match(r"^foedus/\w+\.h$", code):
                    self.assertIn(code.removeprefix("foedus/"), headers, page)
                else:
                    names = {part for name in NAME.findall(code) for part in name.split("::")}
                    self.assertEqual(names - words - OTHERS, set(), f"{page}: {code}")

    def test_each_page_is_in_the_navigation(self):
        listed = re.findall(r"^  - .*: ([\w-]+\.md)$", read("docs/mkdocs.yml"), re.MULTILINE)
        pages = [os.path.basename(path) for path in page_paths()[1:]]
        self.assertEqual(sorted(listed), pages)


if __name__ == "__main__":
    unittest.main()
