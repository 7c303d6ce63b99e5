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
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_SPELLED = {char: f"\\{name}" for name, char in _NAMED.items()} | {"\\": "\\\\"}
#: What Spark takes from both ends of a value: everything up to the blank, but line ends.
_TRIMMED = "".join(chr(code) for code in range(33) if chr(code) not in "\r\n")


def write_defaults(conf: Mapping[str, str]) -> str:
    """Spell a conf so that Spark reads back what it holds; raises ConfigError where Spark could not."""
    return "".join(f"{_key(key)} {_value(key, value)}\n" for key, value in conf.items())


def format_flags(conf: Mapping[str, str]) -> str:
    """Spell a conf for a shell, one flag a line."""
    return " \\\n".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in conf.items()) + "\n"


def format_python(conf: Mapping[str, str]) -> str:
    """Spell a conf as a dict for `SparkSession.builder.config(map=...)`."""
    return json.dumps(conf, indent=4, ensure_ascii=False) + "\n"


def read_defaults(path: Path) -> dict[str, str]:
    """Read a conf as Spark reads it; raises ConfigError naming the file."""
    try:
        return parse_defaults(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the conf {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse_defaults(text: str) -> dict[str, str]:
    """Read the text of a conf as Spark reads it; of a key that stands twice the last counts."""
    conf = {}
    for line in _logical_lines(text):
        entry = _ENTRY.fullmatch(line)
        if entry is not None:
            conf[_unescaped(entry[1])] = _unescaped(entry[2]).strip(_TRIMMED)
    return conf


def _logical_lines(text: str) -> Iterator[str]:
    """Give entries without comments; a backslash at the end of a line continues it."""
    begun: str | None = None
    for natural in re.split(r"\r\n|\r|\n", text):
        line = natural.lstrip(_BLANK)
        if begun is None and (not line or line[0] in "#!"):
            continue
        whole = (begun or "") + line
        if _continues(line):
            begun = whole[:-1]
            continue
        begun = None
        yield whole
    if begun:
        yield begun


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        if escape == "u":
            raise ConfigError("\\u without four hex digits: write a backslash as \\\\")
        return _NAMED.get(escape, escape)

    return _ESCAPE.sub(one, text)


def _key(key: str) -> str:
    return re.sub(r"([=:#!\s])", r"\\\1", key.replace("\\", "\\\\"))


def _value(key: str, value: str) -> str:
    if value != value.strip(_TRIMMED):
        raise ConfigError(f"{key}: Spark takes the blanks at the ends of {value!r} away: leave them out")
    return ("\\" if value[:1] in {"=", ":"} else "") + "".join(_SPELLED.get(char, char) for char in value)
