"""`lineage-bridge events`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url
from bridge.cli.output import OutputFormat, escape, print_json
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from bridge.queries.events import EventRecord

_SECONDS = 1.0


def events(
    after: Annotated[
        int | None, typer.Option(min=0, max=(1 << 53) - 1, help="Those after this number; the newest without.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what comes in, until Ctrl-C.")] = False,
    output: Annotated[
        OutputFormat, typer.Option(help="A line each, or JSON lines with the events as sent.")
    ] = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show the events that were kept, in the order in which they came."""
    import time

    from bridge.queries.events import EventsQuery

    asked = QueryRunner(config, url, api_key)
    while True:
        found = asked.run_or_exit(EventsQuery(after=after, limit=limit))
        for event in found.items:
            if output is OutputFormat.json:
                print_json(event)
            else:
                typer.echo(escape(_line(event)))
        after = found.next
        if not follow:
            return
        if len(found.items) < limit:
            time.sleep(_SECONDS)


def _line(event: "EventRecord") -> str:
    import msgspec

    said = msgspec.json.decode(event.event)
    job, dataset = said.get("job"), said.get("dataset")
    of = f"job {job['namespace']} {job['name']}" if job else f"dataset {dataset['namespace']} {dataset['name']}"
    run = f" run {said['run']['runId']}" if said.get("run") else ""
    more = f" x{event.receipts}" if event.receipts > 1 else ""
    notes = f"  [{'; '.join(event.notes)}]" if event.notes else ""
    failed = f"  not merged: {event.failure}" if event.failure else ""
    kind = event.event_type or ("JOB" if job else "DATASET")
    return f"{event.seq}  {event.event_time}  {kind:<8}  {of}{run}  from {event.source}{more}{notes}{failed}"
