"""`lineage-bridge governance`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url, load_settings
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_result
from bridge.cli.query import QueryRunner
from bridge.cli.table import Column, Row, Table, short_time, text_column, time_column
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.governance.asset_sync import AssetSync
    from bridge.governance.asset_validation import ValidationResult
    from bridge.queries.governance import ContractResult
    from bridge.queries.query import Page
    from bridge.settings.model import Settings
    from mappers.governance.merge import MergePolicy

governance = typer.Typer(
    name="governance",
    help="Apply asset files (governance as code) to the store and OpenMetadata.",
    no_args_is_help=True,
)
EXIT_DIFFERENCES = 5


class ConflictPolicy(StrEnum):
    """Which side wins if a field was changed differently in the file and in OpenMetadata."""

    report = "report"
    local = "local"
    remote = "remote"
    ask = "ask"


AssetPaths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Asset files or directories")]
Prune = Annotated[bool, typer.Option("--prune", help="Remove metadata whose asset file no longer exists")]
PolicyOption = Annotated[
    ConflictPolicy | None,
    typer.Option(
        "--policy", help="Conflict policy: report, local, remote or ask (default: openmetadata.governance.conflicts)"
    ),
]


@governance.command()
def validate(paths: AssetPaths, output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """Validate asset files, also against the store if it exists; errors name file, line and key."""
    from bridge.bootstrap.governance import open_asset_validator
    from bridge.governance.asset_files import load_assets

    load_result = load_assets(paths)
    with open_asset_validator(load_settings(config)) as validator:
        result = validator.validate(load_result)
    counts = [
        count_of(load_result.files, "file"), count_of(len(result.valid), "asset"),
        count_of(len(result.errors), "problem"), count_of(len(result.warnings), "warning"),
    ]  # fmt: skip
    answer = {
        "files": load_result.files,
        "assets": len(result.valid),
        "problems": result.errors,
        "warnings": result.warnings,
    }
    scope = "" if validator.has_store else " (there is no store: datasets and reported checks are unknown)"
    warnings = [f"warning: {warning}" for warning in result.warnings]
    lines = [*result.errors, *warnings, ", ".join(counts) + scope]
    print_result(answer, map(escape, lines), as_json=output is OutputFormat.json)
    raise typer.Exit(1 if result.errors else 0)


@governance.command()
def schema() -> None:
    """Print the JSON Schema of asset files (same as configs/asset.schema.json)."""
    from bridge.governance.asset import AssetFile
    from bridge.settings.yaml_model import json_schema

    typer.echo(json_schema(AssetFile, "An asset file of lineage-bridge"), nl=False)


@governance.command()
def plan(
    paths: AssetPaths, prune: Prune = False, output: OutputOption = OutputFormat.text, config: Config = None
) -> None:
    """Show what `push` would change in the store and OpenMetadata."""
    from bridge.cli.governance_text import plan_json, plan_lines

    settings = load_settings(config)
    assets, problems, warnings = _load_valid_assets(paths, settings, output)
    with _open_sync(settings) as sync:
        changes, dataset_plans = sync.plan(assets, prune=_check_prune(problems, requested=prune))
    print_result(
        plan_json(changes, dataset_plans, problems, warnings),
        map(escape, plan_lines(changes, dataset_plans)),
        as_json=output is OutputFormat.json,
    )
    raise typer.Exit(1 if problems else 0)


@governance.command()
def push(
    paths: AssetPaths,
    prune: Prune = False,
    policy: PolicyOption = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Apply asset files to the store and OpenMetadata (idempotent)."""
    from bridge.cli.governance_text import push_json, push_lines

    settings = load_settings(config)
    assets, problems, warnings = _load_valid_assets(paths, settings, output)
    with _open_sync(settings, policy) as sync:
        decisions = sync.resolve_conflicts(assets, _ask_which_side_wins) if policy is ConflictPolicy.ask else {}
        changes, results = sync.push(assets, decisions, prune=_check_prune(problems, requested=prune))
    answer = push_json(changes, results, problems, warnings)
    print_result(answer, map(escape, push_lines(changes, results)), as_json=output is OutputFormat.json)
    raise typer.Exit(0 if answer["done"] else 1)


@governance.command()
def diff(paths: AssetPaths, output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """Show differences between files, store and OpenMetadata (exit code 5 if any)."""
    from bridge.cli.governance_text import plan_json, plan_lines

    settings = load_settings(config)
    assets, problems, warnings = _load_valid_assets(paths, settings, output)
    with _open_sync(settings) as sync:
        changes, dataset_plans = sync.plan(assets)
    answer = plan_json(changes, dataset_plans, problems, warnings)
    print_result(answer, map(escape, plan_lines(changes, dataset_plans)), as_json=output is OutputFormat.json)
    if problems:
        raise typer.Exit(1)
    raise typer.Exit(EXIT_DIFFERENCES if answer["differs"] else 0)


@governance.command()
def pull(
    paths: AssetPaths,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the patch without writing files")] = False,
    policy: PolicyOption = None,
    config: Config = None,
) -> None:
    """Write changes made in OpenMetadata back into the asset files, keeping comments and key order."""
    from bridge.bootstrap.targets import openmetadata_options
    from bridge.governance.pull import plan_file_edits, write_file

    settings = load_settings(config)
    assets, problems, _ = _load_valid_assets(paths, settings)
    with _open_sync(settings, policy) as sync:
        _, dataset_plans = sync.plan(assets)
    edits = plan_file_edits(dataset_plans, openmetadata_options(settings).vocabulary)
    changed_count = 0
    for edit in edits:
        for line in edit.patch.splitlines():
            echo(escape(line))
        problems += edit.problems
        if edit.after != edit.before:
            error = None if dry_run else write_file(edit)
            if error is None:
                changed_count += 1
            else:
                problems.append(error)
    for dataset_plan in dataset_plans:
        if dataset_plan.remote_diff:
            label = " ".join(dataset_plan.name)
            problems += [f"{label}: {problem}" for problem in dataset_plan.remote_diff.problems]
    for problem in problems:
        echo(escape(f"problem: {problem}"), err=True)
    action = "would be changed" if dry_run else "changed"
    echo(f"{count_of(changed_count, 'file')} {action}")
    raise typer.Exit(1 if problems else 0)


@governance.command()
def violations(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results, newest first")] = 50,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List dataset versions that violate their contract."""
    from bridge.queries.governance import ContractViolationsQuery

    query = ContractViolationsQuery(limit=limit)
    QueryRunner(config, url, api_key).run_and_print(query, _violation_lines, output, _violation_table)


def _violation_lines(page: "Page[ContractResult]") -> Iterator[str]:
    for violation in page.items:
        dataset = f"{violation.dataset.namespace} {violation.dataset.name}"
        yield f"{violation.at}  {dataset}  run {violation.run_id or '?'}: {'; '.join(violation.broken)}"


def _violation_table(page: "Page[ContractResult]") -> Table:
    columns = (time_column("TIME (UTC)"), Column("RUN"), text_column("DATASET"), text_column("VIOLATIONS"))
    rows = [
        Row((
            short_time(violation.at), violation.run_id or "?",
            f"{violation.dataset.namespace} {violation.dataset.name}", "; ".join(violation.broken),
        ))
        for violation in page.items
    ]  # fmt: skip
    return Table(columns, rows)


def _load_valid_assets(
    paths: Sequence[Path], settings: "Settings", output: OutputFormat = OutputFormat.text
) -> "ValidationResult":
    """Load the valid asset files. Print the problems of the invalid ones and, in text output, the warnings."""
    from bridge.bootstrap.governance import open_asset_validator
    from bridge.governance.asset_files import load_assets

    with open_asset_validator(settings) as validator:
        result = validator.validate(load_assets(paths))
    for problem in result.errors:
        echo(escape(f"problem: {problem}"), err=True)
    if output is OutputFormat.text:
        for warning in result.warnings:
            echo(escape(f"warning: {warning}"), err=True)
    return result


def _check_prune(problems: Sequence[str], *, requested: bool) -> bool:
    """Return whether to prune. If a file is invalid, warn instead, because its assets would look removed."""
    if requested and problems:
        echo("problem: --prune is ignored until all files are valid", err=True)
    return requested and not problems


@contextmanager
def _open_sync(settings: "Settings", policy: ConflictPolicy | None = None) -> "Iterator[AssetSync]":
    """Open asset sync with a conflict policy that overrides the settings. Conflicts to ask about are reported."""
    from bridge.bootstrap.governance import open_asset_sync
    from bridge.log import configure_log

    configure_log(settings.log)
    if policy is not None and policy is not ConflictPolicy.ask:
        governance_settings = settings.openmetadata.governance.model_copy(
            update={"conflicts": policy.value, "conflicts_of": {}}
        )
        target = settings.openmetadata.model_copy(update={"governance": governance_settings})
        settings = settings.model_copy(update={"openmetadata": target})
    with open_asset_sync(settings) as sync:
        yield sync


def _ask_which_side_wins(conflict: str) -> "MergePolicy | None":
    """Ask which side wins. Return None to leave the conflict open."""
    if not sys.stdin.isatty():
        raise typer.BadParameter("--policy ask requires a terminal; use local, remote or report without one")
    answer = str(typer.prompt(f"{conflict}\nkeep [f]ile, take [o]penmetadata, or [s]kip", default="s", err=True))
    winners: dict[str, MergePolicy] = {"f": "local", "o": "remote"}
    return winners.get(answer[:1].lower())
