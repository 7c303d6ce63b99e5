"""Parses YAML into plain values and records file and line of every key; rejects object tags and aliases."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from connectors.errors import ConfigError
from mappers.redaction import is_secret_name, redact_command, redact_user_info

#: Path of a key in a file: section names and list indexes.
KeyPath = tuple[str | int, ...]


#: Keys with secrets, in addition to those that `is_secret_name` recognizes.
_SECRET_KEYS = frozenset({"sha256", "url", "db2_url", "teradata_url", "hdfs_url", "api_keys"})
#: Types of errors about a text in place of a section or list; the text may contain anything.
CONTAINER_TYPES = frozenset({"model_type", "model_attributes_type", "dict_type", "list_type"})
#: Text of a file in an error message of the parser; names of tokens and single characters are kept.
_QUOTED_TEXT = re.compile(r"'(?!<[a-z ]+>')[^'].+'")


class Origin(NamedTuple):
    """File and line of a key."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class ConfigProblem(NamedTuple):
    """A problem and the key that is ignored as a result; an empty path stands for the whole file."""

    key_path: KeyPath
    message: str


class YamlTree(NamedTuple):
    """Values of a file, origin of every key, and problems."""

    values: Any
    origins: dict[KeyPath, Origin]
    problems: list[ConfigProblem]


def parse_yaml(path: Path, text: str, expand: Callable[[str, Origin], str] = lambda text, _: text) -> YamlTree:
    """Parse YAML; raises ConfigError if the text is not valid."""
    builder = _TreeBuilder(path, expand)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        values = builder.build_value(node, ()) if node is not None else None
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{path} is not YAML: {_describe(error)}") from None  # the error repeats the line
    return YamlTree(values, builder.origins, builder.problems)


def _describe(error: Exception) -> str:
    """Describe a syntax error without text of the file, which may be secret."""
    if isinstance(error, yaml.MarkedYAMLError):
        problem = ", ".join(filter(None, (error.context, error.problem)))
        mark = error.problem_mark or error.context_mark
        position = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        return _QUOTED_TEXT.sub("…", problem) + position
    if isinstance(error, yaml.reader.ReaderError):
        return f"character {error.character} at position {error.position} is not allowed"
    return "it is nested too deeply"


def describe_value(key_path: KeyPath, value: Any) -> str:
    """Describe a single value in parentheses, or return an empty string if it may be secret."""
    names = [part for part in key_path if isinstance(part, str)]
    is_secret = any(name in _SECRET_KEYS or is_secret_name(name) for name in names)
    if is_secret or (value and isinstance(value, dict | list)):
        return ""
    shown_value = redact_user_info(value) if isinstance(value, str) else value
    return f" (got {redact_command(repr(shown_value))})"


def single_line(error: Exception) -> str:
    return " ".join(str(error).split())


class _TreeBuilder:
    """Converts YAML nodes to values; keys with invalid values are left out and reported."""

    def __init__(self, path: Path, expand: Callable[[str, Origin], str]) -> None:
        self._path = path
        self._expand = expand
        self.origins: dict[KeyPath, Origin] = {}
        self.problems: list[ConfigProblem] = []
        self._visited_nodes: set[int] = set()

    def build_value(self, node: yaml.Node, key_path: KeyPath) -> Any:
        """Convert a node to its value; raises ConfigError if the value is not supported."""
        origin = Origin(str(self._path), node.start_mark.line + 1)
        self.origins[key_path] = origin
        if id(node) in self._visited_nodes:
            raise ConfigError(f"{origin}: YAML aliases are not supported: write the value out")
        self._visited_nodes.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._build_mapping(node, key_path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build_value(item, (*key_path, index)) for index, item in enumerate(node.value)]
        if node.tag == "tag:yaml.org,2002:str":
            return self._expand(str(node.value), origin)
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (yaml.YAMLError, ValueError):
            raise ConfigError(f"{origin}: unsupported YAML value or tag") from None  # the error repeats the value

    def _build_mapping(self, node: yaml.MappingNode, key_path: KeyPath) -> dict[str, Any]:
        """Convert a mapping. A key that is repeated or has an invalid value becomes a problem."""
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            key_origin = Origin(str(self._path), key_node.start_mark.line + 1)
            if key in mapping:
                self.problems.append(ConfigProblem((*key_path, key), f"{key_origin}: {key} is set twice"))
                continue
            try:
                mapping[key] = self.build_value(value_node, (*key_path, key))
            except ConfigError as error:
                self.problems.append(ConfigProblem((*key_path, key), str(error)))
            self.origins[*key_path, key] = key_origin
        return mapping
