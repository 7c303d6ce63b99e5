"""`lineage-bridge governance`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.escape import escape
from bridge.cli.options import ApiKey, Asked, Config, Output, Url, load, print_answer

if TYPE_CHECKING:
    from bridge.catalogue.governance import ContractResult
    from bridge.catalogue.question import Page
    from bridge.governance.remembered import Loaded
    from bridge.governance.steward import Steward
    from bridge.settings import Settings
    from mappers.governance.merge import Policy

governance = typer.Typer(
    name="governance", help="Governance as code: asset files, the store and OpenMetadata.", no_args_is_help=True
)
EXIT_DIFFERENT = 5


class ConflictPolicy(StrEnum):
    """Who wins where a file and OpenMetadata both changed something, each in its own way."""

    report = "report"
    local = "local"
    remote = "remote"
    ask = "ask"


Places = Annotated[list[Path], typer.Argument(metavar="PLACE...", help="Asset files, and directories of them.")]
Prune = Annotated[
    bool, typer.Option("--prune", help="Take back what files say that were taken before and are not among these.")
]
OfConflicts = Annotated[
    ConflictPolicy | None,
    typer.Option("--policy", help="Who wins of what both sides changed; without, openmetadata.governance.conflicts."),
]
Printed = Annotated[Output, typer.Option(help="For people, or one JSON object.")]


@governance.command()
def validate(places: Places, output: Printed = Output.text) -> None:
    """Read asset files, and say what is wrong with them: file, line and key."""
    from bridge.governance.files import read_assets

    read = read_assets(places)
    answer = {"files": read.files, "assets": len(read.loaded), "problems": read.problems}
    lines = [*read.problems, f"{read.files} files, {len(read.loaded)} assets, {len(read.problems)} problems"]
    print_answer(answer, map(escape, lines), as_json=output is Output.json)
    raise typer.Exit(1 if read.problems else 0)


@governance.command()
def schema() -> None:
    """Print the JSON Schema of an asset file, for editors; configs/asset.schema.json is the same."""
    from bridge.governance.asset import AssetFile
    from bridge.json_schema import schema_of

    typer.echo(schema_of(AssetFile, "An asset file of lineage-bridge"), nl=False)


@governance.command()
def plan(places: Places, prune: Prune = False, output: Printed = Output.text, config: Config = None) -> None:
    """Say what a push would change in the store and in OpenMetadata, and change nothing."""
    from bridge.cli.governance_text import plan_lines, plan_told

    loaded, problems = _read(places)
    with _steward(load(config)) as steward:
        applied, seen = steward.look(loaded, prune=_may_prune(prune, problems))
    print_answer(
        plan_told(applied, seen, problems), map(escape, plan_lines(applied, seen)), as_json=output is Output.json
    )
    raise typer.Exit(1 if problems else 0)


@governance.command()
def push(
    places: Places,
    prune: Prune = False,
    policy: OfConflicts = None,
    output: Printed = Output.text,
    config: Config = None,
) -> None:
    """Let the store say what the files say, and OpenMetadata what the store says; doing it twice changes nothing."""
    from bridge.cli.governance_text import push_lines, push_told

    loaded, problems = _read(places)
    with _steward(load(config), policy) as steward:
        decisions = steward.decide(loaded, _ask) if policy is ConflictPolicy.ask else {}
        applied, results = steward.push(loaded, decisions, prune=_may_prune(prune, problems))
    told = push_told(applied, results, problems)
    print_answer(told, map(escape, push_lines(applied, results)), as_json=output is Output.json)
    raise typer.Exit(0 if told["done"] else 1)


@governance.command()
def diff(places: Places, output: Printed = Output.text, config: Config = None) -> None:
    """Say what files, store and OpenMetadata do not agree on: 0 when nothing, 5 when something."""
    from bridge.cli.governance_text import plan_lines, plan_told

    loaded, problems = _read(places)
    with _steward(load(config)) as steward:
        applied, seen = steward.look(loaded)
    told = plan_told(applied, seen, problems)
    print_answer(told, map(escape, plan_lines(applied, seen)), as_json=output is Output.json)
    raise typer.Exit(1 if problems else EXIT_DIFFERENT if told["differs"] else 0)


@governance.command()
def pull(
    places: Places,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the patch, and write nothing.")] = False,
    policy: OfConflicts = None,
    config: Config = None,
) -> None:
    """Write what was changed in OpenMetadata into the files; comments and the order of keys stay."""
    from bridge.bootstrap import rules_of
    from bridge.governance.pulling import pull as pulled_from
    from bridge.governance.pulling import write

    loaded, problems = _read(places)
    settings = load(config)
    with _steward(settings, policy) as steward:
        _, seen = steward.look(loaded)
    pulled = pulled_from(seen, rules_of(settings).words)
    count = 0
    for one in pulled:
        for line in one.patch.splitlines():
            typer.echo(escape(line))
        problems += one.problems
        if one.after != one.before:
            refused = None if dry_run else write(one)
            count += refused is None
            problems += [refused] if refused else []
    problems += [f"{' '.join(one.name)}: {said}" for one in seen if one.look for said in one.look.problems]
    for problem in problems:
        typer.echo(escape(f"problem: {problem}"), err=True)
    typer.echo(f"{count} files {'would be ' if dry_run else ''}changed")
    raise typer.Exit(1 if problems else 0)


@governance.command()
def violations(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many, the newest first.")] = 50,
    output: Printed = Output.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List versions of datasets that did not keep the contract of their asset."""
    from bridge.catalogue.governance import Violations

    Asked(config, url, api_key).show(Violations(limit=limit), _violation_lines, output)


def _violation_lines(found: "Page[ContractResult]") -> Iterator[str]:
    for one in found.items:
        dataset = f"{one.dataset.namespace} {one.dataset.name}"
        yield f"{one.at}  {dataset}  run {one.run_id or '?'}: {'; '.join(one.broken)}"


def _read(places: Sequence[Path]) -> "tuple[list[Loaded], list[str]]":
    """Read what can be read; what cannot is told, and keeps nothing else back."""
    from bridge.governance.files import read_assets

    read = read_assets(places)
    for problem in read.problems:
        typer.echo(escape(f"problem: {problem}"), err=True)
    return read.loaded, read.problems


def _may_prune(prune: bool, problems: Sequence[str]) -> bool:
    """Take nothing back as long as files cannot be read: what they say may only seem to be gone."""
    if prune and problems:
        typer.echo("problem: nothing is taken back before all files can be read", err=True)
    return prune and not problems


@contextmanager
def _steward(settings: "Settings", policy: ConflictPolicy | None = None) -> "Iterator[Steward]":
    from bridge.bootstrap import make_steward
    from bridge.log import configure_log

    configure_log(settings.log)
    if policy is not None and policy is not ConflictPolicy.ask:
        of = settings.openmetadata.governance.model_copy(update={"conflicts": policy.value, "conflicts_of": {}})
        target = settings.openmetadata.model_copy(update={"governance": of})
        settings = settings.model_copy(update={"openmetadata": target})
    with make_steward(settings) as steward:
        yield steward


def _ask(said: str) -> "Policy | None":
    """Ask a person who wins; None when that is left open."""
    if not sys.stdin.isatty():
        raise typer.BadParameter("--policy ask needs a terminal; without one say local, remote or report")
    answer = str(typer.prompt(f"{said}\nkeep [f]ile, take [o]penmetadata, or [s]kip", default="s", err=True))
    winners: dict[str, Policy] = {"f": "local", "o": "remote"}
    return winners.get(answer[:1].lower())
