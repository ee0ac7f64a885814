"""Finds the mutants of a C++ text: what an operator takes away, one thing at a time.

  statement   a call, an assignment or another expression that is a statement goes
  condition   of if, while, for, ?: or a bool that is set: one operand of || or && goes (`operand`),
              or all of it becomes `true` or `false`
  error       of FOEDUS_CHECK(x), `return x` or `Status s = x`: it is ignored (`ignore`), or x does
              not run, and there is success (`ok`)
  value       a function returns `true` or `false`, whatever it found; std::min(a, b) is its `first`
              or `second`; a field `.a = x` of what is made is `zero`

Left out: statements without effect (invariants, sync points), and mutants that another one implies.
If || without an operand is noticed, `false` is, too; so is `true` if && without an operand is. The
`false` of `if (c) x;` is the removal of x.

A mutant has two forms: a replacement of its place, and one with which all mutants of a text are in
one program that is told which of them it runs (planted()).
"""

import re

import cpp_functions
import cpp_text
from cpp_statements import CLOSING, OPENING, declares_in_condition, end_of, statements, trimmed

OPERATORS = ("statement", "condition", "error", "value")
NO_EFFECT = re.compile(
    r"(?:FOEDUS_INVARIANT|FOEDUS_PROBE|FOEDUS_SYNC_POINT)\(|static_cast<void>\(|\(void\)\w+;|$")
CHECK = re.compile(r"FOEDUS_CHECK\((.*)\);$", re.DOTALL)
# Calls that do nothing but make an error.
MAKES_ERROR = re.compile(
    r"(?:\w+::)*\w*(?:error|fail|conflict|corrupt|damage|refus|busy|invalid)\w*\(")
IS_ERROR = re.compile(r"\{|Status\b|ErrorCode\b|" + MAKES_ERROR.pattern)
NAMES_STATUS = re.compile(r"(?:std::move\()?\w+\)?$")
DEFINES_BOOL = re.compile(r"(?:const )?bool \w+ =\s")
DEFINES_STATUS = re.compile(r"(?:\[\[maybe_unused\]\] )?(?:const )?Status \w+ =\s")
SETS_STATUS = re.compile(r"\w*status_? = (?=\S)")
ASSIGNS = re.compile(r"(?<![=!<>])=(?!=)")
BOUND = re.compile(r"\bstd::(?:min|max)(?:<[\w:]+>)?\(")
FIELD = re.compile(r"(?<=[{,])\s*\.\w+ =\s+(?=\S)")
ZERO = re.compile(r"(?:0u?|false|nullptr|\{.*)$", re.DOTALL)
LOOKS_BOOL = re.compile(r"^!|[=!]=| [<>]=? |\b(?:is|has)_\w+_$|^std::(?:all|any|none)_of_$")
NUMBER = "\0"  # in a mutant's text: its number


class Mutant:
    """A place [begin, end) of a text, what replaces it, and what is put around it instead."""

    def __init__(self, operator, kind, scope, place, replacement, around, goes):
        self.operator, self.kind, self.scope = operator, kind, scope
        self.begin, self.end = place
        self.replacement = replacement
        self.before, self.after = around
        self.goes = " ".join(goes.split())
        self.ordinal = 0  # among those of the function that have the same kind

    @property
    def note(self):
        """Function, kind and what goes, in one line."""
        return f"{self.scope.name} {self.kind} {self.goes}"


def split(code, begin, end, operator):
    """Spans between the operators that are in no brackets."""
    spans, from_here = [], begin
    while (at := end_of(code, begin, end, operator[0])) < end:
        begin = at + 1
        if code.startswith(operator, at):
            spans.append((from_here, at))
            from_here = begin = at + len(operator)
    return spans + [(from_here, end)]


def operands(code, begin, end):
    """(operator, spans) of the condition: a disjunction if it is one, else a conjunction."""
    for operator in ("||", "&&"):
        spans = split(code, begin, end, operator)
        if len(spans) > 1:
            return operator, [trimmed(code, *span) for span in spans]
    return "", [trimmed(code, begin, end)]


def constants_of(operator, value):
    """The constants of a condition that the loss of an operand does not imply."""
    if operator:
        return ("true",) if operator == "||" else ("false",)
    return {"true": ("false",), "false": ("true",)}.get(value, ("true", "false"))


def looks_bool(text):
    """True if what an expression has outside brackets makes it a bool."""
    while (outside := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "_", text)) != text:
        text = outside
    return LOOKS_BOOL.search(text) is not None


class Finder:
    """Collects the mutants of a text."""

    def __init__(self, text):
        self.code = cpp_functions.blank_preprocessor(cpp_text.code_only(text, keep_strings=True))
        self.shape = cpp_functions.blank_preprocessor(cpp_text.code_only(text))
        self.found = []
        self.inner = set()      # begins of bounds and fields that have their mutants
        self.successes = set()  # begins of statements that return a status that is ok
        for statement in statements(self.shape):
            getattr(self, "_" + statement.kind)(statement)
        self.found.sort(key=lambda mutant: mutant.begin)
        counts = {}
        for mutant in self.found:
            key = mutant.scope.name, mutant.kind
            counts[key] = mutant.ordinal = counts.get(key, 0) + 1

    def _add(self, operator, kind, scope, place, replacement, around, goes=None):
        self.found.append(Mutant(operator, kind, scope, place, replacement, around,
                                 self.code[slice(*place)] if goes is None else goes))

    def _flat(self, place):
        return " ".join(self.code[slice(*place)].split())

    # ---- parts of statements

    def _parts(self, scope, begin, end):
        """Bounds and fields in a statement or condition."""
        if self.shape.startswith(("constexpr", "static"), begin):
            return
        for pattern, add in ((BOUND, self._bound), (FIELD, self._field)):
            for match in pattern.finditer(self.shape, begin, end):
                if match.end() not in self.inner:
                    self.inner.add(match.end())
                    add(scope, match)
        for at in range(begin, end):
            if self.shape[at] == "?":
                self._argument(scope, begin, at)

    def _argument(self, scope, begin, at):
        """The condition of c ? a : b in brackets; `at` is the place of the question mark."""
        depth, first = 0, at - 1
        while first > begin and (depth or self.shape[first] not in "([{,"):
            depth += (self.shape[first] in CLOSING) - (self.shape[first] in OPENING)
            first -= 1
        if first == begin or at in self.inner:
            return
        self.inner.add(at)
        field = FIELD.match(self.shape, first + 1, at)
        first = field.end() if field else first + 1
        self._choose(scope, first, at, end_of(self.shape, at, len(self.shape), ",)]};"))

    def _bound(self, scope, match):
        """std::min(a, b) becomes a, and b."""
        begin = match.end()
        end = end_of(self.shape, begin, len(self.shape), ")")
        spans = [trimmed(self.shape, *span) for span in split(self.shape, begin, end, ",")]
        if len(spans) == 2:
            for kind, span in zip(("first", "second"), spans):
                self._add("value", kind, scope, (match.start(), end + 1), self.code[slice(*span)],
                          (f"(foedus_planted == {NUMBER} ? ({self._flat(span)}) : ", ")"))

    def _field(self, scope, match):
        begin, end = trimmed(self.shape, match.end(), end_of(self.shape, match.end(),
                                                             len(self.shape), ",}"))
        value = self._flat((begin, end))
        if not ZERO.match(value):
            self._add("value", "zero", scope, (begin, end), "{}", (
                f"(foedus_planted == {NUMBER} ? std::remove_cvref_t<decltype({value})>{{}} : (",
                "))"), f"{match.group(0).strip()} {value}")

    # ---- statements

    def _jump(self, statement):
        pass

    def _expression(self, statement):
        place = statement.begin, statement.end
        text = self.code[slice(*place)]
        if NO_EFFECT.match(text):
            return
        self._parts(statement.scope, *place)
        self._assigned(statement)
        self._add("statement", "statement", statement.scope, place,
                  "" if statement.in_block else "{}",
                  (f"if (foedus_planted != {NUMBER}) {{ ", " }"))
        checked = CHECK.match(text)
        inner = " ".join(checked.group(1).split()) if checked else ""
        status = SETS_STATUS.match(text)
        if status:
            inner = " ".join(text[status.end():-1].split())
        if inner and not NAMES_STATUS.match(inner) and not MAKES_ERROR.match(inner):
            ignoring = f"static_cast<void>(({inner}).is_ok());"
            self._add("error", "ignore", statement.scope, place, ignoring,
                      (f"{{ if (foedus_planted == {NUMBER}) {ignoring} else ", " }"))

    def _declaration(self, statement):
        begin, end = statement.begin, statement.end - 1
        self._parts(statement.scope, begin, end)
        defined = DEFINES_STATUS.match(self.shape, begin, end)
        if not defined:
            self._assigned(statement)
            return
        begin, end = trimmed(self.shape, defined.end(), end)
        called = self._flat((begin, end))
        if "(" not in called or NAMES_STATUS.match(called) or MAKES_ERROR.match(called):
            return
        forms = {"ok": "Status()", "ignore": f"(static_cast<void>(({called}).is_ok()), Status())"}
        for kind, form in forms.items():
            self._add("error", kind, statement.scope, (begin, end), form,
                      (f"(foedus_planted == {NUMBER} ? {form} : (", "))"),
                      self._flat((statement.begin, statement.end)))

    def _return(self, statement):
        scope = statement.scope
        begin, end = trimmed(self.shape, statement.begin + len("return"), statement.end - 1)
        if begin == end:
            return
        self._parts(scope, begin, end)
        stop = end_of(self.shape, begin, end, "?")
        if stop < end:
            self._choose(scope, begin, stop, end)
            return
        if scope.result == "Status" and not re.match(r"\{\}$|Status\(\)$", self.code[begin:end]):
            self._returned_status(statement, begin, end)
        value = self.code[begin:end]
        is_bool = scope.result == "bool" or (scope.result == "Result<bool>" and
                                             not IS_ERROR.match(value))
        operator = operands(self.shape, begin, end)[0]
        if operator or is_bool or not scope.result and looks_bool(self.shape[begin:end]):
            constants = constants_of(operator, value) if is_bool or not operator else ()
            self._condition(scope, begin, end, constants, "value", f"return {value}")

    def _returned_status(self, statement, begin, end):
        place = statement.begin, statement.end
        goes = self._flat((statement.begin, end))
        if statement.begin in self.successes:
            return
        self._add("error", "ok", statement.scope, place, "return {};",
                  (f"{{ if (foedus_planted == {NUMBER}) return {{}}; ", " }"), goes)
        called = self._flat((begin, end))
        if "(" in called and not MAKES_ERROR.match(called) and not NAMES_STATUS.match(called):
            ignoring = f"static_cast<void>(({called}).is_ok()); return {{}};"
            self._add("error", "ignore", statement.scope, place, f"{{ {ignoring} }}",
                      (f"{{ if (foedus_planted == {NUMBER}) {{ {ignoring} }} ", " }"), goes)

    def _if(self, statement):
        if statement.condition is None:
            return
        begin, end = statement.condition
        self._parts(statement.scope, begin, end)
        body = statement.body
        if body and body[0].kind == "return" and f"return {self.code[begin:end]}" == (
                self.code[body[0].begin:body[0].end - 1] + ".is_ok()"):
            self.successes.add(body[0].begin)
        does_one_thing = len(body) == 1 and body[0].kind == "expression"
        operator = operands(self.shape, begin, end)[0]
        constants = []
        if operator != "||" and (statement.has_else or not does_one_thing):
            constants.append("false")
        if operator != "&&":
            constants.append("true")
        self._condition(statement.scope, begin, end, constants, "condition")

    def _loop(self, statement):
        if statement.condition is not None:
            self._parts(statement.scope, *statement.condition)
            operator = operands(self.shape, *statement.condition)[0]
            self._condition(statement.scope, *statement.condition,
                            () if operator else ("false",), "condition")

    # ---- conditions

    def _assigned(self, statement):
        """The condition of x = c ? a : b, and of a bool."""
        begin, end = statement.begin, statement.end - 1
        at = end_of(self.shape, begin, end, "=")
        if not ASSIGNS.match(self.shape, at, end):
            return
        stop = end_of(self.shape, at + 1, end, "?")
        if stop < end:
            self._choose(statement.scope, at + 1, stop, end)
            return
        is_plain = self.shape[at - 1] == " "
        is_bool = DEFINES_BOOL.match(self.shape, begin, end) is not None
        begin, end = trimmed(self.shape, at + 1, end)
        operator = operands(self.shape, begin, end)[0]
        if self.code[begin:end] in ("true", "false"):
            return
        if operator or is_bool or is_plain and looks_bool(self.shape[begin:end]):
            constants = constants_of(operator, self.code[begin:end])
            self._condition(statement.scope, begin, end, constants, "condition")

    def _choose(self, scope, begin, stop, end):
        """The condition [begin, stop) that chooses; only what leads to null, if one does."""
        otherwise = end_of(self.shape, stop + 1, end, ":")
        while self.shape.startswith("::", otherwise):
            otherwise = end_of(self.shape, otherwise + 2, end, ":")
        ends = (self.code[stop + 1:otherwise].strip(), self.code[otherwise + 1:end].strip())
        if all(end.startswith('"') for end in ends):
            return  # only a message
        constants = [constant for constant, leads_to in zip(("true", "false"), ends)
                     if leads_to == "nullptr" or "nullptr" not in ends]
        begin, stop = trimmed(self.shape, begin, stop)
        self._condition(scope, begin, stop, constants, "condition")

    def _condition(self, scope, begin, end, constants, operator, goes=None):
        """Adds the constants as mutants of [begin, end), and one for each operand."""
        for constant in constants:
            around = ((f"(foedus_planted == {NUMBER} || (", "))") if constant == "true" else
                      (f"(foedus_planted != {NUMBER} && (", "))"))
            self._add(operator, constant, scope, (begin, end), constant, around, goes)
        if end_of(self.shape, begin, end, "?") == end:
            self._operands(scope, begin, end)

    def _operands(self, scope, begin, end):
        operator, spans = operands(self.shape, begin, end)
        for number, (first, last) in enumerate(spans):
            if operator and not declares_in_condition(self.shape[first:last]):
                others = [self.code[b:e] for i, (b, e) in enumerate(spans) if i != number]
                around = ((f"(foedus_planted != {NUMBER} && (", "))") if operator == "||" else
                          (f"(foedus_planted == {NUMBER} || (", "))"))
                self._add("condition", "operand", scope, (first, last), None, around)
                self.found[-1].replaces = begin, end, f" {operator} ".join(others)
            if self.shape[first] == "(" and end_of(self.shape, first + 1, last, ")") == last - 1:
                self._operands(scope, first + 1, last - 1)


def mutants(text, operators=OPERATORS):
    """The mutants that these operators make of the text, in their order."""
    return [mutant for mutant in Finder(text).found if mutant.operator in operators]


def applied(text, mutant):
    """The text with one mutant in it."""
    begin, end, replacement = mutant.begin, mutant.end, mutant.replacement
    if replacement is None:
        begin, end, replacement = mutant.replaces
    return text[:begin] + replacement + text[end:]


# ---- all of a text in one program

HEAD = """#include <cstdlib>
#include <type_traits>
inline const int foedus_planted =
    std::getenv("FOEDUS_PLANTED") == nullptr ? 0 : std::atoi(std::getenv("FOEDUS_PLANTED"));
#line 1
"""


def can_be_planted(text, mutant):
    """True if a program can choose the mutant: not if a compiler has to run its function."""
    return not mutant.scope.is_constant and "\n#" not in text[mutant.begin:mutant.end]


def planted(text, numbered):
    """The text with all of `numbered`, {number: mutant}, each of which FOEDUS_PLANTED can choose.

    Lines keep their numbers for the compiler.
    """
    edits = []
    for number, mutant in numbered.items():
        length = mutant.end - mutant.begin
        before, after = (part.replace(NUMBER, str(number)) for part in
                         (mutant.before, mutant.after))
        edits.append((mutant.begin, 1, -length, number, before))
        edits.append((mutant.end, 0, length, -number, after))
    pieces, at = [HEAD], 0
    for position, _, _, _, piece in sorted(edits):
        pieces += [text[at:position], piece]
        at = position
    return "".join(pieces) + text[at:]


def guilty(text, path, output, numbered):
    """The numbers of the mutants in the lines of `path` of which a compiler complains."""
    lines = {int(line) for line in
             re.findall(re.escape(path) + r":(\d+):\d+: (?:fatal )?error:", output)}
    lines = lines or {int(line) for line in re.findall(re.escape(path) + r":(\d+):\d+: ", output)}
    found = []
    for line in lines:
        those = []
        for number, mutant in numbered.items():
            first = text.count("\n", 0, mutant.begin) + 1
            last = text.count("\n", 0, mutant.end) + 1
            if first <= line <= last:
                those.append((last - first, number))
        found += [number for length, number in those if length == min(those)[0]]
    return sorted(set(found))
