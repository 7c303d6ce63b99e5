"""`lineage-bridge events`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url
from bridge.cli.output import OutputFormat, echo, escape, print_json
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from bridge.queries.events import EventRecord

_POLL_SECONDS = 1.0


def events(
    after: Annotated[
        int | None,
        typer.Option(
            min=0, max=(1 << 53) - 1, help="Only events after this sequence number (default: the newest events)"
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of results")] = 20,
    follow: Annotated[bool, typer.Option("--follow", help="Keep printing new events until interrupted")] = False,
    output: Annotated[
        OutputFormat, typer.Option(help="Output format: text, or json (one event per line, as received)")
    ] = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List stored events in order of arrival."""
    import time

    from bridge.queries.events import EventsQuery

    runner = QueryRunner(config, url, api_key)
    while True:
        page = runner.run_or_exit(EventsQuery(after=after, limit=limit))
        for event in page.items:
            if output is OutputFormat.json:
                print_json(event)
            else:
                echo(escape(_event_line(event)))
        after = page.next
        if not follow:
            return
        if len(page.items) < limit:
            time.sleep(_POLL_SECONDS)


def _event_line(event: "EventRecord") -> str:
    import msgspec

    content = msgspec.json.decode(event.event)
    job, dataset = content.get("job"), content.get("dataset")
    subject = f"job {job['namespace']} {job['name']}" if job else f"dataset {dataset['namespace']} {dataset['name']}"
    run = f" run {content['run']['runId']}" if content.get("run") else ""
    receipts = f" x{event.receipts}" if event.receipts > 1 else ""
    notes = f"  [{'; '.join(event.notes)}]" if event.notes else ""
    failure = f"  not merged: {event.failure}" if event.failure else ""
    kind = event.event_type or ("JOB" if job else "DATASET")
    return (
        f"{event.seq}  {event.event_time}  {kind:<8}  {subject}{run}  from {event.source}{receipts}{notes}{failure}"
    )
