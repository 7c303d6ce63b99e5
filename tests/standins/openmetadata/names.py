"""Names and fully qualified names (FQNs)."""

import re

#: Pattern of entity and column names, as in the server's message.
NAME_PATTERN = '^((?!::)[^>"\\x00-\\x1f])*$'
_NAME = re.compile(r'(?:(?!::)[^>"\x00-\x1f])*')
_SEGMENT = re.compile(r'"(?:[^"]|"")*"|[^.]+')


def split_words(text: str) -> list[str]:
    return text.split()


def is_valid_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def quote_name(name: str) -> str:
    """Quote a name for use in an FQN, if necessary."""
    return f'"{name}"' if "." in name else name


def join_fqn(parent: str, name: str) -> str:
    return f"{parent}.{quote_name(name)}" if parent else quote_name(name)


def normalize_fqn(fqn: str) -> str:
    """Remove unnecessary quotes: the server finds `"a".b` as `a.b`."""
    if '"' not in fqn:
        return fqn
    segments = _SEGMENT.findall(fqn)
    names = [
        s[1:-1].replace('""', '"') if s.startswith('"') and s.endswith('"') and len(s) > 1 else s for s in segments
    ]
    return ".".join(quote_name(segment) for segment in names)
