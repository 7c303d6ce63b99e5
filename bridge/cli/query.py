"""Runs a query against the local store or, with --url, a service."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import typer

from bridge.cli.options import EXIT_CONFLICT, load_settings
from bridge.cli.output import OutputFormat, echo, escape, print_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.queries.query import Query

A = TypeVar("A")


class QueryRunner(NamedTuple):
    """Runs queries on a service, or on the local store."""

    config: list[Path] | None
    url: str | None
    api_key: str | None

    def run_or_exit(self, query: "Query[A]") -> A:
        """Run a query. Exit with an error if the subject of the query does not exist."""
        from bridge.errors import NotFound, StateConflict

        try:
            return self.run(query)
        except (NotFound, StateConflict) as error:
            echo(f"error: {error}", err=True)
            raise typer.Exit(EXIT_CONFLICT if isinstance(error, StateConflict) else 1) from error

    def run_and_print(self, query: "Query[A]", lines: "Callable[[A], Iterable[str]]", output: OutputFormat) -> None:
        """Run a query and print the result with escaped names."""
        result = self.run_or_exit(query)
        print_result(result, map(escape, lines(result)), as_json=output is OutputFormat.json)

    def run(self, query: "Query[A]") -> A:
        """Run a query. Raises NotFound if the subject of the query does not exist."""
        from contextlib import closing

        from bridge.bootstrap.queries import open_query_service, open_remote_query_service

        if self.url:
            service = open_remote_query_service(self.url, self.api_key)
        else:
            service = open_query_service(load_settings(self.config))
        with closing(service):
            return service.run(query)
