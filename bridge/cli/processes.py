"""`lineage-bridge process list`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.escape import escape
from bridge.cli.options import ApiKey, Asked, Config, Output, Url, print_answer

if TYPE_CHECKING:
    from bridge.catalogue.history import RunRecord
    from bridge.catalogue.processes import RegisteredProcess
    from bridge.catalogue.question import Page

_COLUMNS = "{:<10}  {:<9}  {:<10}  {:<19}  {:<24}  {}"
_MORE = "… there is more: raise --limit"


def processes(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 100,
    output: Annotated[Output, typer.Option(help="A table, or one JSON object.")] = Output.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List the processes that are registered, and how the last run of each went."""
    from bridge.catalogue.processes import Processes

    found = Asked(config, url, api_key).ask(Processes(limit=limit))
    print_answer(found, _table(found), as_json=output is Output.json)


def _table(found: "Page[RegisteredProcess]") -> Iterator[str]:
    if not found.items:
        typer.echo("no processes are registered", err=True)
        return
    yield _COLUMNS.format("VERSION", "TRIGGER", "LAST RUN", "ENDED (UTC)", "OWNER", "PROCESS")
    for one in found.items:
        status, ended = _last(one.last_run)
        owner = ", ".join(one.owners) or "-"
        line = (one.version, one.trigger_mode or "-", status, ended, owner, f"{one.namespace} {one.name}")
        yield escape(_COLUMNS.format(*line))
    if found.next:
        yield _MORE


def _last(run: "RunRecord | None") -> tuple[str, str]:
    """Say how a run ended and when; of one that has not ended, that it runs."""
    if run is None:
        return "never", ""
    status = "running" if run.status == "STARTED" else run.status + "*" * run.status_derived
    return status, (run.end_ts or "").partition(".")[0].replace("T", " ")
