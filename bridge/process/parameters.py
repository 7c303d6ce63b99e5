"""Parses run parameters and substitutes them into the definition."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime

from bridge.process.definition import Parameter
from connectors.errors import ConfigError
from mappers.naming import suggest_name

ParameterValue = str | int | float | bool | date | datetime | None

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_EXAMPLES = {
    "integer": "42", "number": "0.5", "boolean": "true", "date": "2026-01-31", "timestamp": "2026-01-31T06:00:00",
}  # fmt: skip


def _parse_boolean(text: str) -> bool:
    return _BOOLEANS[text.lower()]


_PARSERS: dict[str, Callable[[str], ParameterValue]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": _parse_boolean,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}


def bind_parameters(params: Mapping[str, Parameter], arguments: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Parse the arguments and defaults of all parameters. Raises ConfigError with one line per problem."""
    problems = [
        f"--param {name}: unknown parameter; {suggest_name(name, params, 'known parameters')}"
        for name in arguments
        if name not in params
    ]
    values: dict[str, ParameterValue] = {}
    for name, parameter in params.items():
        example = _EXAMPLES.get(parameter.type, "text")
        argument = arguments.get(name)
        if argument is None and parameter.default is not None:
            argument = str(parameter.default)
        if argument is None:
            if parameter.required:
                problems.append(f"--param {name}: is required, e.g. {name}={example}")
            values[name] = None
            continue
        try:
            values[name] = _PARSERS[parameter.type](argument)
        except (ValueError, KeyError):
            problems.append(f"--param {name}: {argument[:64]!r} is not a valid {parameter.type} (example: {example})")
    if problems:
        raise ConfigError("\n".join(problems))
    return values


def substitute(text: str, values: Mapping[str, ParameterValue], label: str) -> str:
    """Replace `{name}` placeholders.

    Raises ConfigError for unknown names and for parameters without a value. The error begins with `label`.
    """

    def format_parameter(match: re.Match[str]) -> str:
        name = match[1]
        if name not in values:
            known_names = ", ".join(values) or "none"
            raise ConfigError(f"{label}: {{{name}}} is not a parameter; known parameters: {known_names}")
        if values[name] is None:
            raise ConfigError(f"{label}: {{{name}}} has no value")
        return format_value(values[name])

    return _PLACEHOLDER.sub(format_parameter, text)


def format_value(value: ParameterValue) -> str:
    """Format a value as in a process file."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
