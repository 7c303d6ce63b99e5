"""Entity names and fully qualified names."""

import re
from typing import NamedTuple

from mappers.canonical.identity import digest

#: Not allowed in names: the separator in old links, quotes, the delimiter of links, and control characters.
_FORBIDDEN = re.compile(r'::|[>"\x00-\x1f]')
_MAX_CHARACTERS = 256
_SUFFIX_CHARACTERS = 9
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


class EntityName(NamedTuple):
    """A valid entity name, and the name to display if it is different."""

    name: str
    display_name: str | None = None


def entity_name(name: str, max_characters: int = _MAX_CHARACTERS) -> EntityName:
    """Return a valid name unchanged; replace an invalid name by a valid one that ends with a hash of the original."""
    if name and len(name) <= max_characters and not _FORBIDDEN.search(name):
        return EntityName(name)
    suffix = "~" + digest(name.encode()).hex()[: _SUFFIX_CHARACTERS - 1]
    valid_prefix = _FORBIDDEN.sub("_", name)[: max_characters - _SUFFIX_CHARACTERS]
    return EntityName(valid_prefix + suffix, name or None)


def quote_part(part: str) -> str:
    """Quote a part of a fully qualified name if it contains a dot."""
    return f'"{part}"' if "." in part else part


def fqn(*parts: str) -> str:
    """Join the names of an entity and its parents into a fully qualified name."""
    return ".".join(map(quote_part, parts))


def split_fqn(full_name: str) -> list[str]:
    return [quoted.replace('""', '"') if quoted else plain for quoted, plain in _PART.findall(full_name)]


def is_valid_fqn(full_name: str) -> bool:
    """Return whether the text is a fully qualified name that consists of valid entity names."""
    parts = split_fqn(full_name)
    return bool(parts) and fqn(*parts) == full_name and all(entity_name(part).name == part for part in parts)
