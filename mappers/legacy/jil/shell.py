"""Command lines read by a grammar of the shell: the commands that they start, with their words and redirections."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_UNKNOWABLE = frozenset({"command_substitution", "process_substitution", "arithmetic_expansion"})
#: Deeper than any command that people write.
_DEEPEST = 200


class Redirection(NamedTuple):
    """A file that a command reads from or writes to."""

    operator: Literal["<", ">", ">>"]
    file: str


class ShellCommand(NamedTuple):
    """A command with its words; None stands for a word that only a shell could tell."""

    arguments: tuple[str | None, ...]
    redirections: tuple[Redirection, ...] = ()
    #: Commands of one pipe share it: what one writes, the next reads.
    pipe: int = 0

    @property
    def name(self) -> str:
        """Give the name of the program, without its folder."""
        first = self.arguments[0] if self.arguments else None
        return (first or "").rpartition("/")[2]


def parse_commands(text: str, variables: Mapping[str, str] | None = None) -> list[ShellCommand]:
    """Read the commands of a line, also in pipes, lists, loops and subshells; variables are put in where known."""
    raw = text.encode()
    root = _parser().parse(raw).root_node
    return list(_commands(root, raw, dict(variables or {})))


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


class _ShellContext(NamedTuple):
    """What a part of a line lies within: redirections of what is around it, and a pipe where it is in one."""

    redirections: tuple[Redirection, ...] = ()
    pipe: int | None = None
    depth: int = 0


def _commands(root: Node, raw: bytes, variables: dict[str, str]) -> Iterator[ShellCommand]:
    waiting = [(root, _ShellContext())]
    while waiting:
        node, around = waiting.pop()
        if around.depth > _DEEPEST:
            continue
        if node.type == "variable_assignment":
            _assign(node, raw, variables)
        if node.type == "command":
            words = [
                _word(one, raw, variables)
                for one in node.named_children
                if one.type not in {"variable_assignment", "file_redirect", "herestring_redirect"}
            ]
            own = _redirections(node, raw, variables)
            if words:
                pipe = node.start_byte if around.pipe is None else around.pipe
                yield ShellCommand(tuple(words), (*own, *around.redirections), pipe)
        inner = around._replace(depth=around.depth + 1)
        if node.type == "redirected_statement":
            inner = inner._replace(redirections=(*around.redirections, *_redirections(node, raw, variables)))
        if node.type == "pipeline" and inner.pipe is None:
            inner = inner._replace(pipe=node.start_byte)
        children = node.named_children
        # `a && b > /x` and `a | b > /x`: only the last one writes there.
        others = inner._replace(redirections=()) if node.type in {"list", "pipeline"} else inner
        last = len(children) - 1
        waiting += [(one, inner if place == last else others) for place, one in reversed(list(enumerate(children)))]


def _assign(node: Node, raw: bytes, variables: dict[str, str]) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and value is not None and (text := _word(value, raw, variables)) is not None:
        variables[_text(name, raw)] = text


def _redirections(node: Node, raw: bytes, variables: Mapping[str, str]) -> tuple[Redirection, ...]:
    found = []
    for one in node.named_children:
        if one.type != "file_redirect":
            continue
        sign = next((each.type for each in one.children if each.type in {"<", ">", ">>", "&>", "&>>", ">|"}), None)
        file = one.child_by_field_name("destination")
        descriptor = one.child_by_field_name("descriptor")
        if sign is None or file is None or (descriptor is not None and _text(descriptor, raw) == "2"):
            continue
        text = _word(file, raw, variables)
        if text:
            way: Literal["<", ">", ">>"] = "<" if sign == "<" else ">>" if sign.endswith(">>") else ">"
            found.append(Redirection(way, text))
    return tuple(found)


def _word(node: Node, raw: bytes, variables: Mapping[str, str]) -> str | None:
    """Give what a word is to the program; None where only the shell could say it."""
    if node.type in _UNKNOWABLE:
        return None
    if node.type in {"command_name", "concatenation"}:
        parts = [_word(one, raw, variables) for one in node.named_children]
        return None if None in parts else "".join(filter(None, parts))
    if node.type == "string":
        return _filled(node, raw, variables)
    text = _text(node, raw)
    if node.type in {"simple_expansion", "expansion"}:
        return variables.get(text.strip("${}"))
    return text[1:-1] if node.type == "raw_string" else text.replace("\\ ", " ")


def _filled(node: Node, raw: bytes, variables: Mapping[str, str]) -> str | None:
    """Give a text in quotes with its variables put in, the blanks between them kept."""
    found, begin = "", node.start_byte + 1
    for one in node.named_children:
        if one.type == "string_content":
            continue
        value = _word(one, raw, variables)
        if value is None:
            return None
        found += raw[begin : one.start_byte].decode("utf-8", "replace") + value
        begin = one.end_byte
    return found + raw[begin : node.end_byte - 1].decode("utf-8", "replace")


def _text(node: Node, raw: bytes) -> str:
    return raw[node.start_byte : node.end_byte].decode("utf-8", "replace")
