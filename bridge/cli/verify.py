"""`lineage-bridge verify`."""

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_json
from bridge.cli.sync import open_reconciler
from bridge.cli.sync_text import format_counts
from bridge.settings.target_names import TargetName, enabled_targets
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.sync.status import SyncStatus, UnsyncedItem
    from bridge.sync.target import Difference

verify = typer.Typer(name="verify", help="Detect drift between targets and the store (read-only).")
_MAX_REASONS = 100


class _Verification(NamedTuple):
    """Result of verifying a target."""

    checked: int
    differences: "list[Difference]"
    #: Items that are absent on purpose, or because the target rejected them.
    unsynced: "list[UnsyncedItem]"
    calls: Counter[str]
    status: "SyncStatus"

    @property
    def is_in_sync(self) -> bool:
        """True if there are no differences and no items are left to push."""
        return not self.differences and not self.status.remaining


@verify.callback(invoke_without_command=True)
def verify_all(context: typer.Context, output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """Compare every enabled target with the store and print the differences."""
    if context.invoked_subcommand is not None:
        return
    targets = enabled_targets(load_settings(config))
    if not targets:
        from connectors.errors import ConfigError

        raise ConfigError(
            "no target is enabled: set openmetadata.enabled or marquez.enabled, and pass the file with --config"
        )
    results = {target: _verify_target(config, target) for target in targets}
    if output is OutputFormat.json:
        print_json({target: _as_json(result) for target, result in results.items()})
    else:
        for target, result in results.items():
            echo(f"{target.display_name}:")
            _print_result(result, indent="  ")
    if not all(result.is_in_sync for result in results.values()):
        raise typer.Exit(1)


@verify.command("openmetadata")
def verify_openmetadata(output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """List drift in OpenMetadata (exit code 0: no drift and nothing pending)."""
    _verify_and_print(config, TargetName.openmetadata, output)


@verify.command("marquez")
def verify_marquez(output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """List drift in Marquez: the latest run of each job and its graph."""
    _verify_and_print(config, TargetName.marquez, output)


def _verify_and_print(config: Config, target: TargetName, output: OutputFormat) -> None:
    """Verify one target and print the result. Exit with code 1 if the target is not in sync."""
    result = _verify_target(config, target)
    if output is OutputFormat.json:
        print_json(_as_json(result))
    else:
        _print_result(result)
    if not result.is_in_sync:
        raise typer.Exit(1)


def _verify_target(config: Config, target: TargetName) -> _Verification:
    """Compare a target with the store, without repairing anything."""
    calls: Counter[str] = Counter()
    reconciler = open_reconciler(config, target, calls)
    try:
        batches = list(reconciler.compare())
        differences = [difference for batch in batches for difference in batch.differences]
        checked_count = sum(batch.checked for batch in batches)
        return _Verification(
            checked_count, differences, reconciler.unsynced_items(_MAX_REASONS), calls, reconciler.status()
        )
    finally:
        reconciler.close()


def _as_json(result: _Verification) -> dict[str, object]:
    """Convert a result to the keys of the JSON output."""
    return {
        "looked_at": result.checked,
        "differences": [
            {"kind": difference.kind, "name": difference.name, "what": difference.description}
            for difference in result.differences
        ],
        "not_there": [item._asdict() for item in result.unsynced],
        "left": result.status.remaining,
        "calls": dict(sorted(result.calls.items())),
    }


def _print_result(result: _Verification, indent: str = "") -> None:
    for difference in result.differences:
        echo(escape(f"{indent}{difference.kind}  {difference.name}  {difference.description}"))
    for kind, name, reason in result.unsynced:
        echo(escape(f"{indent}{kind}  {name}  is absent: {reason}"))
    differences = count_of(len(result.differences), "difference")
    summary = f"{result.checked} compared, {differences}; requests: {format_counts(result.calls)}"
    echo(f"{indent}{summary}")
    if result.status.remaining:
        remaining = f"{result.status.remaining} pending, dead or unresolved: see `lineage-bridge sync status`"
        echo(f"{indent}{remaining}", err=True)
    if result.status.enabled_at is None:
        echo(f"{indent}never synced: start the service, or run `lineage-bridge sync --once`", err=True)
