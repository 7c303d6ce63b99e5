"""`lineage-bridge dead`."""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Target, Url, accept_old_options, resolve_target
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_result
from bridge.cli.query import QueryRunner
from bridge.cli.sync import drop_item, parse_item_id, requeue
from bridge.cli.table import Column, Row, Table, text_column
from bridge.settings.target_names import TargetName
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.queries.sync_items import SyncItemResult

dead = typer.Typer(
    name="dead",
    help="List, show, retry and drop dead letters and unresolved items.",
    no_args_is_help=True,
)
_SHORT_ID_LENGTH = 20
_COLORS = {"dead": "red", "unresolved": "yellow"}


class OutcomeFilter(StrEnum):
    """Outcomes to list."""

    troubled = "troubled"
    dead = "dead"
    unresolved = "unresolved"
    dropped = "dropped"
    waiting = "waiting"
    pending = "pending"


Id = Annotated[str, typer.Argument(metavar="ID", help="Item id from `dead list`, or a unique prefix")]


@dead.command("list", cls=accept_old_options(which="outcome"))
def list_dead(
    outcome: Annotated[
        OutcomeFilter, typer.Option(help="Filter by outcome (troubled: dead or unresolved)")
    ] = OutcomeFilter.troubled,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results")] = 100,
    target: Target = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List dead letters and unresolved items with their reasons."""
    from bridge.queries.sync_items import SyncItemsQuery

    page = QueryRunner(config, url, api_key).run_or_exit(
        SyncItemsQuery(which=outcome.value, limit=limit, target=resolve_target(target, config).value)
    )
    print_result(
        page,
        map(escape, map(_summary_line, page.items)),
        as_json=output is OutputFormat.json,
        table=partial(_table, page.items),
    )
    if page.next is not None:
        echo(f"more than {count_of(limit, 'item')}: raise --limit", err=True)


@dead.command("show")
def show_dead(id_: Id, target: Target = None, config: Config = None, url: Url = None, api_key: ApiKey = None) -> None:
    """Show an item with its error and the rejected request."""
    item = _find_item(QueryRunner(config, url, api_key), id_, resolve_target(target, config))
    for line in _item_lines(item):
        echo(escape(line))


def _item_lines(item: "SyncItemResult") -> "Iterator[str]":
    yield _summary_line(item)
    for key in ("since", "settled_at", "due_at", "attempts"):
        if (value := getattr(item, key)) is not None:
            yield f"  {key.replace('_', ' ')}: {value}"
    if item.entity:
        yield f"  entity: {item.entity.type} {item.entity.name}"
    if item.request is not None:
        yield from json.dumps(json.loads(bytes(item.request)), indent=2, ensure_ascii=False).splitlines()


@dead.command("retry")
def retry_dead(
    id_: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Item id from `dead list`, or a unique prefix (default: all failed items)"),
    ] = None,
    target: Target = None,
    config: Config = None,
) -> None:
    """Retry one item, or all failed items, immediately."""
    target_name = resolve_target(target, config)
    keys = None
    if id_:
        item = _find_item(QueryRunner(config, None, None), id_, target_name)
        keys = [parse_item_id(item.id)]
    requeue(config, target_name, keys)


@dead.command("drop")
def drop_dead(id_: Id, target: Target = None, config: Config = None) -> None:
    """Drop a dead letter; the item is retried only after it changes."""
    target_name = resolve_target(target, config)
    item = _find_item(QueryRunner(config, None, None), id_, target_name)
    if item.outcome != "dead":
        raise typer.BadParameter(f"{item.id} is {item.outcome}, not dead: it is resolved by sync, or by a mapping")
    drop_item(config, target_name, parse_item_id(item.id))
    echo(f"{item.id} dropped until it changes")


def _summary_line(item: "SyncItemResult") -> str:
    return "  ".join(_summary_cells(item)).rstrip()


def _summary_cells(item: "SyncItemResult") -> tuple[str, str, str, str]:
    """Return short id, outcome, subject and reason of an item."""
    entity_name = item.entity.name if item.entity else ""
    subject = f"{item.about.namespace} {item.about.name}" if item.about else entity_name
    _, _, key = item.id.partition("-")
    return f"{item.kind}-{key[:_SHORT_ID_LENGTH]}", item.outcome or "pending", subject, item.reason or ""


def _table(items: "Sequence[SyncItemResult]") -> Table:
    columns = (Column("ID"), Column("OUTCOME"), text_column("SUBJECT"), text_column("REASON"))
    return Table(columns, [Row(_summary_cells(item), _COLORS.get(item.outcome or "")) for item in items])


def _find_item(runner: QueryRunner, prefix: str, target: TargetName) -> "SyncItemResult":
    """Find the only item whose id has this prefix."""
    from bridge.queries.sync_items import SyncItemsQuery

    items = runner.run_or_exit(SyncItemsQuery(id=prefix, limit=2, target=target.value)).items
    if len(items) != 1:
        matches = "several items" if items else "no item"
        raise typer.BadParameter(f"{matches} with an id that starts with {prefix}: see `dead list`")
    (item,) = items
    return item
