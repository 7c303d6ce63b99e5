"""Runs a query against the local store or, with --url, a service."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import typer

from bridge.cli.options import EXIT_CONFLICT, load_settings
from bridge.cli.output import OutputFormat, escape, print_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.queries.query import Query

A = TypeVar("A")


class QueryRunner(NamedTuple):
    """Whom a command asks: a service, or the store of the settings."""

    config: list[Path] | None
    url: str | None
    api_key: str | None

    def run_or_exit(self, question: "Query[A]") -> A:
        """Get the answer; what is not in the store ends the command."""
        from bridge.errors import NotFound, StateConflict

        try:
            return self.run(question)
        except (NotFound, StateConflict) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(EXIT_CONFLICT if isinstance(error, StateConflict) else 1) from error

    def run_and_print(
        self, question: "Query[A]", lines: "Callable[[A], Iterable[str]]", output: OutputFormat
    ) -> None:
        """Print the answer: for people in lines, whatever strangers wrote into them, or for programs."""
        found = self.run_or_exit(question)
        print_result(found, map(escape, lines(found)), as_json=output is OutputFormat.json)

    def run(self, question: "Query[A]") -> A:
        """Get the answer; raises UnknownName when there is nothing of that name."""
        from contextlib import closing

        from bridge.bootstrap.queries import open_query_service, open_remote_query_service

        catalogue = (
            open_remote_query_service(self.url, self.api_key)
            if self.url
            else open_query_service(load_settings(self.config))
        )
        with closing(catalogue):
            return catalogue.run(question)
