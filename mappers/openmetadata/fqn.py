"""Names as OpenMetadata takes them, and fully qualified names made of them."""

import re
from typing import NamedTuple

from mappers.canonical.identity import digest

#: What no name may hold: the separator of old links, what quotes and links are made of, control characters.
_FORBIDDEN = re.compile(r'::|[>"\x00-\x1f]')
_MAX_CHARACTERS = 256
_MARK_CHARACTERS = 9
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


class EntityName(NamedTuple):
    """A name that a server takes, and the one that people know where it had to be another."""

    name: str
    display_name: str | None = None


def entity_name(known: str, most: int = _MAX_CHARACTERS) -> EntityName:
    """Make a name that a server takes: as it is, or replaced by a stable one that holds a hash of the whole."""
    if known and len(known) <= most and not _FORBIDDEN.search(known):
        return EntityName(known)
    mark = "~" + digest(known.encode()).hex()[: _MARK_CHARACTERS - 1]
    plain = _FORBIDDEN.sub("_", known)[: most - _MARK_CHARACTERS]
    return EntityName(plain + mark, known or None)


def quote_part(part: str) -> str:
    """Quote a part of a fully qualified name, if it needs it."""
    return f'"{part}"' if "." in part else part


def fqn(*parts: str) -> str:
    """Join the names of an entity and of those that it lies in."""
    return ".".join(map(quote_part, parts))


def split_fqn(whole: str) -> list[str]:
    """Take a fully qualified name apart."""
    return [quoted.replace('""', '"') if quoted else plain for quoted, plain in _PART.findall(whole)]


def is_valid_fqn(whole: str) -> bool:
    """Tell whether a text is a fully qualified name of parts that a server takes as names."""
    parts = split_fqn(whole)
    return bool(parts) and fqn(*parts) == whole and all(entity_name(part).name == part for part in parts)
