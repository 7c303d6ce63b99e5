"""`lineage-bridge governance`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url, load_settings
from bridge.cli.output import OutputFormat, escape, print_result
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from bridge.governance.asset_sync import AssetSync
    from bridge.governance.loaded_asset import LoadedAsset
    from bridge.queries.governance import ContractResult
    from bridge.queries.query import Page
    from bridge.settings.model import Settings
    from mappers.governance.merge import MergePolicy

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


AssetPaths = Annotated[list[Path], typer.Argument(metavar="PLACE...", help="Asset files, and directories of them.")]
Prune = Annotated[
    bool, typer.Option("--prune", help="Take back what files say that were taken before and are not among these.")
]
PolicyOption = Annotated[
    ConflictPolicy | None,
    typer.Option("--policy", help="Who wins of what both sides changed; without, openmetadata.governance.conflicts."),
]
OutputOption = Annotated[OutputFormat, typer.Option(help="For people, or one JSON object.")]


@governance.command()
def validate(places: AssetPaths, output: OutputOption = OutputFormat.text) -> None:
    """Read asset files, and say what is wrong with them: file, line and key."""
    from bridge.governance.asset_files import load_assets

    read = load_assets(places)
    answer = {"files": read.files, "assets": len(read.loaded), "problems": read.problems}
    lines = [*read.problems, f"{read.files} files, {len(read.loaded)} assets, {len(read.problems)} problems"]
    print_result(answer, map(escape, lines), as_json=output is OutputFormat.json)
    raise typer.Exit(1 if read.problems else 0)


@governance.command()
def schema() -> None:
    """Print the JSON Schema of an asset file, for editors; configs/asset.schema.json is the same."""
    from bridge.governance.asset import AssetFile
    from bridge.settings.yaml_model import json_schema

    typer.echo(json_schema(AssetFile, "An asset file of lineage-bridge"), nl=False)


@governance.command()
def plan(
    places: AssetPaths, prune: Prune = False, output: OutputOption = OutputFormat.text, config: Config = None
) -> None:
    """Say what a push would change in the store and in OpenMetadata, and change nothing."""
    from bridge.cli.governance_text import plan_json, plan_lines

    loaded, problems = _read(places)
    with _steward(load_settings(config)) as steward:
        applied, seen = steward.plan(loaded, prune=_prune_allowed(prune, problems))
    print_result(
        plan_json(applied, seen, problems),
        map(escape, plan_lines(applied, seen)),
        as_json=output is OutputFormat.json,
    )
    raise typer.Exit(1 if problems else 0)


@governance.command()
def push(
    places: AssetPaths,
    prune: Prune = False,
    policy: PolicyOption = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Let the store say what the files say, and OpenMetadata what the store says; doing it twice changes nothing."""
    from bridge.cli.governance_text import push_json, push_lines

    loaded, problems = _read(places)
    with _steward(load_settings(config), policy) as steward:
        decisions = steward.resolve_conflicts(loaded, _ask) if policy is ConflictPolicy.ask else {}
        applied, results = steward.push(loaded, decisions, prune=_prune_allowed(prune, problems))
    told = push_json(applied, results, problems)
    print_result(told, map(escape, push_lines(applied, results)), as_json=output is OutputFormat.json)
    raise typer.Exit(0 if told["done"] else 1)


@governance.command()
def diff(places: AssetPaths, output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """Say what files, store and OpenMetadata do not agree on: 0 when nothing, 5 when something."""
    from bridge.cli.governance_text import plan_json, plan_lines

    loaded, problems = _read(places)
    with _steward(load_settings(config)) as steward:
        applied, seen = steward.plan(loaded)
    told = plan_json(applied, seen, problems)
    print_result(told, map(escape, plan_lines(applied, seen)), as_json=output is OutputFormat.json)
    raise typer.Exit(1 if problems else EXIT_DIFFERENT if told["differs"] else 0)


@governance.command()
def pull(
    places: AssetPaths,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the patch, and write nothing.")] = False,
    policy: PolicyOption = None,
    config: Config = None,
) -> None:
    """Write what was changed in OpenMetadata into the files; comments and the order of keys stay."""
    from bridge.bootstrap.targets import openmetadata_options
    from bridge.governance.pull import plan_file_edits as pulled_from
    from bridge.governance.pull import write_file

    loaded, problems = _read(places)
    settings = load_settings(config)
    with _steward(settings, policy) as steward:
        _, seen = steward.plan(loaded)
    pulled = pulled_from(seen, openmetadata_options(settings).vocabulary)
    count = 0
    for one in pulled:
        for line in one.patch.splitlines():
            typer.echo(escape(line))
        problems += one.problems
        if one.after != one.before:
            refused = None if dry_run else write_file(one)
            count += refused is None
            problems += [refused] if refused else []
    problems += [
        f"{' '.join(one.name)}: {said}" for one in seen if one.remote_diff for said in one.remote_diff.problems
    ]
    for problem in problems:
        typer.echo(escape(f"problem: {problem}"), err=True)
    typer.echo(f"{count} files {'would be ' if dry_run else ''}changed")
    raise typer.Exit(1 if problems else 0)


@governance.command()
def violations(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many, the newest first.")] = 50,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List versions of datasets that did not keep the contract of their asset."""
    from bridge.queries.governance import ContractViolationsQuery

    QueryRunner(config, url, api_key).run_and_print(ContractViolationsQuery(limit=limit), _violation_lines, output)


def _violation_lines(found: "Page[ContractResult]") -> Iterator[str]:
    for one in found.items:
        dataset = f"{one.dataset.namespace} {one.dataset.name}"
        yield f"{one.at}  {dataset}  run {one.run_id or '?'}: {'; '.join(one.broken)}"


def _read(places: Sequence[Path]) -> "tuple[list[LoadedAsset], list[str]]":
    """Read what can be read; what cannot is told, and keeps nothing else back."""
    from bridge.governance.asset_files import load_assets

    read = load_assets(places)
    for problem in read.problems:
        typer.echo(escape(f"problem: {problem}"), err=True)
    return read.loaded, read.problems


def _prune_allowed(prune: bool, problems: Sequence[str]) -> bool:
    """Take nothing back as long as files cannot be read: what they say may only seem to be gone."""
    if prune and problems:
        typer.echo("problem: nothing is taken back before all files can be read", err=True)
    return prune and not problems


@contextmanager
def _steward(settings: "Settings", policy: ConflictPolicy | None = None) -> "Iterator[AssetSync]":
    from bridge.bootstrap.governance import open_asset_sync
    from bridge.log import configure_log

    configure_log(settings.log)
    if policy is not None and policy is not ConflictPolicy.ask:
        of = settings.openmetadata.governance.model_copy(update={"conflicts": policy.value, "conflicts_of": {}})
        target = settings.openmetadata.model_copy(update={"governance": of})
        settings = settings.model_copy(update={"openmetadata": target})
    with open_asset_sync(settings) as steward:
        yield steward


def _ask(said: str) -> "MergePolicy | None":
    """Ask a person who wins; None when that is left open."""
    if not sys.stdin.isatty():
        raise typer.BadParameter("--policy ask needs a terminal; without one say local, remote or report")
    answer = str(typer.prompt(f"{said}\nkeep [f]ile, take [o]penmetadata, or [s]kip", default="s", err=True))
    winners: dict[str, MergePolicy] = {"f": "local", "o": "remote"}
    return winners.get(answer[:1].lower())
