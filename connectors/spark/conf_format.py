"""Reads and writes a conf as spark-defaults.conf, flags or Python."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from connectors.errors import ConfigError

_BLANK = " \t\f"
_ENTRY = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_ESCAPE_SEQUENCES = {char: f"\\{name}" for name, char in _ESCAPES.items()} | {"\\": "\\\\"}
#: Characters that Spark strips from both ends of a value: the space and all control characters except line ends.
_STRIPPED_CHARACTERS = "".join(chr(code) for code in range(33) if chr(code) not in "\r\n")


def format_defaults(conf: Mapping[str, str]) -> str:
    """Format a conf as spark-defaults.conf; raises ConfigError for a value that Spark could not read back."""
    return "".join(f"{_escape_key(key)} {_escape_value(key, value)}\n" for key, value in conf.items())


def format_flags(conf: Mapping[str, str]) -> str:
    """Format a conf as shell arguments, one flag per line."""
    return " \\\n".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in conf.items()) + "\n"


def format_python(conf: Mapping[str, str]) -> str:
    """Format a conf as a dict for `SparkSession.builder.config(map=...)`."""
    return json.dumps(conf, indent=4, ensure_ascii=False) + "\n"


def read_defaults(path: Path) -> dict[str, str]:
    """Read a conf file as Spark does; raises ConfigError with the file name if the file is invalid."""
    try:
        return parse_defaults(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the conf {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse_defaults(text: str) -> dict[str, str]:
    """Parse a conf as Spark does; of several entries with the same key, the last one is used."""
    conf = {}
    for line in _logical_lines(text):
        entry = _ENTRY.fullmatch(line)
        if entry is not None:
            conf[_unescape(entry[1])] = _unescape(entry[2]).strip(_STRIPPED_CHARACTERS)
    return conf


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the entries without comments; a line that ends with a backslash continues on the next line."""
    pending: str | None = None
    for raw_line in re.split(r"\r\n|\r|\n", text):
        line = raw_line.lstrip(_BLANK)
        if pending is None and (not line or line[0] in "#!"):
            continue
        joined_line = (pending or "") + line
        if _is_continued(line):
            pending = joined_line[:-1]
            continue
        pending = None
        yield joined_line
    if pending:
        yield pending


def _is_continued(line: str) -> bool:
    """Return whether a line ends with an odd number of backslashes; an even number is escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    """Replace the escape sequences of a properties file."""

    def replace_escape(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        if escape == "u":
            raise ConfigError("\\u without four hex digits: write a backslash as \\\\")
        return _ESCAPES.get(escape, escape)

    return _ESCAPE.sub(replace_escape, text)


def _escape_key(key: str) -> str:
    return re.sub(r"([=:#!\s])", r"\\\1", key.replace("\\", "\\\\"))


def _escape_value(key: str, value: str) -> str:
    if value != value.strip(_STRIPPED_CHARACTERS):
        raise ConfigError(f"{key}: Spark strips the surrounding whitespace of {value!r}: remove it")
    escaped = "".join(_ESCAPE_SEQUENCES.get(char, char) for char in value)
    # Spark would read a leading = or : as the separator of key and value.
    return f"\\{escaped}" if value.startswith(("=", ":")) else escaped
