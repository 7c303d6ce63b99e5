"""Parses shell commands: arguments, redirections, pipes."""

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_UNRESOLVABLE = frozenset({"command_substitution", "process_substitution", "arithmetic_expansion"})
#: Nodes below this depth are ignored; hand-written commands do not reach this depth.
_MAX_DEPTH = 200


RedirectionOperator = Literal["<", ">", ">>"]

#: Redirection symbols, with the operator of the same effect on files.
_OPERATORS: dict[str, RedirectionOperator] = {"<": "<", ">": ">", ">|": ">", "&>": ">", ">>": ">>", "&>>": ">>"}


class Redirection(NamedTuple):
    """A file that a command reads from or writes to."""

    operator: RedirectionOperator
    file: str


class ShellCommand(NamedTuple):
    """A command with its arguments; an argument is None if only a shell can resolve it."""

    arguments: tuple[str | None, ...]
    redirections: tuple[Redirection, ...] = ()
    #: Number of the pipe, which is the same for all of its commands; each reads the output of the previous one.
    pipe: int = 0

    @property
    def name(self) -> str:
        """Name of the program without its folder."""
        first = self.arguments[0] if self.arguments else None
        return (first or "").rpartition("/")[2]


def parse_commands(text: str, variables: Mapping[str, str] | None = None) -> list[ShellCommand]:
    """Parse all commands, including those in pipes, lists, loops and subshells; expands known variables."""
    raw = text.encode()
    root = _bash_parser().parse(raw).root_node
    return _collect_commands(root, raw, dict(variables or {}))


@cache
def _bash_parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


class _ShellContext(NamedTuple):
    """Context of a node: the redirections of its enclosing nodes, and the pipe that contains the node, if any."""

    redirections: tuple[Redirection, ...] = ()
    pipe: int | None = None
    depth: int = 0


def _collect_commands(root: Node, raw: bytes, variables: dict[str, str]) -> list[ShellCommand]:
    """Collect the commands from left to right; assignments between them are added to `variables`."""
    commands: list[ShellCommand] = []
    pending = [(root, _ShellContext())]
    while pending:
        node, context = pending.pop()
        if context.depth > _MAX_DEPTH:
            continue
        if node.type == "variable_assignment":
            _record_assignment(node, raw, variables)
        if node.type == "command":
            command = _shell_command(node, context, raw, variables)
            if command.arguments:
                commands.append(command)
        inner_context = context._replace(depth=context.depth + 1)
        if node.type == "redirected_statement":
            inner_context = inner_context._replace(
                redirections=(*context.redirections, *_redirections(node, raw, variables))
            )
        if node.type == "pipeline" and inner_context.pipe is None:
            inner_context = inner_context._replace(pipe=node.start_byte)
        context_before_last = inner_context
        if node.type in {"list", "pipeline"}:
            # In `a && b > /x` and `a | b > /x`, only the last command writes to /x.
            context_before_last = inner_context._replace(redirections=())
        children = node.named_children
        if children:
            pending.append((children[-1], inner_context))
        pending += [(child, context_before_last) for child in reversed(children[:-1])]
    return commands


def _shell_command(node: Node, context: _ShellContext, raw: bytes, variables: Mapping[str, str]) -> ShellCommand:
    """Resolve a command; assignments and redirections without a program have no arguments."""
    words = [
        child
        for child in node.named_children
        if child.type not in {"variable_assignment", "file_redirect", "herestring_redirect"}
    ]
    arguments = tuple(_resolve_word(word, raw, variables) for word in words)
    redirections = (*_redirections(node, raw, variables), *context.redirections)
    pipe = node.start_byte if context.pipe is None else context.pipe
    return ShellCommand(arguments, redirections, pipe)


def _record_assignment(node: Node, raw: bytes, variables: dict[str, str]) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and value is not None and (text := _resolve_word(value, raw, variables)) is not None:
        variables[_node_text(name, raw)] = text


def _redirections(node: Node, raw: bytes, variables: Mapping[str, str]) -> tuple[Redirection, ...]:
    redirections = []
    for child in node.named_children:
        if child.type != "file_redirect":
            continue
        operator = next((_OPERATORS[part.type] for part in child.children if part.type in _OPERATORS), None)
        file = child.child_by_field_name("destination")
        descriptor = child.child_by_field_name("descriptor")
        is_stderr = descriptor is not None and _node_text(descriptor, raw) == "2"
        if operator is None or file is None or is_stderr:
            continue
        path = _resolve_word(file, raw, variables)
        if path:
            redirections.append(Redirection(operator, path))
    return tuple(redirections)


def _resolve_word(node: Node, raw: bytes, variables: Mapping[str, str]) -> str | None:
    """Return the value that a program gets for a word, or None if only a shell can resolve the word."""
    if node.type in _UNRESOLVABLE:
        return None
    if node.type in {"command_name", "concatenation"}:
        parts = [_resolve_word(child, raw, variables) for child in node.named_children]
        return None if None in parts else "".join(part for part in parts if part)
    if node.type == "string":
        return _expand_string(node, raw, variables)
    text = _node_text(node, raw)
    if node.type in {"simple_expansion", "expansion"}:
        return variables.get(text.strip("${}"))
    if node.type == "raw_string":
        return text[1:-1]
    return text.replace("\\ ", " ")


def _expand_string(node: Node, raw: bytes, variables: Mapping[str, str]) -> str | None:
    """Expand the variables in a double-quoted string.

    Literal text is copied from the source, because the parser drops whitespace between variables.
    """
    text = ""
    start = node.start_byte + 1
    for child in node.named_children:
        if child.type == "string_content":
            continue
        value = _resolve_word(child, raw, variables)
        if value is None:
            return None
        text += raw[start : child.start_byte].decode("utf-8", "replace") + value
        start = child.end_byte
    return text + raw[start : node.end_byte - 1].decode("utf-8", "replace")


def _node_text(node: Node, raw: bytes) -> str:
    return raw[node.start_byte : node.end_byte].decode("utf-8", "replace")
