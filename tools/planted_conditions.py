"""Finds the conditions of a C++ text, and the operands that may be taken away of each.

A condition is that of an `if`, the initializer of a `const bool`, a conjunction or disjunction that
is returned, or one that chooses between null and another value to return. Each of its operands is
removed, and the others stay. A lone condition becomes one that refuses nothing: false in an `if`,
the one that leads to null in a choice. Operands in parentheses are divided, too.
"""

import re

import cpp_text

STARTS = re.compile(r"\bif (?:constexpr )?(?P<if>\()|\bconst bool \w+ =(?P<bool>\s)|"
                    r"\breturn(?P<return>\s)")
OPENING, CLOSING = "([{", ")]}"


def end_of(code, begin, stop):
    """The position of the first character of `stop` from begin on that is in no parentheses."""
    depth = 0
    for at in range(begin, len(code)):
        if depth == 0 and code[at] in stop:
            return at
        depth += (code[at] in OPENING) - (code[at] in CLOSING)
    return len(code)


def split(code, begin, end, operator):
    """Spans between the operators that are in no parentheses and no lambda."""
    spans, depth, from_here = [], 0, begin
    for at in range(begin, end):
        if depth == 0 and code.startswith(operator, at):
            spans.append((from_here, at))
            from_here = at + len(operator)
        depth += (code[at] in OPENING) - (code[at] in CLOSING)
    return spans + [(from_here, end)]


def trimmed(code, begin, end):
    text = code[begin:end]
    return begin + len(text) - len(text.lstrip()), begin + len(text.rstrip())


def operands(code, begin, end):
    """(operator, spans) of the condition: a disjunction if it is one, else a conjunction."""
    for operator in ("||", "&&"):
        spans = split(code, begin, end, operator)
        if len(spans) > 1:
            return operator, [trimmed(code, *span) for span in spans]
    return "", [trimmed(code, begin, end)]


def mutants_of_condition(code, begin, end):
    """Yields (begin, end, replacement, what goes)."""
    operator, spans = operands(code, begin, end)
    for number, (first, last) in enumerate(spans):
        if operator:
            others = [code[b:e] for i, (b, e) in enumerate(spans) if i != number]
            yield begin, end, f" {operator} ".join(others), code[first:last]
        if code[first] == "(" and end_of(code, first + 1, ")") == last - 1:
            yield from mutants_of_condition(code, first + 1, last - 1)


def mutants(text):
    """Yields (begin, end, replacement, what goes) of all conditions, in their order."""
    code = cpp_text.code_only(text, keep_strings=True)
    for match in STARTS.finditer(cpp_text.code_only(text)):
        begin = match.end()
        if match.group("if"):
            end = end_of(code, begin, ")")
            begin = split(code, begin, end, ";")[-1][0]
            begin, end = trimmed(code, begin, end)
            if not operands(code, begin, end)[0]:
                yield begin, end, "false", code[begin:end]
        else:
            stop = end_of(code, begin, ";?")
            begin, end = trimmed(code, begin, stop)
            if code[stop] == "?":
                otherwise = end_of(code, stop + 1, ":")
                ends = code[stop + 1:otherwise], code[otherwise + 1:end_of(code, otherwise, ";")]
                for constant, leads_to in zip(("true", "false"), ends):
                    if leads_to.strip() == "nullptr":
                        yield begin, end, constant, code[begin:end]
        yield from mutants_of_condition(code, begin, end)
