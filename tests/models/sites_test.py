"""Each ordered access of the engine is weakened by a model, or has a reason why not.

An ordered access is a fence, or a call in foedus-core or gleaner with an order stronger than
relaxed. For each, a model names the place (--sites), or a model quotes the line, or sites.aside
has the line with the reason. An entry of sites.aside is an error, too, if its line is no ordered
access any more, or if a model covers it.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["FOEDUS_SOURCE_DIR"])
BIN = pathlib.Path(os.environ.get("FOEDUS_BIN_DIR", SOURCE / "build/release/bin"))
MODELS = SOURCE / "tests/models"
sys.path.insert(0, str(MODELS))
from quotes_test import code_of, quotations  # noqa: E402

SITE = re.compile(r"(?:\.|->)(\w+_(?:acquire|release|acq_rel|seq_cst))\(|\b(fence_\w+)\(")
NAMED = re.compile(r"^(\S+):(\d+) (\w+)$")
WRAPPER = "foedus-core/base/atomic_word.h"
CALL_LINES_MAX = 4  # a call that goes over several lines is named by one of them


def sites_of(text):
    """Yields (line number, access) of each ordered access."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in SITE.finditer(code_of(" " + line)):
            yield number, match.group(1) or match.group(2)


def all_sites():
    """By file: the sites in it."""
    sites = {}
    for folder in ("foedus-core", "gleaner"):
        for path in sorted((SOURCE / folder).rglob("*")):
            name = str(path.relative_to(SOURCE))
            if path.suffix in (".h", ".cc") and name != WRAPPER:
                sites[name] = list(sites_of(path.read_text()))
    return sites


def quoted_lines(quoted, text):
    """The numbers of the lines that the quotation stands on."""
    words = [(word, number) for number, line in enumerate(text.splitlines(), 1)
             for word in code_of(line).split()]
    wanted = " ".join(quoted).split()
    for at in range(len(words) - len(wanted) + 1):
        if [word for word, _ in words[at:at + len(wanted)]] == wanted:
            return {number for _, number in words[at:at + len(wanted)]}
    return set()


def quoted_places():
    places = set()
    for path in sorted(MODELS.glob("*_model.cc")):
        for _, name, quoted in quotations(path):
            lines = quoted_lines(quoted, (SOURCE / name).read_text())
            places |= {(name, number) for number in lines}
    return places


def named_places(output):
    """Yields (file, line number, access) of a model's --sites, one for each line of a call."""
    for line in output.splitlines():
        match = NAMED.match(line)
        if not match:
            raise ValueError(f"no site: {line}")
        name = re.sub(r"^.*?(?=\b(?:foedus-core|gleaner|tests)/)", "", match.group(1))
        for back in range(CALL_LINES_MAX):
            yield name, int(match.group(2)) - back, match.group(3)


def read_aside(text):
    """The entries, (file, text of a line, reason): a line `file: text`, and below it the reason."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    entries = []
    for place, reason in zip(lines[::2], lines[1::2]):
        if place.startswith(" ") or not reason.startswith("  "):
            raise ValueError(f"neither a place nor its reason: {place} / {reason}")
        name, _, part = place.partition(": ")
        entries.append((name, part, reason.strip()))
    if len(lines) % 2 != 0:
        raise ValueError(f"without a reason: {lines[-1]}")
    return entries


def look(sites, covered, aside, text_of):
    """The faults: places without model or entry, and entries without a place."""
    used = set()
    faults = []
    for name, found in sites.items():
        lines = text_of(name).splitlines()
        for number, access in found:
            if (name, number) in covered or (name, number, access) in covered:
                continue
            entries = [entry for entry in aside
                       if entry[0] == name and entry[1] in lines[number - 1]]
            used.update(entries)
            if not entries:
                faults.append(f"no model has it: {name}:{number}: {lines[number - 1].strip()}")
    faults += [f"of no site, or of one that a model has: {name}: {part}"
               for name, part, _ in aside if (name, part, _) not in used]
    return faults


class Sites(unittest.TestCase):
    def test_each_site_is_of_a_model_or_set_aside(self):
        programs = [BIN / "tests" / f"models_{path.stem}"
                    for path in sorted(MODELS.glob("*_model.cc"))]
        if not all(program.exists() for program in programs):
            self.skipTest("the models are not built")
        covered = quoted_places()
        for program in programs:
            said = subprocess.run([program, "--sites"], stdout=subprocess.PIPE, check=True)
            covered |= set(named_places(said.stdout.decode()))
        sites = all_sites()
        self.assertGreater(sum(map(len, sites.values())), 150)
        aside = read_aside((MODELS / "sites.aside").read_text())
        faults = look(sites, covered, aside, lambda name: (SOURCE / name).read_text())
        self.assertEqual(faults, [], "\n".join(faults))

    def test_a_site_without_a_model_or_a_reason_is_found(self):
        text = "a();\nb.store_release(1);  // order: c.load_acquire()\nbase::fence_writer();\n"
        sites = {"x.h": list(sites_of(text))}
        self.assertEqual(sites["x.h"], [(2, "store_release"), (3, "fence_writer")])
        covered = {("x.h", 3)}
        self.assertEqual(len(look(sites, covered, [], lambda _: text)), 1)
        entry = ("x.h", "b.store_release(1)", "why")
        self.assertEqual(look(sites, covered, [entry], lambda _: text), [])
        named = set(named_places("/s/foedus-core/x.h:2 store_release"))
        self.assertIn(("foedus-core/x.h", 2, "store_release"), named)

    def test_an_entry_of_no_site_is_found(self):
        text = "b.store_release(1);\nc.load_relaxed();\n"
        sites = {"x.h": list(sites_of(text))}
        for part in ("c.load_relaxed()", "b.store_release(1)"):
            faults = look(sites, {("x.h", 1)}, [("x.h", part, "why")], lambda _: text)
            self.assertEqual(len(faults), 1, part)

    def test_an_entry_has_a_reason(self):
        self.assertEqual(read_aside("# c\na.h: b: c\n  d\n"), [("a.h", "b: c", "d")])
        for text in ("a.h: b\n", "a.h: b\nc.h: d\n"):
            with self.assertRaises(ValueError):
                read_aside(text)


if __name__ == "__main__":
    unittest.main()
