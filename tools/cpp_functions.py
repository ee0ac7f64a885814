"""Measures the functions of C++ text by its braces.

Not a parser: a brace opened in a namespace or class is the body of a function if the text since
the last ; { or } holds a parameter list. Lambdas count as part of the function around them.
"""

import re

import cpp_text

TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum)\b")
NAMESPACE = re.compile(r'^(?:inline\s+)?namespace\b|^extern\s*"')
INITIALIZERS = re.compile(r"\)\s*(?:noexcept\s*(?:\([^)]*\))?\s*)?:(?!:)")
LAST_WORD = re.compile(r"(?:\b(const|noexcept|override|final|mutable|try)|[)&])$")


def blank_preprocessor(code):
    """Blanks preprocessor lines, continued ones too."""
    pattern = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), code)


def kind_of(heading):
    """Returns the kind of brace after the heading: scope, function or initializer."""
    if NAMESPACE.match(heading):
        return "scope"
    if TYPE.match(heading) and not heading.endswith((")", "const", "noexcept", "override")):
        return "scope"
    if "(" not in heading:
        return "initializer"
    if heading.count("(") > heading.count(")"):
        return "initializer"
    if LAST_WORD.search(heading) or "->" in heading.rpartition(")")[2]:
        return "function"
    if INITIALIZERS.search(heading):
        return "function" if heading.endswith("}") else "initializer"
    if re.search(r"\brequires\b", heading):
        return "function"
    return "initializer"


def name_of(heading):
    heading = re.sub(r"\brequires\s*\([^()]*\)", "", heading)
    names = re.findall(r"(operator\s*\S+?|[~\w:]+)\s*\(", heading)
    return names[0] if names else "?"


def functions(code):
    """Yields (name, heading, first position, position of {, position of }) of each function.

    code: C++ text without comments, contents of literals and preprocessor lines.
    """
    stack = []  # (kind, heading, position of the heading, position of the brace)
    begin = 0   # where the heading of the next brace begins
    for match in re.finditer(r"[{};]|\b(?:public|protected|private)\s*:(?!:)", code):
        position, token = match.start(), match.group(0)
        inside = stack[-1][0] if stack else "scope"
        if token == "{":
            raw = code[begin:position]
            heading = raw.strip()
            kind = kind_of(heading) if inside == "scope" else "block"
            stack.append((kind, heading, begin + len(raw) - len(raw.lstrip()), position))
            if kind != "initializer":
                begin = match.end()
        elif token == "}":
            if not stack:
                continue
            kind, heading, start, brace = stack.pop()
            if kind == "function":
                yield name_of(heading), heading, start, brace, position
            if kind != "initializer":
                begin = match.end()
        elif inside == "scope" and not open_parenthesis(code[begin:position]):
            begin = match.end()
        elif inside not in ("scope", "initializer"):
            begin = match.end()


def function_lengths(text):
    """Yields (name, first line, number of lines) of each function."""
    code = blank_preprocessor(cpp_text.code_only(text))
    for name, _, begin, _, end in functions(code):
        first = code.count("\n", 0, begin) + 1
        yield name, first, code.count("\n", 0, end) + 1 - first + 1


def open_parenthesis(heading):
    return heading.count("(") > heading.count(")")
