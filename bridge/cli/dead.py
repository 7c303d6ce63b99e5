"""`lineage-bridge dead`."""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Target, Url, accept_old_options, resolve_target
from bridge.cli.output import OutputFormat, escape, print_result
from bridge.cli.query import QueryRunner
from bridge.cli.sync import drop_item, parse_item_id, requeue
from bridge.settings.target_names import TargetName

if TYPE_CHECKING:
    from bridge.queries.sync_items import SyncItemResult

dead = typer.Typer(
    name="dead",
    help="What a target refused, or has no place for: list it, show it, try it again, give it up.",
    no_args_is_help=True,
)
_SHOWN_CHARACTERS = 20


class OutcomeFilter(StrEnum):
    """Which items are listed."""

    troubled = "troubled"
    dead = "dead"
    unresolved = "unresolved"
    dropped = "dropped"
    waiting = "waiting"
    pending = "pending"


Id = Annotated[str, typer.Argument(metavar="ID", help="The id, as `list` shows it, or its beginning.")]


@dead.command("list", cls=accept_old_options(which="outcome"))
def list_dead(
    outcome: Annotated[
        OutcomeFilter, typer.Option(help="Outcome of the items; `troubled` means dead or unresolved.")
    ] = OutcomeFilter.troubled,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 100,
    target: Target = None,
    output: Annotated[OutputFormat, typer.Option(help="For people, or one JSON object.")] = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List what a person must look at, with the reason."""
    from bridge.queries.sync_items import SyncItemsQuery

    found = QueryRunner(config, url, api_key).run_or_exit(
        SyncItemsQuery(which=outcome.value, limit=limit, target=resolve_target(target, config).value)
    )
    print_result(found, map(escape, map(_line, found.items)), as_json=output is OutputFormat.json)
    if found.next is not None:
        typer.echo(f"there are more than {limit}: see --limit", err=True)


@dead.command("show")
def show_dead(id_: Id, target: Target = None, config: Config = None, url: Url = None, api_key: ApiKey = None) -> None:
    """Print one of them with all that is known, and what was sent."""
    for line in _lines(_one(QueryRunner(config, url, api_key), id_, resolve_target(target, config))):
        typer.echo(escape(line))


def _lines(item: "SyncItemResult") -> "Iterator[str]":
    yield _line(item)
    for key in ("since", "settled_at", "due_at", "attempts"):
        if (value := getattr(item, key)) is not None:
            yield f"  {key.replace('_', ' ')}: {value}"
    if item.entity:
        yield f"  is the {item.entity.type} {item.entity.name}"
    if item.request is not None:
        yield from json.dumps(json.loads(bytes(item.request)), indent=2, ensure_ascii=False).splitlines()


@dead.command("retry")
def retry_dead(
    id_: Annotated[
        str | None, typer.Argument(metavar="ID", help="The id, or its beginning; all that failed without.")
    ] = None,
    target: Target = None,
    config: Config = None,
) -> None:
    """Let it be pushed anew at once."""
    of = resolve_target(target, config)
    requeue(config, of, [parse_item_id(_one(QueryRunner(config, None, None), id_, of).id)] if id_ else None)


@dead.command("drop")
def drop_dead(id_: Id, target: Target = None, config: Config = None) -> None:
    """Give it up: it is not tried again before it changes."""
    of = resolve_target(target, config)
    item = _one(QueryRunner(config, None, None), id_, of)
    if item.outcome != "dead":
        raise typer.BadParameter(
            f"{item.id} is {item.outcome}, not dead: it finds its place by itself, or by a mapping"
        )
    drop_item(config, of, parse_item_id(item.id))
    typer.echo(f"{item.id} is given up until it changes")


def _line(item: "SyncItemResult") -> str:
    about = f"{item.about.namespace} {item.about.name}" if item.about else (item.entity.name if item.entity else "")
    short = f"{item.kind}-{item.id.partition('-')[2][:_SHOWN_CHARACTERS]}"
    return f"{short}  {item.outcome or 'pending'}  {about}  {item.reason or ''}".rstrip()


def _one(asked: QueryRunner, beginning: str, target: TargetName) -> "SyncItemResult":
    from bridge.queries.sync_items import SyncItemsQuery

    found = asked.run_or_exit(SyncItemsQuery(id=beginning, limit=2, target=target.value)).items
    if len(found) != 1:
        many = "no item has" if not found else "several items have"
        raise typer.BadParameter(f"{many} an id that begins with {beginning}: see `dead list`")
    return found[0]
