"""The `lineage-bridge` command: one function a subcommand, everything heavy imported inside it."""

import sys

import typer

from bridge.cli import config, events, graph, keys, log, runs, schema, service, spark, tail
from bridge.cli.completion import NAME, answer_shells, completion
from bridge.cli.doctor import doctor
from bridge.cli.explain import explain
from bridge.cli.export import export
from bridge.cli.impact import impact
from bridge.cli.search import search
from bridge.cli.show import show
from bridge.cli.transfer import import_events

#: Exit codes beside 0 and 1, documented in docs/cli.md.
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_STORE = 4
EXIT_STORAGE = 74

app = typer.Typer(
    name=NAME,
    help="Keeps lineage events durably, merges them, and tells where data comes from.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command()(service.serve)
app.command()(service.version)
app.command()(completion)
app.command()(events.ingest)
app.command()(tail.tail)
app.add_typer(events.rejected, name="rejected")
app.command()(show)
app.command()(graph.lineage)
app.command()(runs.runs)
app.command()(impact)
app.command()(explain)
app.command()(log.events)
app.command()(search)
app.command()(export)
app.command("import")(import_events)
app.add_typer(schema.schema, name="schema")
app.command()(doctor)
app.add_typer(config.config, name="config")
app.add_typer(keys.keys, name="keys")
app.add_typer(spark.spark, name="spark")


def main() -> None:
    """Run the command; errors of ours are one line that names the thing, the place and the remedy."""
    from mappers.errors import (
        BadQuestion,
        ConfigError,
        LineageBridgeError,
        MissingPart,
        StorageFailure,
        Unreachable,
    )

    answer_shells()
    try:
        app(prog_name=NAME)
    except LineageBridgeError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(
            EXIT_USAGE if isinstance(error, ConfigError | MissingPart | BadQuestion)
            else EXIT_UNREACHABLE if isinstance(error, Unreachable)
            else EXIT_STORAGE if isinstance(error, StorageFailure)
            else EXIT_STORE
        )  # fmt: skip
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
