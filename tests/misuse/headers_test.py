# ctest-labels: habits
# ctest-timeout: 300
"""Mistakes with the public headers get short errors, and README's program gets no warning.

Goal: a mistake with a type is one readable line, not a page of templates. Method: each snippet is
compiled alone, syntax only, by the compiler of the build; its lines that hold an error are counted.
README's program and each header are compiled by all known compilers that are installed, with more
warnings than the build has.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
INCLUDE = os.path.join(SOURCE, "foedus-core", "include")
OTHERS = ("g++-11", "g++-12", "g++-13", "g++-14", "clang++-14", "clang++-16", "clang++-19")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow",
            "-Werror")

BEGIN = """#include <foedus/foedus.h>
#include <string>
#include <vector>
struct Item { int a; };
template <int> struct Rich { std::string name; };
using namespace foedus;
"""

RETURNS = "the function of transact() and snapshot() returns foedus::Status or foedus::Result<T>"
FUNCTION = "transact() and snapshot() take a function of a Txn&"
BY_REFERENCE = "the function of transact() and snapshot() takes its Txn by reference"
ROW = "foedus: a row type must be trivially copyable: serialise it, or pass bytes"
ADDRESS = "foedus: a row type cannot be a pointer or a view"
SUCCESS = "foedus: a Result<bool> is asked for success by is_ok(), for its bool by value()"

# The types of the mistakes with tables, and of what is right.
TABLES = """#include <foedus/table.h>
struct Man { char city[8]; int born; double height; std::vector<double> sizes; };
template <> struct foedus::Codec<Man> {
  static void encode(const Man&, std::string*) {}
  static foedus::Result<Man> decode(std::string_view) { return Man(); }
};
template <typename... I> using Men = Table<int, Man, I...>;
using Town = Index<"town", &Man::city>;
using Size = UniqueIndex<"size", [](const Man& m) { return std::tuple(m.height, m.born); }>;
using Dot = Index<"a.b", &Man::born>;
using OfItem = Index<"a", &Item::a>;
using Address = Index<"a", [](const Man& m) { return &m; }>;
"""
NO_ROW = "foedus: the row of a table is trivially copyable"
TABLE_MISTAKES = (
    ("auto f1(Database& d) { return Table<int, Rich<1>>::open(d, \"t\"); }", NO_ROW),
    ("auto f2(Database& d) { return Table<int, int*>::open(d, \"t\"); }", NO_ROW),
    ("auto f3(Database& d) { return Table<std::string_view, int>::open(d, \"t\"); }",
     "foedus: the key of a table is"),
    ("auto f4(Database& d) { return Men<Dot>::open(d, \"t\"); }",
     "foedus: the name of an index has 1 to 62 bytes and no '.'"),
    ("auto f5(Database& d) { return Men<Town, Index<\"town\", &Man::born>>::open(d, \"t\"); }",
     "foedus: two indexes of a table have the same name"),
    ("auto f6(Database& d) { return Men<OfItem>::open(d, \"t\"); }",
     "foedus: the extractor of an index takes a const RowType&"),
    ("auto f7(Database& d) { return Men<Address>::open(d, \"t\"); }",
     "foedus: the extractor of an index returns a part of a key"),
    ("auto f8(Txn& t, Men<Town> m) { return m.find<\"city\">(t, \"Rome\"); }",
     "foedus: the table has no index of this name"),
    ("auto f9(Txn& t, Men<Town> m) { return m.find<\"town\">(t, 5); }",
     "foedus: a part that is looked for has another kind than its column"),
    ("auto f10(Txn& t, Men<Town> m) { return m.find<\"town\">(t, std::tuple(\"Rome\", 5)); }",
     "foedus: more parts are looked for than there are columns"),
    ("auto f11(Txn& t, Men<Town> m) { return m.find_unique<\"town\">(t, \"Rome\"); }",
     "foedus: find_unique() is for a UniqueIndex"),
    ("auto f12(Txn& t, Men<Size> m) { return m.find_unique<\"size\">(t, 1); }",
     "foedus: find_unique() takes all columns of its index"),
    ("auto f13(Txn& t, Men<Size> m) { return m.modify(t, 1, [](Man&) { return 1; }); }",
     "foedus: the function of modify() returns foedus::Status or nothing"),
)
TABLES_CORRECT = TABLES + """
Status h(Txn& t, const Men<Town, Size, Index<"sizes", &Man::sizes>>& men) {
  for (const auto& [key, man] : men.find_range<"sizes">(t, 1, kUnbounded)) (void)(key + man.born);
  FOEDUS_TRY(const auto tall, men.find_unique<"size">(t, std::tuple(2, 1990)));
  FOEDUS_CHECK(men.modify(t, tall.key, [](Man& man) { ++man.born; }));
  FOEDUS_TRY(const auto count, men.count<"town">(t, std::string("Rome")));
  return count == 0 ? men.erase(t, 1) : men.put(t, 1, Man());
}
"""

# Functions with a mistake each, and the one line that the compiler has to say about it. Those of a
# list are compiled at once.
MISTAKES = (
    (
        ("auto f1(Database& db) { return db.transact([](Txn&) {}); }", RETURNS),
        ("auto f2(Database& db) { return db.transact([](Txn&) { return 1; }); }", RETURNS),
        ("auto f3(Database& db) { return db.snapshot([](Txn&) {}); }", RETURNS),
        ("auto f4(Database& db) { return db.transact([](Txn) -> Status { return {}; }); }",
         BY_REFERENCE),
        ("auto f5(Database& db) { return db.transact([]() -> Status { return {}; }); }", FUNCTION),
        ("auto f6(Database& db) { return db.snapshot(5); }", FUNCTION),
    ),
    (
        ("Status f1(Txn& t, Masstree m) { return t.put(m, \"k\", Rich<1>{}); }", ROW),
        ("Status f2(Txn& t, Hash h) { return t.insert(h, \"k\", std::vector<int>{}); }", ROW),
        ("Status f3(Txn& t, Hash h) { return t.update(h, \"k\", Rich<3>{}); }", ROW),
        ("Status f4(Txn& t, Array a) { return t.put(a, 1, Rich<4>{}); }", ROW),
        ("Status f5(Txn& t, Masstree m) { return t.get_as<Rich<5>>(m, \"k\").status(); }", ROW),
        ("auto f6(Txn& t, Hash h) { return t.get_for_update_as<std::string>(h, \"k\"); }", ROW),
        ("Status f7(Txn& t, Array a) { FOEDUS_TRY(auto r, t.get_as<Rich<7>>(a, 1)); return {}; }",
         ROW),
        ("Status f8(Txn& t, Masstree m, int* p) { return t.put(m, \"k\", p); }", ADDRESS),
        ("auto f9(Txn& t, Masstree m) { return t.get_as<std::string_view>(m, \"k\"); }", ADDRESS),
    ),
    (("bool f1(Txn& t, Masstree m) { if (t.contains(m, \"k\")) return true; return false; }",
      SUCCESS),),
    (("bool f1(Txn& t, Masstree m) { return !t.contains(m, \"k\"); }", SUCCESS),),
)

# Without a declared return type. The first line is the compiler's own; few may follow.
MIXED = (
    "Status f(Database& db, Masstree m) { return db.transact([&](Txn& t) {"
    " FOEDUS_TRY(auto r, t.get_as<Item>(m, \"k\")); return Result<int>(r.a); }).status(); }",
    "Status f(Database& db, Masstree m) { FOEDUS_TRY(int x, db.transact([&](Txn& t) {"
    " FOEDUS_TRY(auto r, t.get_as<Item>(m, \"k\")); return r.a; })); (void)x; return {}; }",
)

CORRECT = """
Result<int> f(Database& db, Masstree m) {
  return db.transact([&](Txn& t) -> Result<int> {
    FOEDUS_TRY(auto a, t.get_as<Item>(m, "a")); FOEDUS_TRY(auto b, t.get_as<Item>(m, "b"));
    FOEDUS_CHECK(t.erase(m, "a")); FOEDUS_CHECK(t.erase(m, "b"));
    FOEDUS_CHECK([&]() -> Status { FOEDUS_CHECK(t.erase(m, "c")); return {}; }());
    FOEDUS_TRY(const bool found, t.contains(m, "d"));
    if (found && t.contains(m, "e").value()) FOEDUS_CHECK(t.put(m, "f", Item{a.a + b.a}));
    return 1;
  });
}
struct Function { Status operator()(Txn&) const { return {}; } };
Status by_pointer(Txn&);
Status g(Database& db) {
  FOEDUS_CHECK(db.transact(Function{})); FOEDUS_CHECK(db.transact(by_pointer));
  FOEDUS_CHECK(db.snapshot([](auto& txn) -> Status { return txn.verify(); }));
  return db.transact([](Txn& txn) -> Result<void> { return txn.verify(); }).status();
}
"""


def compiler_of_build():
    cache = os.path.join(os.environ.get("FOEDUS_BINARY_DIR", ""), "CMakeCache.txt")
    if os.path.exists(cache):
        with open(cache, encoding="utf-8") as file:
            found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", file.read(), re.MULTILINE)
        if found:
            return found.group(1)
    return "c++"


def errors_of(code, compiler, *flags, standard="c++20"):
    """The lines of the compiler's output that are an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "main.cc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        done = subprocess.run(
            [compiler, f"-std={standard}", "-fsyntax-only", "-I", INCLUDE, *flags, path],
            capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    if done.returncode != 0 and not lines:
        lines = [done.stderr]
    return lines


def in_parallel(function, all_arguments):
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(lambda arguments: function(*arguments), all_arguments))


def compilers():
    found = [compiler_of_build()]
    return found + [name for name in OTHERS if shutil.which(name)]


class HeadersTest(unittest.TestCase):

    def test_a_mistake_with_a_type_is_one_line(self):
        compiler = compiler_of_build()
        groups = [(BEGIN, mistakes) for mistakes in MISTAKES] + [(BEGIN + TABLES, TABLE_MISTAKES)]
        answers = in_parallel(errors_of, [
            (begin + "\n".join(code for code, _ in mistakes), compiler)
            for begin, mistakes in groups])
        for (_, mistakes), errors in zip(groups, answers):
            with self.subTest(mistakes[0][0]):
                self.assertEqual(len(errors), len(mistakes), "\n".join(errors))
                for message in {message for _, message in mistakes}:
                    self.assertEqual(sum(message in error for error in errors),
                                     sum(message == one for _, one in mistakes),
                                     message + "\n" + "\n".join(errors))

    def test_mixed_returns_of_a_lambda_are_named_first(self):
        compiler = compiler_of_build()
        for code in MIXED:
            with self.subTest(code):
                errors = errors_of(BEGIN + code, compiler)
                self.assertRegex(errors[0], "inconsistent types|must match previous return type")
                self.assertLessEqual(len(errors), 5, "\n".join(errors))

    def test_a_status_in_place_of_a_result_is_named_first(self):
        errors = errors_of(BEGIN + "Status f(Txn& t, Masstree m) {"
                           " FOEDUS_TRY(auto x, t.erase(m, \"k\")); return {}; }",
                           compiler_of_build())
        self.assertIn("FOEDUS_TRY takes a Result<T>; for a Status there is FOEDUS_CHECK", errors[0])

    def test_an_older_standard_is_refused_by_name(self):
        names = sorted(name for name in os.listdir(os.path.join(INCLUDE, "foedus"))
                       if name.endswith(".h") and name != "foedus_c.h")  # which is for C, too
        answers = in_parallel(
            lambda name: errors_of(f"#include <foedus/{name}>\n", compiler_of_build(),
                                   *([] if name == "foedus.h" else ["-Wfatal-errors"]),
                                   standard="c++17"), [(name,) for name in names])
        for name, errors in zip(names, answers):
            with self.subTest(name):
                self.assertEqual(len(errors), 1, "\n".join(errors))
                self.assertIn("foedus needs C++20 (-std=c++20)", errors[0])

    def test_what_is_right_compiles_without_a_warning(self):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
            readme = file.read().split("```cpp\n")[1].split("```")[0]
        names = sorted((name for name in os.listdir(os.path.join(INCLUDE, "foedus"))
                        if name.endswith(".h")), reverse=True)
        code = "".join(f"#include <foedus/{name}>\n" for name in names) + readme + BEGIN + CORRECT
        code += TABLES_CORRECT
        work = [(code, compiler, *WARNINGS) for compiler in compilers()]
        for (_, compiler, *_), errors in zip(work, in_parallel(errors_of, work)):
            with self.subTest(compiler):
                self.assertEqual(errors, [])


if __name__ == "__main__":
    unittest.main()
