"""Runs a query against the local store or, with --url, a service."""

import os
import sys
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

from bridge.cli.options import EXIT_CONFLICT, EXIT_USAGE, load_settings
from bridge.cli.output import OutputFormat, echo, escape, print_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.cli.table import Table
    from bridge.queries.query import Query

A = TypeVar("A")


class QueryRunner(NamedTuple):
    """Runs queries on a service, or on the local store."""

    config: list[Path] | None
    url: str | None
    api_key: str | None

    def run_or_exit(self, query: "Query[A]") -> A:
        """Run a query. Exit with an error if its subject does not exist, or if several datasets match its name."""
        from bridge.errors import AmbiguousName, NotFound, StateConflict

        try:
            return self.run(query)
        except AmbiguousName as error:
            return self.run(_select_candidate(query, error.candidates))
        except (NotFound, StateConflict) as error:
            echo(escape(f"error: {error}"), err=True, color="red")
            raise typer.Exit(EXIT_CONFLICT if isinstance(error, StateConflict) else 1) from error

    def run_and_print(
        self,
        query: "Query[A]",
        lines: "Callable[[A], Iterable[str]]",
        output: OutputFormat,
        table: "Callable[[A], Table] | None" = None,
    ) -> None:
        """Run a query and print the result with escaped names. On a terminal, a list is printed as a table."""
        result = self.run_or_exit(query)
        make_table = partial(table, result) if table else None
        print_result(result, map(escape, lines(result)), as_json=output is OutputFormat.json, table=make_table)

    def run(self, query: "Query[A]") -> A:
        """Run a query. Raises NotFound if its subject does not exist, and AmbiguousName if several datasets match.

        A dataset that is not found by its name is looked up as a relative path, and in an updated search index.
        """
        from msgspec.structs import replace

        from bridge.errors import AmbiguousName, NotFound

        try:
            return self._run_once(query)
        except (AmbiguousName, NotFound):
            name = _full_name(query)
            if name is None:
                raise
            if Path(name).exists():
                path = os.path.abspath(name)  # noqa: PTH100 - Path.resolve follows links
                with suppress(AmbiguousName, NotFound):
                    return self._run_once(replace(query, name=path))
            if not self._index_changes(name):
                raise
            return self._run_once(query)

    def _index_changes(self, name: str) -> bool:
        """Index changes of the local store that no service has indexed yet. Return False if there are none."""
        from bridge.queries.search import SearchQuery

        if self.url or not self._run_once(SearchQuery(q=name, limit=1)).pending:
            return False
        update_index(self.config)
        return True

    def _run_once(self, query: "Query[A]") -> A:
        from bridge.bootstrap.queries import open_query_service, open_remote_query_service

        if self.url:
            service = open_remote_query_service(self.url, self.api_key)
        else:
            service = open_query_service(load_settings(self.config))
        with closing(service):
            return service.run(query)


def _full_name(query: "Query[Any]") -> str | None:
    """Return the name of the dataset of a query if it is given as one string, without a namespace."""
    from bridge.queries.subject import DatasetSubjectQuery

    if not isinstance(query, DatasetSubjectQuery) or query.id is not None or query.namespace is not None:
        return None
    return query.name


def _select_candidate(query: "Query[A]", candidates: list[dict[str, str]]) -> "Query[A]":
    """Ask on a terminal which dataset is meant. Elsewhere, print the datasets and exit."""
    from msgspec.structs import replace

    is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    hint = "" if is_terminal else "; specify namespace and name"
    echo(escape(f"{'' if is_terminal else 'error: '}several datasets match {_full_name(query)!r}{hint}:"), err=True)
    for number, candidate in enumerate(candidates, 1):
        echo(escape(f"{number:>4}  {candidate['namespace']} {candidate['name']}"), err=True)
    if not is_terminal:
        raise typer.Exit(EXIT_USAGE)
    typer.echo("number of the dataset: ", nl=False, err=True)
    answer = sys.stdin.readline().strip()  # typer.prompt writes to stdout, which may be a pipe
    if answer not in map(str, range(1, len(candidates) + 1)):
        raise typer.BadParameter(f"{answer!r} is not a number from 1 to {len(candidates)}")
    return replace(query, id=candidates[int(answer) - 1]["id"], name=None)


def update_index(config: list[Path] | None, *, rebuild: bool = False) -> None:
    """Index the changes that no service has indexed yet or, with `rebuild`, everything."""
    from bridge.bootstrap.store import make_indexer

    with closing(make_indexer(load_settings(config))) as indexer:
        if rebuild:
            indexer.rebuild()
        indexer.index_all()
