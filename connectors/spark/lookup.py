"""Finding a key among those that are known: itself, its pattern, or the one that it looks like."""

import difflib
import re
from collections.abc import Iterable

from connectors.spark.keys import Keys, Value


def value_of(key: str, keys: Keys) -> Value | None:
    """Find what a key takes; None when no key, and no pattern, is this one."""
    if key in keys:
        return keys[key]
    return next((keys[pattern] for pattern in keys if matches(pattern, key)), None)


def matches(pattern: str, key: str) -> bool:
    """Tell whether a key is one of a pattern."""
    spelled = {"**": ".+", "*": r"[^.]+"}
    parts = (spelled.get(part, re.escape(part)) for part in re.split(r"(\*\*?)", pattern))
    return re.fullmatch("".join(parts), key) is not None


def holders(key: str) -> list[str]:
    """Give the sections that a key stands in, the outermost first."""
    parts = key.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def is_section(key: str, keys: Iterable[str]) -> bool:
    """Tell whether a key holds other keys, and therefore takes no value."""
    sections = {holder for known in keys for holder in holders(known) if not holder.endswith("**")}
    return any(matches(section, key) for section in sections)


def nearest(key: str, keys: Iterable[str], similar: float = 0.0) -> str | None:
    """Find the key that looks most like this one, whatever the case; the freely named part of it is `<name>`."""
    spelled = {name.lower(): name for name in keys}
    found = difflib.get_close_matches(key.lower(), list(spelled), n=1, cutoff=similar)
    return re.sub(r"\*\*?", "<name>", spelled[found[0]]) if found else None
