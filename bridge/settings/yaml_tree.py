"""Parses YAML into plain values and records file and line of every key; rejects object tags and aliases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from connectors.errors import ConfigError

#: Path of a key in a file: section names and list indexes.
KeyPath = tuple[str | int, ...]


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
        raise ConfigError(f"{path} is not YAML: {single_line(error)}") from error
    return YamlTree(values, builder.origins, builder.problems)


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
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"{origin}: unsupported YAML value: {single_line(error)}") from error

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
