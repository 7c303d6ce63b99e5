"""Parses JIL text into statements, and records how each line was used."""

import re
from typing import Literal, NamedTuple

from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.attributes import (
    ATTRIBUTES,
    CONDITION_ATTRIBUTES,
    LIST_ATTRIBUTES,
    SUBCOMMANDS,
    TEXT_ATTRIBUTES,
    is_subcommand,
    is_valid_attribute,
    similar_attribute,
)
from mappers.redaction import redact_command

#: How a line was used.
LineKind = Literal["blank", "comment", "statement", "attribute", "continuation", "reported"]

_LINES = re.compile(r"\r\n|\n|\r")
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*:(.*)", re.DOTALL)
#: Another attribute on the same line: anywhere after a subcommand, elsewhere only after two blanks.
_ATTRIBUTE_AFTER_SUBCOMMAND = re.compile(r"(?<![ \t])[ \t]++([A-Za-z_][A-Za-z0-9_]*+)[ \t]*+:")
_NEXT_ATTRIBUTE = re.compile(r"(?<![ \t])[ \t]{2,}+([A-Za-z_][A-Za-z0-9_]*+)[ \t]*+:")
#: The group matches if the comment is unterminated.
_INLINE_COMMENT = re.compile(r"(?:(?<=[ \t])|^)/\*.*?(?:\*/(?=[ \t]|$)|($))")
_QUOTE = re.compile(r'(?<!\\)"')
_JOINS = re.compile(r"[&|]|(?:and|or)[\s(]", re.IGNORECASE)
_TIMES = re.compile(r'"?[+\d][\d:, +"]*$')
_FAILED_EXPORT = re.compile(r"CAUAJM_E_\d+")
_UNFINISHED = re.compile(r"[&|(,]\s*$|\b(?:and|or)\s*$", re.IGNORECASE)


class Attribute(NamedTuple):
    """An attribute; its value includes continuation lines and has no quotes."""

    name: str
    value: str
    line: int


class Statement(NamedTuple):
    """A subcommand, the name of the object it applies to, and the attributes of the object."""

    subcommand: str
    subject: str
    attributes: tuple[Attribute, ...]
    file: str
    line: int


class ParsedJil(NamedTuple):
    """The statements in JIL text, problems, and how each line was used."""

    statements: list[Statement]
    problems: list[Diagnostic]
    line_kinds: list[LineKind]


def parse_jil(text: str, file: str) -> ParsedJil:
    """Parse JIL text; every line that is not used is reported as a problem."""
    parser = _JilParser(_LINES.split(text), file)
    parser.parse()
    return ParsedJil(parser.statements, parser.problems, parser.line_kinds)


class _PendingAttribute:
    """An attribute that the next line may continue."""

    def __init__(self, name: str, text: str, line: int) -> None:
        self.name = name
        self.line = line
        self._parts: list[str] = []
        #: The last part that is not blank.
        self.end = ""
        self.open_parentheses = 0
        self._quotes = 0
        self.add(text)

    @property
    def value(self) -> str:
        return " ".join(self._parts)

    @property
    def has_unbalanced_quotes(self) -> bool:
        return self._quotes % 2 == 1

    def add(self, text: str) -> None:
        self._parts.append(text)
        self.end = text.rstrip() or self.end
        self.open_parentheses += text.count("(") - text.count(")")
        self._quotes += len(_QUOTE.findall(text))


class _JilParser:
    def __init__(self, lines: list[str], file: str) -> None:
        self._lines = lines
        self._file = file
        self._last_comment_end = max((index for index, line in enumerate(lines) if "*/" in line), default=-1)
        self.statements: list[Statement] = []
        self.problems: list[Diagnostic] = []
        self.line_kinds: list[LineKind] = ["blank"] * len(lines)
        self._subcommand: str | None = None
        self._start_line = 0
        self._subject = ""
        self._is_known_subcommand = True
        #: The previous line ended with a backslash.
        self._after_backslash = False
        self._attributes: list[_PendingAttribute] = []

    def parse(self) -> None:
        """Parse all lines, and record how each of them was used."""
        index = 0
        while index < len(self._lines):
            line = self._lines[index]
            stripped_line = line.strip(" \t\f\v\0\x1a\ufeff")
            if stripped_line.startswith("/*"):
                index, stripped_line = self._skip_comment(index, stripped_line)
                if not stripped_line:
                    index += 1
                    continue
            if not stripped_line:
                self.line_kinds[index] = "blank"
            elif stripped_line.startswith("#"):
                self.line_kinds[index] = "comment"
            else:
                self.line_kinds[index] = self._parse_line(stripped_line, index + 1)
            index += 1
        self._finish_statement()

    def _skip_comment(self, index: int, first_line: str) -> tuple[int, str]:
        """Skip a comment; returns the index of its last line, and the text after it."""
        for end in range(index, self._last_comment_end + 1):
            text = first_line.removeprefix("/*") if end == index else self._lines[end]
            _, terminator, text_after_comment = text.partition("*/")
            if terminator:
                self.line_kinds[index : end + 1] = ["comment"] * (end + 1 - index)
                return end, text_after_comment.strip()
        self._report(index + 1, "error", "unterminated comment: only this line is treated as a comment")
        self.line_kinds[index] = "reported"
        return index, ""

    def _parse_line(self, line: str, number: int) -> LineKind:
        """Parse a subcommand, an attribute or a continuation; returns how the line was used."""
        match = _KEY.fullmatch(line)
        name = match[1].lower() if match else ""
        after_backslash = self._after_backslash
        self._after_backslash = line.endswith("\\")
        if match and is_subcommand(name):
            return self._start_statement(name, match[2], number)
        pending = self._attributes[-1] if self._attributes else None
        is_continuation = pending is not None and _is_continuation(pending, line)
        if after_backslash and name not in ATTRIBUTES and not is_continuation:
            # JIL has no line continuation with a backslash, so it is unknown what the scheduler does.
            message = (
                f"follows a backslash, which does not continue a line in JIL: ignored: {redact_command(line)[:80]}"
            )
            self._report(number, "warning", message)
            return "reported"
        if match and (name in ATTRIBUTES or not is_continuation):
            return self._parse_attribute(name, match[2], number)
        if pending is not None and is_continuation:
            pending.add(_remove_comments(line))
            return "continuation"
        # An export that failed contains an error message instead of definitions.
        level: DiagnosticLevel = "error" if _FAILED_EXPORT.match(line) else "warning"
        self._report(
            number, level, f"is neither an attribute nor a continuation: ignored: {redact_command(line)[:80]}"
        )
        return "reported"

    def _start_statement(self, subcommand: str, text: str, number: int) -> LineKind:
        """Start a statement with a subcommand, whose line may already contain attributes."""
        self._finish_statement()
        self._subcommand = subcommand
        self._start_line = number
        self._is_known_subcommand = subcommand in SUBCOMMANDS
        (_, subject), *attributes = _split_attributes(_remove_comments(text), _ATTRIBUTE_AFTER_SUBCOMMAND, "")
        self._subject = _unquote(subject)
        self._attributes = []
        if not self._is_known_subcommand:
            message = f"{subcommand} is not a known subcommand: ignored, together with its attributes"
            self._report(number, "error", message)
            return "reported"
        if not self._subject:
            self._report(number, "error", f"{subcommand} has no name")
        self._attributes = [_PendingAttribute(name, value, number) for name, value in attributes]
        return "statement"

    def _parse_attribute(self, name: str, text: str, number: int) -> LineKind:
        """Add an attribute, and all further attributes on its line, to the current statement."""
        if self._subcommand is None:
            self._report(number, "error", f"{name} precedes all subcommands: ignored")
            return "reported"
        if not self._is_known_subcommand:
            return "reported"
        if name not in TEXT_ATTRIBUTES:
            text = _remove_comments(text)
        attributes = _split_attributes(text, _NEXT_ATTRIBUTE, name)
        if len(attributes) > 1:
            names = ", ".join(further_name for further_name, _ in attributes[1:])
            self._report(number, "warning", f"{names} after {name} on the same line: read as a separate attribute")
        self._attributes += [_PendingAttribute(attribute_name, value, number) for attribute_name, value in attributes]
        return "attribute"

    def _finish_statement(self) -> None:
        """Add the current statement, if it has a known subcommand and a name, and check its attributes."""
        if self._subcommand is None or not self._is_known_subcommand:
            self._subcommand = None
            return
        for attribute in self._attributes:
            if not is_valid_attribute(attribute.name, self._subcommand):
                object_type = self._subcommand.partition("_")[2].replace("_", " ")
                suggestion = similar_attribute(attribute.name)
                hint = f"; did you mean {suggestion}?" if suggestion and suggestion != attribute.name else ""
                message = f"{attribute.name} is not a known attribute of a {object_type}{hint}: kept as it is"
                self._report(attribute.line, "warning", message)
            if attribute.has_unbalanced_quotes:
                self._report(attribute.line, "warning", f"unbalanced quotes in {attribute.name}: kept as it is")
        attributes = tuple(
            Attribute(attribute.name, _unquote(attribute.value), attribute.line) for attribute in self._attributes
        )
        if self._subject:
            self.statements.append(
                Statement(self._subcommand, self._subject, attributes, self._file, self._start_line)
            )
        self._subcommand = None
        self._attributes = []

    def _report(self, line: int, level: DiagnosticLevel, message: str) -> None:
        self.problems.append(Diagnostic(self._file, line, level, message))


def _is_continuation(pending: _PendingAttribute, line: str) -> bool:
    """Return whether a line continues a list, an unfinished condition, or a value with an open quote."""
    if pending.name in CONDITION_ATTRIBUTES:
        is_unfinished = not pending.end or bool(_UNFINISHED.search(pending.end)) or pending.open_parentheses > 0
        return is_unfinished or bool(_JOINS.match(line)) or pending.has_unbalanced_quotes
    if pending.has_unbalanced_quotes:
        return True
    return pending.name in LIST_ATTRIBUTES and (
        pending.end.endswith(",") or line.startswith(",") or bool(_TIMES.match(line))
    )


def _remove_comments(text: str) -> str:
    """Remove comments, but leave quoted text and paths such as `/tmp/*/x` unchanged."""
    if "/*" not in text or '"' in text:
        return text
    return _INLINE_COMMENT.sub(lambda comment: " " if comment[1] is None else comment[0], text)


def _split_attributes(text: str, attribute_pattern: re.Pattern[str], first_name: str) -> list[tuple[str, str]]:
    """Split a line into attributes (name and value) at known names outside of quotes."""
    attributes: list[tuple[str, str]] = []
    name, start, quotes, counted = first_name, 0, 0, 0
    for match in attribute_pattern.finditer(text):
        next_name = match[1].lower()
        if next_name in ATTRIBUTES:
            quotes += len(_QUOTE.findall(text, counted, match.start()))
            counted = match.start()
            if quotes % 2 == 0:
                attributes.append((name, text[start : match.start()].strip()))
                name, start = next_name, match.end()
    return [*attributes, (name, text[start:].strip())]


def _unquote(value: str) -> str:
    """Remove the quotes around a value, and unescape its colons and quotes."""
    text = value.strip()
    if text.startswith('"') and text.endswith('"') and len(_QUOTE.findall(text)) == 2:
        text = text[1:-1]
    return text.replace("\\:", ":").replace('\\"', '"')
