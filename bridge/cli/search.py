"""`lineage-bridge search`."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url, load_settings
from bridge.cli.output import OutputFormat, escape, print_json
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from bridge.store.search.search import SearchHit, SearchResult

_MORE = "… results truncated: raise --limit"


class SearchType(StrEnum):
    """What is searched for."""

    dataset = "dataset"
    job = "job"


def search(
    q: Annotated[str, typer.Argument(help="Search words; the last one may be a prefix")] = "",
    kind: Annotated[SearchType | None, typer.Option("--type", help="Only datasets or only jobs")] = None,
    namespace: Annotated[str | None, typer.Option(help="Filter by namespace; s3://lake* matches a prefix")] = None,
    owner: Annotated[str | None, typer.Option(help="Only of this owner.")] = None,
    tag: Annotated[str | None, typer.Option(help="Filter by tag of the dataset or one of its columns")] = None,
    category: Annotated[str | None, typer.Option(help="Only of this category.")] = None,
    stored_as: Annotated[str | None, typer.Option("--format", help="Only stored in this format.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results")] = 20,
    after: Annotated[str | None, typer.Option(help="Cursor: `next` of the previous page", metavar="CURSOR")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild the search index first")] = False,
    output: Annotated[OutputFormat, typer.Option(help="A list, or one JSON object.")] = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Search datasets and jobs by name, description and columns."""
    given = {"namespace": namespace, "owner": owner, "tag": tag, "category": category, "format": stored_as}
    nothing = not q.strip() and kind is None and not any(given.values())
    if nothing and not rebuild:
        raise typer.BadParameter("say what to search for: words, or one of --type, --namespace, --owner, --tag, …")
    if rebuild and url:
        raise typer.BadParameter("--rebuild is for the store of the settings: a service keeps its index by itself")
    from bridge.queries.search import SearchQuery

    asked = QueryRunner(config, url, api_key)
    if rebuild:
        _catch_up(config, rebuild=True)
    if nothing:
        return
    question = SearchQuery(q=q, type=kind.value if kind else None, limit=limit, after=after, **given)
    answer = asked.run_or_exit(question)
    if answer.pending and not url:
        _catch_up(config, rebuild=False)
        answer = asked.run_or_exit(question)
    if output is OutputFormat.json:
        print_json(answer)
    else:
        for line in _lines(answer):
            typer.echo(escape(line))
    if not answer.items:
        _exit_not_found(answer, q)


def _catch_up(config: list[Path] | None, *, rebuild: bool) -> None:
    """Index what the store's service, if one runs, has not indexed yet."""
    from contextlib import closing

    from bridge.bootstrap.store import make_indexer

    with closing(make_indexer(load_settings(config))) as indexer:
        if rebuild:
            indexer.rebuild()
        indexer.index_all()


def _lines(answer: "SearchResult") -> Iterator[str]:
    for hit in answer.items:
        yield f"{hit.type:<7}  {hit.namespace} {hit.name}{_known(hit)}"
        if said := next((line for line in (hit.description or "").splitlines() if line.strip()), None):
            yield f"         {said.strip()}"
    if answer.next:
        yield _MORE
    if answer.pending:
        yield f"({answer.pending} datasets and jobs are still to be indexed)"


def _known(hit: "SearchHit") -> str:
    known = [*hit.owners, *(f"#{tag}" for tag in hit.tags), *filter(None, (hit.category, hit.format))]
    return (f"   [{', '.join(known)}]" if known else "") + ("" if hit.active else "   (dropped)")


def _exit_not_found(answer: "SearchResult", q: str) -> None:
    asked = f" for {q[:200]!r}" if q.strip() else ""
    near = f"; near: {', '.join(answer.near)}" if answer.near else ""
    typer.echo(escape(f"error: nothing found{asked}{near}"), err=True)
    raise typer.Exit(1)
