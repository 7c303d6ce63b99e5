"""Writes docs/reference.md from the commands and the questions as they are declared: `make docs`."""

from pathlib import Path
from typing import Any

import msgspec

from bridge.api.openapi import add_query_routes
from bridge.queries.all_queries import QUERIES
from bridge.queries.query import Query
from bridge.queries.routes import routes_of
from tests.commands import Command, Parameter, commands

_NAME = "lineage-bridge"
_HEAD = """# Reference

Made by `make docs` from the commands and questions as they are declared. What no declaration says, such as statuses
and exit codes, is in [cli.md](cli.md).

## Commands

Every command has `--help`. What `--output json` prints is said beneath the command; fields may be added, those that
are here stay.
"""
_QUESTIONS = """## Questions

What a service answers over `GET`, as JSON, to a key of the scope `read` where there are keys; `/openapi.json` says
the same to programs, with examples. No name goes into a path: it is asked by name, or by the id that answers give.
"""
_ANSWERS = """## Answers

Times are texts in UTC with microseconds, ids are UUIDs. Every field is there in every answer, null where it may be.
"""
#: What `--output json` prints, by command; questions are named in braces.
PRINTED = {
    "autosys diff": "an object: `differences` of `job`, `what`, `attribute`, `before`, `after`",
    "autosys history": (
        "an object: `runs`, `rejected`, `problems`, and `others`: lines that tell of no run, by what they tell of"
    ),
    "autosys lint": "an object: `jobs`, `errors`, `problems` of `file`, `line`, `level`, `said`",
    "autosys scan": (
        "an object: `instance`, `jobs` (`name`, `process_key`, `type`, `boxes`, `schedule`, `sla`, `waits_for`, "
        "`datasets`, `scripts`, `attributes`), `globals`, `problems`, and `scan`: `new`, `changed`, `retired`, "
        "`unchanged`, `refused`"
    ),
    "config show": "an object: `settings`, shaped as a configuration file; with `--origin` `origins`, by whole names",
    "doctor": "an object: `level`, the worst of all, and `findings` of `level`, `thing`, `found`, `remedy`",
    "dataset history": "the answer of {Publications}",
    "dataset invalidate": "the answer of `POST /api/v1/invalidate`",
    "dataset pin": "the answer of `POST /api/v1/pins`",
    "dataset pins": "the answer of {Pins}",
    "dataset publish": "the answer of `POST /api/v1/publish`",
    "dataset resolve": "the answer of {Resolve}",
    "dataset rollback": "the answer of `POST /api/v1/rollback`",
    "dataset unpin": "the answer of `DELETE /api/v1/pins`",
    "dataset versions": "the answer of {Versions}",
    "dead list": "the answer of {SyncItems}",
    "events": "a line for each of the `items` of {Events}",
    "explain": "the answer of {Explain}",
    "governance diff": "as `governance plan`; ends with 5 where anything differs",
    "governance plan": (
        "an object: `datasets` of `namespace`, `name`, `files`, `store`, `openmetadata` (what a push would change), "
        "`theirs` (what was changed there), `taken_over` (what of it the store says and no file yet), `problems`, "
        "`differs`; `waiting`, `left`, `problems`, `differs`"
    ),
    "governance push": (
        "an object: `datasets` of `namespace`, `name`, `outcome`, `reason`, `changed`; `waiting`, `problems`, `done`"
    ),
    "governance validate": "an object: `files`, `assets`, `problems`",
    "governance violations": "the answer of {Violations}",
    "impact": "the answer of {Impact}",
    "lineage": "the answer of {Lineage}, with `--column` of {ColumnLineage}",
    "openmetadata check": "an object as that of `doctor`",
    "process dag": "the answer of {Dag}",
    "process list": "the answer of {Processes}",
    "process clean": "an object: `datasets` of `dataset`, `removed` (versions), `kept` (versions with the reasons)",
    "process plan": (
        "an object: `process`, `namespace`, `key`, `params`, `inputs` (`as`, `namespace`, `name`, `version`, `by`, "
        "`rows`, `paths`), `steps`, `outputs` (`dataset`, `namespace`, `name`, `from`, `format`, `mode`, `path`, "
        "`idempotency_key`, `published`, `made_already`), `to_do`: run, publish or nothing"
    ),
    "process run": (
        "an object: `process`, `run_id`, `key`, `ended` (published or unchanged), `publication`, `outputs` of "
        "`dataset`, `version`, `rows`, `checksum`, `path`, and `checks` of `on`, `check`, `column`, `severity`, "
        "`passed`, `said`; "
        "with `--dry-run` `plan`, as `process plan`, and `spark`, its own plans as text"
    ),
    "process validate": "an object: `files`, `processes`, `problems`",
    "runs": "a line for each of the `items` of {Runs}, or of {ProcessRuns} when a job is named",
    "search": "the answer of {Search}",
    "show": "the answer of {Dataset}, {Process} or {Run}",
    "sync": (
        "an object: `converged`, `trouble` (why it is left alone), `pushed` (items by what became of them), "
        "`calls` by kind, `marks`, `pending`, `outcomes`; with `--dry-run` `counts` and `steps` of `action`, `kind`, "
        "`name`, `reason`"
    ),
    "sync explain": "the answer of {DatasetSync} or {ProcessSync}",
    "sync status": "the answer of {Sync}",
    "verify": "an object: for each target that is enabled what `verify openmetadata` prints of it",
    "verify marquez": "the same as of `verify openmetadata`",
    "verify openmetadata": (
        "an object: `looked_at`, `differences` of `kind`, `name`, `what`, `not_there` of `kind`, `name`, `why` (as "
        "the store knows), `left` (to be pushed), `calls` by kind"
    ),
    "version": "an object: `version`, `python`, `store` (schema of the stores it makes), `spec` (of OpenLineage)",
}
_LINKS = {kind.__name__: f"[{kind.__name__}](#{kind.__name__.lower()})" for kind in QUERIES}
_PATHS = add_query_routes({"paths": {}})["paths"]
_WORDS: dict[Any, str] = {str: "TEXT", int: "INTEGER", float: "NUMBER"}
_LIMITS = {"minimum": "at least {}", "maximum": "at most {}"}


def render() -> str:
    """Give the whole page."""
    kinds = [*QUERIES, *(kind.result_type for kind in QUERIES)]
    refs, schemas = msgspec.json.schema_components(kinds, ref_template="#{name}")
    answers = zip(QUERIES, refs[len(QUERIES) :], strict=True)
    asked = [_question(kind, answer) for kind, answer in answers]
    things = [_thing(name, schemas[name]) for name in sorted(schemas.keys() - _LINKS.keys())]
    told = [_command(command) for command in commands() if command.words]
    return "\n".join([_HEAD, *told, _QUESTIONS, *asked, _ANSWERS, *things])


def _section(title: str, *lines: str) -> str:
    return "\n".join([f"### {title}", "", *lines])


def _table(titles: str, rows: list[str]) -> list[str]:
    return [f"| {titles} |", "|---" * (titles.count("|") + 1) + "|", *rows, ""] if rows else []


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _command(command: Command) -> str:
    words = " ".join((_NAME, *command.words))
    if command.group:
        return _section(words, command.does, "")
    spelled = [_argument(one) for one in command.parameters if not one.option]
    options = ["[OPTIONS]"] if any(one.option for one in command.parameters) else []
    rows = [_parameter(one) for one in command.parameters]
    printed = PRINTED.get(" ".join(command.words))
    said = [f"`--output json` prints {printed.format(**_LINKS)}.", ""] if printed else []
    usage = ["```", " ".join([words, *spelled, *options]), "```", ""]
    return _section(words, command.does, "", *usage, *_table("argument or option | default | means", rows), *said)


def _argument(one: Parameter) -> str:
    word = (one.declared.metavar or one.name.upper()) + ("..." if one.several else "")
    return word if one.required else f"[{word}]"


def _parameter(one: Parameter) -> str:
    declared = one.declared
    spelled = ", ".join(f"`{word}`" for word in one.words) if one.option else f"`{_argument(one)}`"
    variables = [declared.envvar] if isinstance(declared.envvar, str) else declared.envvar or []
    means = [str(declared.help), *(f"Variable: `{name}`." for name in variables)]
    default = "required" if one.required else "" if one.default is None else f"`{one.default}`".lower()
    return _row(" ".join([spelled, _given(one)]).strip(), default, " ".join(means))


def _given(one: Parameter) -> str:
    """Say what may be given."""
    word = ""
    if one.choices:
        word = " or ".join(f"`{choice}`" for choice in one.choices)
    elif one.option and one.kind is not bool:
        word = one.declared.metavar or _WORDS.get(one.kind, getattr(one.kind, "__name__", "").upper())
    limits = [f"at least {one.declared.min}" if one.declared.min is not None else ""]
    limits.append(f"at most {one.declared.max}" if one.declared.max is not None else "")
    limits.append("several times" if one.several and one.option else "")
    return ", ".join(part for part in (word, *limits) if part)


def _question(kind: type[Query[Any]], answer: dict[str, Any]) -> str:
    routes = routes_of(kind)
    taken: dict[str, dict[str, Any]] = {}
    for route in routes:
        for one in _PATHS[route]["get"]["parameters"]:
            taken.setdefault(one["name"], one)
    rows = [
        _row(f"`{name}`", _type(one["schema"]), _default(one), one.get("description", ""))
        for name, one in taken.items()
    ]
    listed = [f"- `GET {route}`" for route in routes]
    table = _table("parameter | type | default | means", rows)
    return _section(kind.__name__, kind.__doc__ or "", "", *listed, "", *table, f"Answer: {_type(answer)}.", "")


def _thing(name: str, schema: dict[str, Any]) -> str:
    rows = [_row(f"`{field}`", _type(one)) for field, one in schema["properties"].items()]
    return _section(name, schema.get("description", ""), "", *_table("field | type", rows))


def _default(one: dict[str, Any]) -> str:
    if one["required"]:
        return "in the path" if one["in"] == "path" else "required"
    default = one["schema"].get("default")
    return "" if default is None else f"`{msgspec.json.encode(default).decode()}`"


def _type(one: dict[str, Any]) -> str:
    """Say a type in words."""
    if "anyOf" in one:
        choices = sorted(one["anyOf"], key=lambda choice: choice.get("type") == "null")
        return " or ".join(_type(choice) for choice in choices)
    if "$ref" in one:
        name = one["$ref"].removeprefix("#")
        return f"[{name}](#{name.lower()})"
    if "enum" in one:
        return " or ".join("null" if word is None else f"`{word}`" for word in one["enum"])
    if one.get("type") == "array":
        return f"list of {_type(one.get('items', {}))}"
    if one.get("type") == "object":
        inside = one.get("additionalProperties")
        return f"object of {_type(inside)}" if isinstance(inside, dict) else "object"
    word = "time" if one.get("format") == "date-time" else one.get("type", "any JSON")
    return ", ".join([word, *(said.format(one[key]) for key, said in _LIMITS.items() if key in one)])


if __name__ == "__main__":
    (Path(__file__).parent / "reference.md").write_text(render(), encoding="utf-8")
