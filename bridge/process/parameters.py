"""The values that are given to a run: read as their types say, and put where the file names them."""

import difflib
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime

from bridge.process.definition import Parameter
from connectors.errors import ConfigError

ParameterValue = str | int | float | bool | date | datetime | None

_NAMED = re.compile(r"\{(\w+)\}")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_EXAMPLES = {
    "integer": "42", "number": "0.5", "boolean": "true", "date": "2026-01-31", "timestamp": "2026-01-31T06:00:00",
}  # fmt: skip


def _truth(text: str) -> bool:
    return _TRUTH[text.lower()]


_READERS: dict[str, Callable[[str], ParameterValue]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": _truth,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}


def bind_parameters(params: Mapping[str, Parameter], given: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Give every parameter its value; raises ConfigError with a line for each that is wrong."""
    wrong = []
    for name in given:
        if name not in params:
            near = difflib.get_close_matches(name, params, 1)
            known = f"did you mean {near[0]}?" if near else f"known are {', '.join(params) or 'none'}"
            wrong.append(f"--param {name}: no parameter of the process; {known}")
    values: dict[str, ParameterValue] = {}
    for name, parameter in params.items():
        text = given.get(name, None if parameter.default is None else str(parameter.default))
        if text is None:
            if parameter.required:
                wrong.append(f"--param {name}: is required, such as {name}={_EXAMPLES.get(parameter.type, 'text')}")
            values[name] = None
            continue
        try:
            values[name] = _READERS[parameter.type](text)
        except (ValueError, KeyError):
            example = _EXAMPLES.get(parameter.type, "text")
            wrong.append(f"--param {name}: {text[:64]!r} is no {parameter.type} like {example}")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return values


def substitute(text: str, values: Mapping[str, ParameterValue], where: str) -> str:
    """Put values where a text names them in braces; raises ConfigError for a name that is no parameter."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if values.get(name) is None:
            reason = "has no value" if name in values else f"is no parameter; known are {', '.join(values) or 'none'}"
            raise ConfigError(f"{where}: {{{name}}} {reason}")
        return format_value(values[name])

    return _NAMED.sub(value, text)


def format_value(value: ParameterValue) -> str:
    """Write a value as a file would."""
    if isinstance(value, date):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)
