"""Parses JIL text into statements; every line is accounted for."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.attributes import (
    ATTRIBUTES,
    CONDITIONS,
    LISTS,
    SUBCOMMANDS,
    TEXTS,
    is_subcommand,
    is_valid_attribute,
)
from mappers.redaction import redact_command

#: What became of a line.
LineKind = Literal["blank", "comment", "statement", "attribute", "continuation", "reported"]

_LINES = re.compile(r"\r\n|\n|\r")
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*:(.*)", re.DOTALL)
#: Another attribute behind the first: anywhere on the line of a sub-command, elsewhere behind two blanks.
_BEHIND_VERB = re.compile(r"[ \t]+([A-Za-z_][A-Za-z0-9_]*)[ \t]*:")
_BEHIND = re.compile(r"[ \t]{2,}([A-Za-z_][A-Za-z0-9_]*)[ \t]*:")
_COMMENT_INSIDE = re.compile(r"(?:(?<=[ \t])|^)/\*.*?\*/(?=[ \t]|$)")
_QUOTE = re.compile(r'(?<!\\)"')
_JOINS = re.compile(r"[&|]|(?:and|or)[\s(]", re.IGNORECASE)
_TIMES = re.compile(r'"?[+\d][\d:, +"]*$')
_FAILED = re.compile(r"CAUAJM_E_\d+")
_UNFINISHED = re.compile(r"[&|(,]\s*$|\b(?:and|or)\s*$", re.IGNORECASE)


class Attribute(NamedTuple):
    """A name and its value, as it is meant: without quotes, and with the lines that go on."""

    name: str
    value: str
    line: int


class Statement(NamedTuple):
    """A sub-command, what it is about, and what is said of that."""

    verb: str
    subject: str
    attributes: tuple[Attribute, ...]
    file: str
    line: int


class ParsedJil(NamedTuple):
    """The statements of a text, what is wrong with it, and what became of each of its lines."""

    statements: list[Statement]
    problems: list[Diagnostic]
    line_kinds: list[LineKind]


def parse_jil(text: str, file: str) -> ParsedJil:
    """Read a text; nothing that is written there is passed over in silence."""
    reader = _JilParser(_LINES.split(text), file)
    reader.read()
    return ParsedJil(reader.statements, reader.problems, reader.fates)


class _PendingAttribute:
    """An attribute that may go on behind its line."""

    def __init__(self, name: str, value: str, line: int) -> None:
        self.name = name
        self.value = value
        self.line = line


class _JilParser:
    def __init__(self, lines: list[str], file: str) -> None:
        self._lines = lines
        self._file = file
        self.statements: list[Statement] = []
        self.problems: list[Diagnostic] = []
        self.fates: list[LineKind] = ["blank"] * len(lines)
        self._verb: str | None = None
        self._began = 0
        self._subject = ""
        self._taken = True
        #: Whether the line before ended with a backslash.
        self._cut = False
        self._attributes: list[_PendingAttribute] = []

    def read(self) -> None:
        place = 0
        while place < len(self._lines):
            line = self._lines[place]
            bare = line.strip(" \t\f\v\0\x1a\ufeff")
            if bare.startswith("/*"):
                place, bare = self._comment(place, bare)
                if not bare:
                    place += 1
                    continue
            if not bare:
                self.fates[place] = "blank"
            elif bare.startswith("#"):
                self.fates[place] = "comment"
            else:
                self.fates[place] = self._line(bare, place + 1)
            place += 1
        self._finish()

    def _comment(self, place: int, bare: str) -> tuple[int, str]:
        """Pass over a comment; gives the line where it ends, and what stands behind it."""
        self.fates[place] = "comment"
        rest = bare[2:]
        for end in range(place, len(self._lines)):
            text = rest if end == place else self._lines[end]
            _, closed, behind = text.partition("*/")
            self.fates[end] = "comment" if closed or end == place else self.fates[end]
            if closed:
                for inside in range(place, end):
                    self.fates[inside] = "comment"
                return end, behind.strip()
        self._report(place + 1, "error", "a comment begins here and never ends: only this line is taken for one")
        self.fates[place] = "reported"
        return place, ""

    def _line(self, bare: str, number: int) -> LineKind:
        found = _KEY.fullmatch(bare)
        name = found[1].lower() if found else ""
        cut, self._cut = self._cut, bare.endswith("\\")
        if found and is_subcommand(name):
            return self._begin(name, found[2], number)
        last = self._attributes[-1] if self._attributes else None
        goes_on = last is not None and _goes_on(last, bare)
        if cut and name not in ATTRIBUTES and not goes_on:
            # JIL has no such mark: what the scheduler makes of it, nobody can tell.
            said = (
                f"stands behind a backslash, which in JIL lets no line go on: not taken: {redact_command(bare)[:80]}"
            )
            self._report(number, "warning", said)
            return "reported"
        if found and (name in ATTRIBUTES or not goes_on):
            return self._attribute(name, found[2], number)
        if last is not None and goes_on:
            last.value = f"{last.value} {_uncommented(bare)}"
            return "continuation"
        # A message of an export that failed stands where definitions should.
        level: DiagnosticLevel = "error" if _FAILED.match(bare) else "warning"
        self._report(number, level, f"is no attribute and goes on with none: not taken: {redact_command(bare)[:80]}")
        return "reported"

    def _begin(self, verb: str, rest: str, number: int) -> LineKind:
        self._finish()
        self._verb, self._began, self._taken = verb, number, verb in SUBCOMMANDS
        first, *others = _split(_uncommented(rest), _BEHIND_VERB, "")
        self._subject = _unquote(first[1])
        self._attributes = []
        if not self._taken:
            said = f"{verb} is no sub-command that is known: it is not taken, nor is what belongs to it"
            self._report(number, "error", said)
            return "reported"
        if not self._subject:
            self._report(number, "error", f"{verb} names nothing")
        self._attributes = [_PendingAttribute(name, value, number) for name, value in others]
        return "statement"

    def _attribute(self, name: str, rest: str, number: int) -> LineKind:
        if self._verb is None:
            self._report(number, "error", f"{name} stands before any sub-command: not taken")
            return "reported"
        if not self._taken:
            return "reported"
        text = rest if name in TEXTS else _uncommented(rest)
        (_, value), *others = _split(text, _BEHIND, name)
        if others:
            names = ", ".join(other for other, _ in others)
            self._report(number, "warning", f"{names} behind {name} on one line: taken for an attribute of its own")
        self._attributes += [_PendingAttribute(one, text, number) for one, text in [(name, value), *others]]
        return "attribute"

    def _finish(self) -> None:
        if self._verb is None or not self._taken:
            self._verb = None
            return
        for one in self._attributes:
            if not is_valid_attribute(one.name, self._verb):
                thing = self._verb.partition("_")[2].replace("_", " ")
                said = f"{one.name} is no attribute of a {thing} that is known: kept as it is"
                self._report(one.line, "warning", said)
            if _unbalanced(one.value):
                self._report(one.line, "warning", f"the quotes of {one.name} are not closed: taken as it stands")
        taken = tuple(Attribute(one.name, _unquote(one.value), one.line) for one in self._attributes)
        if self._subject:
            self.statements.append(Statement(self._verb, self._subject, taken, self._file, self._began))
        self._verb = None
        self._attributes = []

    def _report(self, line: int, level: DiagnosticLevel, said: str) -> None:
        self.problems.append(Diagnostic(self._file, line, level, said))


def _goes_on(last: _PendingAttribute, line: str) -> bool:
    """Tell whether a value goes on in a line: one that is a list, unfinished, or in quotes that are still open."""
    if last.name in CONDITIONS:
        inside = bool(_UNFINISHED.search(last.value)) or last.value.count("(") > last.value.count(")")
        begins = not last.value.strip() or bool(_JOINS.match(line))
        return inside or begins or _unbalanced(last.value)
    if _unbalanced(last.value):
        return True
    return last.name in LISTS and (
        last.value.rstrip().endswith(",") or line.startswith(",") or bool(_TIMES.match(line))
    )


def _unbalanced(value: str) -> bool:
    return len(_QUOTE.findall(value)) % 2 == 1


def _uncommented(text: str) -> str:
    """Take comments out of a value, but what stands in quotes, or is closed on no line: `/tmp/*/x` is a path."""
    if "/*" not in text or '"' in text:
        return text
    return _COMMENT_INSIDE.sub(" ", text)


def _split(text: str, behind: re.Pattern[str], name: str) -> list[tuple[str, str]]:
    """Split a line into attributes, at names that are known and stand in no quotes."""
    found: list[tuple[str, str]] = []
    begin = 0
    for match in behind.finditer(text):
        other = match[1].lower()
        if other in ATTRIBUTES and not _unbalanced(text[: match.start()]):
            found.append((name, text[begin : match.start()].strip()))
            name, begin = other, match.end()
    return [*found, (name, text[begin:].strip())]


def _unquote(value: str) -> str:
    """Give a value without the quotes around it, and with the colons and quotes that were escaped."""
    plain = value.strip()
    if plain.startswith('"') and plain.endswith('"') and len(_QUOTE.findall(plain)) == 2:
        plain = plain[1:-1]
    return plain.replace("\\:", ":").replace('\\"', '"')


def iter_values(statement: Statement, name: str) -> Iterator[str]:
    """Give every value of an attribute that may be repeated."""
    return (one.value for one in statement.attributes if one.name == name)
