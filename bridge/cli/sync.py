"""`lineage-bridge sync`."""

from collections import Counter
from collections.abc import Collection
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import (
    ApiKey,
    Config,
    DatasetName,
    DatasetNamespace,
    Target,
    Url,
    dataset_parameters,
    load_settings,
    resolve_target,
)
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_json, print_result
from bridge.cli.query import QueryRunner
from bridge.cli.sync_text import (
    explanation_lines,
    format_counts,
    plan_lines,
    print_sync_state,
    status_lines,
    status_table,
)
from bridge.settings.target_names import TargetName, enabled_targets
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.queries.sync_items import SyncExplanation
    from bridge.settings.model import Settings
    from bridge.sync.reconciler import Reconciler


def parse_item_id(id_: str) -> tuple[str, bytes]:
    """Split the id of an item into its kind and key."""
    kind, _, key = id_.partition("-")
    return kind, bytes.fromhex(key)


def requeue(config: Config, target: TargetName, keys: Collection[tuple[str, bytes]] | None) -> None:
    """Queue items for an immediate retry. Without keys, queue all failed items."""
    from bridge.bootstrap.targets import open_dead_letters

    with closing(open_dead_letters(load_settings(config), target)) as dead_letters:
        keys_to_retry = dead_letters.list() if keys is None else keys
        dead_letters.retry(keys_to_retry)
    echo(f"{count_of(len(keys_to_retry), 'item')} queued for the service or `lineage-bridge sync --once`")


def drop_item(config: Config, target: TargetName, key: tuple[str, bytes]) -> None:
    """Drop a dead letter until it changes."""
    from bridge.bootstrap.targets import open_dead_letters

    with closing(open_dead_letters(load_settings(config), target)) as dead_letters:
        dead_letters.drop([key])


_SETUP_HINTS = {
    TargetName.openmetadata: "see configs/openmetadata.yaml",
    TargetName.marquez: "see docs/guides/marquez.md",
    TargetName.webhook: "see docs/guides/connectors.md",
}

sync = typer.Typer(
    name="sync",
    help="Push changes to sync targets and show their status.",
    no_args_is_help=True,
)


@sync.callback(invoke_without_command=True)
def push(
    context: typer.Context,
    once: Annotated[
        bool,
        typer.Option("--once", help="Push everything due and exit (0 if the target is in sync)"),
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Like --once, and compare the target with the last push to repair it")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the planned changes without applying them")
    ] = False,
    allow_delete: Annotated[
        int | None, typer.Option(min=1, help="With --once: maximum number of deletions, overriding the settings")
    ] = None,
    target: Target = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Push pending changes to a target; `serve` does this continuously for all targets."""
    if context.invoked_subcommand is not None:
        return
    if dry_run == (once or compare):
        raise typer.BadParameter("specify --once, --compare or --dry-run")
    calls: Counter[str] = Counter()
    target_name = resolve_target(target, config)
    reconciler = open_reconciler(config, target_name, calls, allow_delete)
    try:
        if dry_run:
            reconciler.probe()
            steps = reconciler.plan()
            counts = Counter(step.action for step in steps)
            answer = {"counts": dict(sorted(counts.items())), "steps": [step._asdict() for step in steps]}
            print_result(answer, map(escape, plan_lines(steps, counts)), as_json=output is OutputFormat.json)
        else:
            reconciler.enable()
            if compare:
                reconciler.start_comparison()
            _push_and_report(reconciler, target_name, calls, as_json=output is OutputFormat.json)
    finally:
        reconciler.close()


@sync.command()
def relocate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the moves without making them")] = False,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Move tables that an earlier version created in OpenMetadata into the schemas of the current layout.

    What people edited moves along; the old tables are soft-deleted.
    """
    from bridge.bootstrap import targets

    settings = _settings_of_enabled_target(config, TargetName.openmetadata)
    as_json = output is OutputFormat.json
    moves = targets.list_relocations(settings)
    if dry_run or not moves:
        lines = [f"move {move.from_name} -> {move.to_name}" for move in moves]
        answer = {"moves": [{"from": move.from_name, "to": move.to_name} for move in moves]}
        print_result(answer, map(escape, [*lines, f"{count_of(len(moves), 'table')} to move"]), as_json=as_json)
        return
    calls: Counter[str] = Counter()
    relocation = targets.open_relocation(settings, len(moves), lambda kind: calls.update([kind]))
    with closing(relocation.reconciler) as reconciler:
        targets.relocate(reconciler, moves)
        if not as_json:
            remaining_count = len(list(relocation.target.relocations()))
            echo(f"moved {len(moves) - remaining_count} of {count_of(len(moves), 'table')}")
        _push_and_report(reconciler, TargetName.openmetadata, calls, as_json=as_json)


@sync.command()
def status(
    target: Target = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show the sync status of a target (reads the store only)."""
    from bridge.queries.sync_status import SyncStatusQuery

    QueryRunner(config, url, api_key).run_and_print(
        SyncStatusQuery(target=resolve_target(target, config).value), status_lines, output, status_table
    )


@sync.command()
def explain(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    job: Annotated[bool, typer.Option("--job", help="NAMESPACE and NAME refer to a job")] = False,
    target: Target = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show the remote entity of a dataset or job, or why it does not exist (reads the store only)."""
    explanation = _sync_explanation(
        QueryRunner(config, url, api_key), resolve_target(target, config), namespace, name, job=job
    )
    print_result(explanation, map(escape, explanation_lines(explanation)), as_json=output is OutputFormat.json)


@sync.command()
def retry(
    namespace: Annotated[
        str | None,
        typer.Argument(
            help="Dataset namespace, or namespace and name in one string (default: everything that failed)"
        ),
    ] = None,
    name: DatasetName = None,
    job: Annotated[bool, typer.Option("--job", help="NAMESPACE and NAME refer to a job")] = False,
    target: Target = None,
    config: Config = None,
) -> None:
    """Push a dataset or job again immediately (default: everything that failed)."""
    target_name = resolve_target(target, config)
    if not namespace:
        requeue(config, target_name, None)
        return
    explanation = _sync_explanation(QueryRunner(config, None, None), target_name, namespace, name, job=job)
    requeue(config, target_name, [parse_item_id(item.id) for item in explanation.items])


def _sync_explanation(
    runner: QueryRunner, target: TargetName, namespace: str, name: str | None, *, job: bool
) -> "SyncExplanation":
    """Query the sync state of a dataset or job."""
    from bridge.queries.sync_items import DatasetSyncQuery, JobSyncQuery

    if not job:
        return runner.run_or_exit(DatasetSyncQuery(target=target.value, **dataset_parameters(namespace, name)))
    if name is None:
        raise typer.BadParameter("a job requires NAMESPACE and NAME")
    return runner.run_or_exit(JobSyncQuery(target=target.value, namespace=namespace, name=name))


def open_reconciler(
    config: Config, target: TargetName, calls: Counter[str], allow_delete: int | None = None
) -> "Reconciler":
    """Open the reconciler of a target, which counts its requests in `calls`. Raises ConfigError if it is disabled."""
    settings = _settings_of_enabled_target(config, target)
    from bridge.bootstrap.targets import make_reconciler, open_dead_letters

    if allow_delete is not None:
        openmetadata = settings.openmetadata.model_copy(update={"most_deletions": allow_delete})
        settings = settings.model_copy(update={"openmetadata": openmetadata})
        with closing(open_dead_letters(settings, target)) as dead_letters:
            dead_letters.retry_deletions()
    return make_reconciler(settings, target, lambda kind: calls.update([kind]))


def _settings_of_enabled_target(config: Config, target: TargetName) -> "Settings":
    settings = load_settings(config)
    from bridge.log import configure_log
    from connectors.errors import ConfigError

    if target not in enabled_targets(settings):
        raise ConfigError(
            f"{target}.enabled is false: set it to true ({_SETUP_HINTS[target]}) and pass the file with --config"
        )
    configure_log(settings.log)
    return settings


def _push_and_report(reconciler: "Reconciler", target: TargetName, calls: Counter[str], *, as_json: bool) -> None:
    """Push everything due and print the result. Exit with an error if the target is not in sync."""
    outcomes = reconciler.run_until_idle()
    status = reconciler.status()
    if as_json:
        print_json(
            {
                "converged": status.converged,
                "trouble": status.trouble,
                "pushed": dict(sorted(outcomes.items())),
                "calls": dict(sorted(calls.items())),
                "marks": status.marks,
                "pending": status.pending,
                "outcomes": status.outcomes,
            }
        )
    else:
        echo(f"items: {format_counts(outcomes)}")
        echo(f"calls: {format_counts(calls)}")
        print_sync_state(status, target)
    if status.trouble:
        hint = ": see `lineage-bridge openmetadata check`" if target is TargetName.openmetadata else ""
        echo(escape(f"error: {status.trouble}{hint}"), err=True)
        raise typer.Exit(3)
    if not status.converged:
        raise typer.Exit(1)
