"""Entity names and fully qualified names."""

import re
from typing import NamedTuple

from mappers.canonical.identity import digest

#: Not allowed in names: the separator of old links, quotes, delimiters of links, control characters.
_FORBIDDEN = re.compile(r'::|[>"\x00-\x1f]')
_MAX_CHARACTERS = 256
_SUFFIX_CHARACTERS = 9
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


class EntityName(NamedTuple):
    """A valid entity name, and the original name where it is different."""

    name: str
    display_name: str | None = None


def entity_name(name: str, max_characters: int = _MAX_CHARACTERS) -> EntityName:
    """Make a name valid: unchanged where possible, otherwise replaced by a stable one with a hash of the name."""
    if name and len(name) <= max_characters and not _FORBIDDEN.search(name):
        return EntityName(name)
    suffix = "~" + digest(name.encode()).hex()[: _SUFFIX_CHARACTERS - 1]
    plain = _FORBIDDEN.sub("_", name)[: max_characters - _SUFFIX_CHARACTERS]
    return EntityName(plain + suffix, name or None)


def quote_part(part: str) -> str:
    """Quote a part of a fully qualified name if it contains a dot."""
    return f'"{part}"' if "." in part else part


def fqn(*parts: str) -> str:
    """Join the names of an entity and its parents into a fully qualified name."""
    return ".".join(map(quote_part, parts))


def split_fqn(full_name: str) -> list[str]:
    return [quoted.replace('""', '"') if quoted else plain for quoted, plain in _PART.findall(full_name)]


def is_valid_fqn(full_name: str) -> bool:
    """True for a fully qualified name with valid entity names as parts."""
    parts = split_fqn(full_name)
    return bool(parts) and fqn(*parts) == full_name and all(entity_name(part).name == part for part in parts)
