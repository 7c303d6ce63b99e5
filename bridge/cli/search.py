"""`lineage-bridge search`."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url
from bridge.cli.output import MORE_RESULTS, OutputFormat, OutputOption, echo, escape, print_result
from bridge.cli.query import QueryRunner, update_index
from bridge.cli.table import Column, Row, Table, text_column
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.store.search.search import SearchHit, SearchResult


class SearchType(StrEnum):
    """Types of search results."""

    dataset = "dataset"
    job = "job"


def search(
    q: Annotated[str, typer.Argument(help="Search words; the last one may be a prefix")] = "",
    kind: Annotated[SearchType | None, typer.Option("--type", help="Only datasets or only jobs")] = None,
    namespace: Annotated[str | None, typer.Option(help="Filter by namespace; s3://lake* matches a prefix")] = None,
    owner: Annotated[str | None, typer.Option(help="Filter by owner")] = None,
    tag: Annotated[str | None, typer.Option(help="Filter by tag of the dataset or one of its columns")] = None,
    category: Annotated[str | None, typer.Option(help="Filter by category")] = None,
    stored_as: Annotated[str | None, typer.Option("--format", help="Filter by storage format")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results")] = 20,
    after: Annotated[str | None, typer.Option(help="Cursor: `next` of the previous page", metavar="CURSOR")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild the search index first")] = False,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Search datasets and jobs by name, description and columns."""
    filters = {"namespace": namespace, "owner": owner, "tag": tag, "category": category, "format": stored_as}
    is_empty = not q.strip() and kind is None and not any(filters.values())
    if is_empty and not rebuild:
        raise typer.BadParameter("specify search words or a filter (--type, --namespace, --owner, --tag, …)")
    if rebuild and url:
        raise typer.BadParameter("--rebuild works on the local store only: a service maintains its index itself")
    from bridge.queries.search import SearchQuery

    runner = QueryRunner(config, url, api_key)
    if rebuild:
        update_index(config, rebuild=True)
    if is_empty:
        return
    query = SearchQuery(q=q, type=kind.value if kind else None, limit=limit, after=after, **filters)
    result = runner.run_or_exit(query)
    if result.pending and not url:
        update_index(config)
        result = runner.run_or_exit(query)
    print_result(
        result,
        map(escape, _result_lines(result)),
        as_json=output is OutputFormat.json,
        table=lambda: _result_table(result),
    )
    if not result.items:
        _exit_not_found(result, q)


def _result_lines(result: "SearchResult") -> Iterator[str]:
    for hit in result.items:
        yield f"{hit.type:<7}  {hit.namespace} {hit.name}{_details_text(hit)}"
        yield from (f"         {line}" for line in _description_lines(hit))
    yield from _notes(result)


def _result_table(result: "SearchResult") -> Table:
    columns = (
        Column("TYPE"), text_column("NAME"), text_column("OWNERS"), text_column("TAGS"), Column("CATEGORY"),
        Column("FORMAT"),
    )  # fmt: skip
    rows = [
        Row((
            hit.type, f"{hit.namespace} {hit.name}{'' if hit.active else ' (dropped)'}", ", ".join(hit.owners),
            ", ".join(hit.tags), hit.category or "", hit.format or "",
        ), None, _description_lines(hit))
        for hit in result.items
    ]  # fmt: skip
    return Table(columns, rows, list(_notes(result)))


def _description_lines(hit: "SearchHit") -> list[str]:
    """Return the first line of the description, if there is one."""
    return [line.strip() for line in (hit.description or "").splitlines() if line.strip()][:1]


def _notes(result: "SearchResult") -> Iterator[str]:
    if result.next:
        yield MORE_RESULTS
    if result.pending:
        yield f"(not indexed yet: {count_of(result.pending, 'dataset or job', 'datasets and jobs')})"


def _details_text(hit: "SearchHit") -> str:
    details = [*hit.owners, *(f"#{tag}" for tag in hit.tags), *filter(None, (hit.category, hit.format))]
    details_text = f"   [{', '.join(details)}]" if details else ""
    return details_text if hit.active else f"{details_text}   (dropped)"


def _exit_not_found(result: "SearchResult", q: str) -> None:
    """Print that nothing was found, with similar words, and exit with an error."""
    query = f" for {q[:200]!r}" if q.strip() else ""
    suggestions = f"; similar: {', '.join(result.near)}" if result.near else ""
    echo(escape(f"error: nothing found{query}{suggestions}"), err=True)
    raise typer.Exit(1)
