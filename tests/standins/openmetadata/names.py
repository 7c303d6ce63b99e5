"""Names and fully qualified names, as the server's grammar reads them."""

import re

#: The pattern of entity and column names, in the words of the server's own message.
NAME_PATTERN = '^((?!::)[^>"\\x00-\\x1f])*$'
_NAME = re.compile(r'(?:(?!::)[^>"\x00-\x1f])*')
_SEGMENT = re.compile(r'"(?:[^"]|"")*"|[^.]+')


def words(text: str) -> list[str]:
    """Read a list that is written as one text."""
    return text.split()


def is_name(text: str) -> bool:
    """Tell whether the server takes this text as a name."""
    return _NAME.fullmatch(text) is not None


def quoted(name: str) -> str:
    """Write a name as a segment of a fully qualified name; quotes only where they are needed."""
    return f'"{name}"' if "." in name else name


def joined(parent: str, name: str) -> str:
    return f"{parent}.{quoted(name)}" if parent else quoted(name)


def normal(fqn: str) -> str:
    """Drop quotes that are not needed: the server finds `"a".b` under `a.b`."""
    if '"' not in fqn:
        return fqn
    segments = _SEGMENT.findall(fqn)
    bare = [
        s[1:-1].replace('""', '"') if s.startswith('"') and s.endswith('"') and len(s) > 1 else s for s in segments
    ]
    return ".".join(quoted(segment) for segment in bare)
