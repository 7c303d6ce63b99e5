"""`lineage-bridge search`."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, Output, load

if TYPE_CHECKING:
    from bridge.settings import Settings
    from bridge.store.search import Hit, SearchAnswer, SearchFor

_MORE = "… there is more: raise --limit"


class Kind(StrEnum):
    """What is searched for."""

    dataset = "dataset"
    job = "job"


def search(
    q: Annotated[
        str, typer.Argument(help="Words of names, descriptions or columns; of the last one its beginning will do.")
    ] = "",
    kind: Annotated[Kind | None, typer.Option("--type", help="Only datasets, or only jobs.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Only of this namespace; `s3://lake*`: that begin so.")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Only of this owner.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only with this tag, on the dataset or on a column of it.")] = None,
    category: Annotated[str | None, typer.Option(help="Only of this category.")] = None,
    stored_as: Annotated[str | None, typer.Option("--format", help="Only stored in this format.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many hits at most.")] = 20,
    after: Annotated[str | None, typer.Option(help="The `next` of the page before.", metavar="CURSOR")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the index anew before.")] = False,
    output: Annotated[Output, typer.Option(help="A list, or one JSON object.")] = Output.text,
    config: Config = None,
) -> None:
    """Find datasets and jobs by words of their names, descriptions and columns."""
    from bridge.store.search import SearchFor

    wanted = SearchFor(q, kind and kind.value, namespace, owner, tag, category, stored_as)
    if wanted.is_empty and not rebuild:
        raise typer.BadParameter("say what to search for: words, or one of --type, --namespace, --owner, --tag, …")
    answer = _ask(load(config), wanted, limit, after, rebuild=rebuild)
    if wanted.is_empty:
        return
    if output is Output.json:
        import msgspec

        typer.echo(msgspec.json.encode(answer))
    else:
        for line in _lines(answer):
            typer.echo(line)
    if not answer.hits:
        _tell_nothing(answer, wanted)


def _ask(
    settings: "Settings", wanted: "SearchFor", limit: int, after: str | None, *, rebuild: bool
) -> "SearchAnswer":
    """Search an index that is up to date."""
    from contextlib import closing

    from bridge.bootstrap import make_indexer, open_store
    from bridge.store.search import search as find

    with closing(make_indexer(settings)) as indexer:
        if rebuild:
            indexer.rebuild()
        indexer.catch_up_all()
    with closing(open_store(settings)) as db:
        return find(db, settings.org, wanted, limit, after)


def _lines(answer: "SearchAnswer") -> Iterator[str]:
    from bridge.cli.escape import escape

    for hit in answer.hits:
        yield escape(f"{hit.type:<7}  {hit.namespace} {hit.name}{_known(hit)}")
        if said := next((line for line in (hit.description or "").splitlines() if line.strip()), None):
            yield escape(f"         {said.strip()}")
    if answer.next:
        yield _MORE


def _known(hit: "Hit") -> str:
    known = [*hit.owners, *(f"#{tag}" for tag in hit.tags), *filter(None, (hit.category, hit.format))]
    return (f"   [{', '.join(known)}]" if known else "") + ("" if hit.active else "   (dropped)")


def _tell_nothing(answer: "SearchAnswer", wanted: "SearchFor") -> None:
    from bridge.cli.escape import escape

    asked = f" for {wanted.q[:200]!r}" if wanted.q.strip() else ""
    near = f"; near: {', '.join(answer.near)}" if answer.near else ""
    typer.echo(escape(f"error: nothing found{asked}{near}"), err=True)
    raise typer.Exit(1)
