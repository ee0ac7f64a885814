"""Finds the statements of the functions of C++ text.

Not a parser: it knows brackets, the words that begin a statement, and what a declaration looks
like. Bodies of lambdas are searched, too; classes inside of functions are not.
"""

import re

import cpp_functions

OPENING, CLOSING = "([{", ")]}"
WORD = re.compile(r"\w+")
ATTRIBUTE = re.compile(r"\s*\[\[[^\]]*\]\]")
LABEL = re.compile(r"(?<!:):(?!:)")
LAMBDA = re.compile(r"(?<![\w)\]])\[[^\[\]]*\]\s*(?=[({])")
AFTER_PARAMETERS = re.compile(
    r"\s*(?:mutable\b|noexcept\b|->\s*(?P<type>[\w:]+(?:<[^{}]*>)?[\s*&]*))?\s*")
JUMPS = ("break", "continue", "goto", "throw", "co_return")
DECLARES = re.compile(
    r"(?:const|constexpr|static|auto|using|typedef|struct|class|enum|union|extern|thread_local|"
    r"alignas|volatile|unsigned|static_assert|FOEDUS_TRY)\b|\[\[")
NO_TYPES = ("delete", "return", "throw", "new", "co_await", "co_yield")
TYPE = re.compile(r"(?:::)?[A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)*")


class Scope:
    """A function, or a lambda in one."""

    def __init__(self, name, result, is_constant=False):
        self.name = name                # without the names of classes
        self.result = result            # type of what it returns; "" if it is not known
        self.is_constant = is_constant  # a compiler may have to run it


class Statement:
    """kind: if, loop (while, do, for), return, jump, declaration or expression."""

    def __init__(self, kind, begin, scope):
        self.kind, self.scope = kind, scope
        self.begin, self.end = begin, begin     # with the semicolon
        self.condition = None                   # (begin, end) of an if or loop
        self.body = None                        # the statements of an if's first branch, flat
        self.has_else = False
        self.in_block = True                    # false: it is all that an if, else or loop has


def end_of(code, begin, end, stop):
    """The first position in [begin, end) of a character of `stop` outside brackets, or end."""
    depth = 0
    for at in range(begin, end):
        character = code[at]
        if depth == 0 and character in stop:
            return at
        if character in OPENING:
            depth += 1
        elif character in CLOSING:
            depth -= 1
    return end


def after_template(text, at):
    """The position after <...> at `at`; `at` if there is none."""
    if not text.startswith("<", at):
        return at
    depth = 0
    for position in range(at, len(text)):
        if text[position] in ";{}":
            return at
        depth += (text[position] == "<") - (text[position] == ">")
        if depth == 0:
            return position + 1
    return at


def is_declaration(text, after=r"[=({;,\[:]|$"):
    """True if the text of a statement begins as a declaration does.

    after: what follows the declared name.
    """
    if DECLARES.match(text):
        return True
    found = TYPE.match(text)
    if not found or found.group(0) in NO_TYPES:
        return False
    at = after_template(text, found.end())
    more = re.compile(r"::\w+").match(text, at)  # std::vector<int>::iterator
    at = more.end() if more else at
    name = re.compile(r"(?:\s*[*&]+\s*|\s+)(?:const\s+)?[A-Za-z_]\w*\s*(?:" + after + ")")
    return name.match(text, at) is not None


def declares_in_condition(text):
    return is_declaration(text, r"\{|=(?!=)")


class Walker:
    """Collects the statements of one text, those of a function in the order of their begins."""

    def __init__(self, code):
        self.code, self.found = code, []
        for name, heading, begin, opening, closing in cpp_functions.functions(code):
            result = heading[:heading.find(name)] if name != "?" else ""
            self._block(opening + 1, closing, Scope(
                name.rpartition("::")[2], type_of(result), "consteval" in result.split() or
                "constexpr" in result.split()))

    def _after_space(self, at, end):
        while at < end and self.code[at].isspace():
            at += 1
        return at

    def _block(self, at, end, scope):
        while (at := self._after_space(at, end)) < end:
            at = max(self._statement(at, end, scope), at + 1)

    def _branch(self, at, end, scope):
        """A statement that is a branch of another; returns where it ends."""
        attribute = ATTRIBUTE.match(self.code, at, end)
        at = self._after_space(attribute.end() if attribute else at, end)
        known = len(self.found)
        after = self._statement(at, end, scope)
        if len(self.found) > known and at < end and self.code[at] != "{":
            self.found[known].in_block = False
        return after

    def _add(self, kind, at, scope):
        self.found.append(Statement(kind, at, scope))
        return self.found[-1]

    def _statement(self, at, end, scope):
        """Adds the statement at `at` and those in it; returns where it ends."""
        code = self.code
        if code[at] == "{":
            closing = end_of(code, at + 1, end, "}")
            self._block(at + 1, closing, scope)
            return closing + 1
        word = WORD.match(code, at)
        word = word.group(0) if word else ""
        if word in ("if", "while", "for", "switch", "catch"):
            return self._with_head(word, at, end, scope)
        if word in ("else", "try"):
            return self._branch(at + len(word), end, scope)
        if word == "do":
            return self._do(at, end, scope)
        if word in ("case", "default"):
            label = LABEL.search(code, at, end)
            return label.end() if label else end
        semicolon = end_of(code, at, end, ";")
        if word == "return":
            kind = "return"
        elif word in JUMPS:
            kind = "jump"
        else:
            kind = "declaration" if is_declaration(code[at:semicolon]) else "expression"
        statement = self._add(kind, at, scope)
        statement.end = min(semicolon + 1, end)
        if not re.match(r"(?:struct|class|enum|union)\b", word):
            self._lambdas(at, semicolon, scope)
        return statement.end

    def _with_head(self, word, at, end, scope):
        code = self.code
        opening = code.find("(", at, end)
        if opening < 0:
            return end
        closing = end_of(code, opening + 1, end, ")")
        is_constant = "constexpr" in code[at:opening]
        if word in ("switch", "catch"):
            return self._branch(closing + 1, end, scope)
        statement = self._add("if" if word == "if" else "loop", at, scope)
        if not is_constant:
            statement.condition = self._condition(word, opening + 1, closing)
        self._lambdas(opening + 1, closing, scope)
        known = len(self.found)
        after = self._branch(closing + 1, end, scope)
        statement.body = self.found[known:]
        following = self._after_space(after, end)
        if word == "if" and re.compile(r"else\b").match(code, following, end):
            statement.has_else = True
            after = self._branch(following + len("else"), end, scope)
        statement.end = after
        return after

    def _do(self, at, end, scope):
        statement = self._add("loop", at, scope)
        after = self._branch(at + len("do"), end, scope)
        opening = self.code.find("(", after, end)
        closing = end_of(self.code, opening + 1, end, ")")
        statement.condition = self._condition("while", opening + 1, closing)
        statement.end = end_of(self.code, closing + 1, end, ";") + 1
        return statement.end

    def _condition(self, word, begin, end):
        """(begin, end) without initializer, step and margins; None if it is empty or declares."""
        code = self.code
        semicolon = end_of(code, begin, end, ";")
        if word == "for":
            if semicolon == end:
                return None
            begin, end = semicolon + 1, end_of(code, semicolon + 1, end, ";")
        elif semicolon < end:
            begin = semicolon + 1
        begin, end = trimmed(code, begin, end)
        if begin == end or declares_in_condition(code[begin:end]):
            return None
        return begin, end

    def _lambdas(self, begin, end, scope):
        code = self.code
        while (found := LAMBDA.search(code, begin, end)) is not None:
            at = found.end()
            if code[at] == "(":
                at = end_of(code, at + 1, end, ")") + 1
            after = AFTER_PARAMETERS.match(code, at, end)
            at = after.end()
            if at >= end or code[at] != "{":
                begin = found.end()
                continue
            closing = end_of(code, at + 1, end, "}")
            self._block(at + 1, closing, Scope(scope.name, type_of(after.group("type") or ""),
                                               scope.is_constant))
            begin = closing


def trimmed(code, begin, end):
    text = code[begin:end]
    if not text.strip():
        return begin, begin
    return begin + len(text) - len(text.lstrip()), begin + len(text.rstrip())


def type_of(heading):
    """The type in what is before a function's name."""
    text = re.sub(r"\[\[[^\]]*\]\]|\b(?:static|inline|virtual|constexpr|explicit|friend|extern)\b",
                  " ", heading)
    text = re.sub(r"^\s*template\s*<.*?>\s*(?=\w)", "", text, flags=re.DOTALL)
    return " ".join(text.split())


def statements(code):
    """The statements of `code`, text without comments and with blanked literals."""
    return Walker(cpp_functions.blank_preprocessor(code)).found
