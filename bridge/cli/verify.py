"""`lineage-bridge verify`."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import OutputFormat, escape, print_json
from bridge.cli.sync import open_reconciler
from bridge.cli.sync_text import format_counts
from bridge.settings.target_names import TargetName, enabled_targets

if TYPE_CHECKING:
    from bridge.sync.status import SyncStatus, UnsyncedItem
    from bridge.sync.target import Difference

verify = typer.Typer(name="verify", help="Detect drift between targets and the store (read-only).")
OutputOption = Annotated[OutputFormat, typer.Option(help="A line for each difference, or one JSON object.")]
_MAX_REASONS = 100


class _Verification(NamedTuple):
    """What a target was found to be."""

    looked_at: int
    differences: "list[Difference]"
    #: What is not there by intent, or because it was refused: kind, name, and why.
    reasons: "list[UnsyncedItem]"
    calls: Counter[str]
    status: "SyncStatus"

    @property
    def is_good(self) -> bool:
        """Whether nothing differs, and nothing is to be pushed."""
        return not self.differences and not self.status.remaining


@verify.callback(invoke_without_command=True)
def verify_all(context: typer.Context, output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """Compare every enabled target with the store and print the differences."""
    if context.invoked_subcommand is not None:
        return
    names = enabled_targets(load_settings(config))
    if not names:
        from connectors.errors import ConfigError

        raise ConfigError("no target is enabled: set openmetadata.enabled or marquez.enabled, and name --config")
    found = {name: _verify_target(config, name) for name in names}
    if output is OutputFormat.json:
        print_json({name: _told(one) for name, one in found.items()})
    else:
        for name, one in found.items():
            typer.echo(f"{name.display_name}:")
            _print(one, indent="  ")
    if not all(one.is_good for one in found.values()):
        raise typer.Exit(1)


@verify.command("openmetadata")
def verify_openmetadata(output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """List drift in OpenMetadata (exit code 0: no drift and nothing pending)."""
    _verify_one(config, TargetName.openmetadata, output)


@verify.command("marquez")
def verify_marquez(output: OutputOption = OutputFormat.text, config: Config = None) -> None:
    """List drift in Marquez: the latest run of each job and its graph."""
    _verify_one(config, TargetName.marquez, output)


def _verify_one(config: Config, name: TargetName, output: OutputFormat) -> None:
    found = _verify_target(config, name)
    if output is OutputFormat.json:
        print_json(_told(found))
    else:
        _print(found)
    if not found.is_good:
        raise typer.Exit(1)


def _verify_target(config: Config, name: TargetName) -> _Verification:
    calls: Counter[str] = Counter()
    reconciler = open_reconciler(config, name, calls)
    try:
        compared = list(reconciler.compare())
        differences = [one for bit in compared for one in bit.differences]
        looked_at = sum(bit.checked for bit in compared)
        return _Verification(
            looked_at, differences, reconciler.unsynced_items(_MAX_REASONS), calls, reconciler.status()
        )
    finally:
        reconciler.close()


def _told(found: _Verification) -> dict[str, object]:
    return {
        "looked_at": found.looked_at,
        "differences": [{"kind": one.kind, "name": one.name, "what": one.description} for one in found.differences],
        "not_there": [one._asdict() for one in found.reasons],
        "left": found.status.remaining,
        "calls": dict(sorted(found.calls.items())),
    }


def _print(found: _Verification, indent: str = "") -> None:
    for one in found.differences:
        typer.echo(escape(f"{indent}{one.kind}  {one.name}  {one.description}"))
    for kind, name, why in found.reasons:
        typer.echo(escape(f"{indent}{kind}  {name}  is not there: {why}"))
    said = f"{found.looked_at} looked at, {len(found.differences)} differ; calls: {format_counts(found.calls)}"
    typer.echo(f"{indent}{said}")
    if found.status.remaining:
        left = f"{found.status.remaining} to be pushed still, or refused: see `lineage-bridge sync status`"
        typer.echo(f"{indent}{left}", err=True)
    if found.status.enabled_at is None:
        typer.echo(f"{indent}nothing was ever sent: start the service, or `lineage-bridge sync --once`", err=True)
