"""YAML as plain values with file and line of every key; no tags that build objects, no aliases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from connectors.errors import ConfigError

#: The path of a key inside a file: section names and list positions.
KeyPath = tuple[str | int, ...]


class Origin(NamedTuple):
    """Where a key was set."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class ConfigProblem(NamedTuple):
    """What is wrong, and the key that is left out because of it; no key means a whole file."""

    at: KeyPath
    said: str


class YamlTree(NamedTuple):
    """The values of a file, where each key of it stands, and what had to be left out."""

    values: Any
    origins: dict[KeyPath, Origin]
    mistakes: list[ConfigProblem]


def parse_yaml(path: Path, text: str, expanded: Callable[[str, Origin], str] = lambda text, _: text) -> YamlTree:
    """Read the values of a YAML text; raises ConfigError where there is no telling what it says."""
    building = _TreeBuilder(path, expanded)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        values = building.value(node, ()) if node is not None else None
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{path} is not YAML: {single_line(error)}") from error
    return YamlTree(values, building.origins, building.mistakes)


def single_line(error: Exception) -> str:
    """Say an error in one line."""
    return " ".join(str(error).split())


class _TreeBuilder:
    """Makes values of the nodes of one file; a key whose value cannot be made is left out, and told."""

    def __init__(self, path: Path, expanded: Callable[[str, Origin], str]) -> None:
        self._path = path
        self._expanded = expanded
        self.origins: dict[KeyPath, Origin] = {}
        self.mistakes: list[ConfigProblem] = []
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, at: KeyPath) -> Any:
        """Give what a node says; raises ConfigError when there is no telling."""
        self.origins[at] = origin = Origin(str(self._path), node.start_mark.line + 1)
        if id(node) in self._seen:
            raise ConfigError(f"{origin}: YAML aliases are not supported: write the value out")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*at, i)) for i, item in enumerate(node.value)]
        if node.tag == "tag:yaml.org,2002:str":
            return self._expanded(str(node.value), origin)
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"{origin}: this is not YAML as it is read here: {single_line(error)}") from error

    def _mapping(self, node: yaml.MappingNode, at: KeyPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            place = Origin(str(self._path), key_node.start_mark.line + 1)
            if key in mapping:
                self.mistakes.append(ConfigProblem((*at, key), f"{place}: {key} is set twice"))
                continue
            try:
                mapping[key] = self.value(value_node, (*at, key))
            except ConfigError as error:
                self.mistakes.append(ConfigProblem((*at, key), str(error)))
            self.origins[*at, key] = place
        return mapping
