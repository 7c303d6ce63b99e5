"""The `lineage-bridge` command: one function a subcommand, everything heavy imported inside it."""

import errno
import io
import os
import sys

import typer

from bridge.cli import (
    autosys,
    config,
    dag,
    dataset,
    dataset_orders,
    dead,
    events,
    feed,
    governance,
    graph,
    keys,
    log,
    marquez,
    openmetadata,
    process,
    process_run,
    processes,
    runs,
    schema,
    service,
    spark,
    sync,
    tail,
    verify,
)
from bridge.cli.completion import NAME, answer_shells, completion
from bridge.cli.doctor import doctor
from bridge.cli.explain import explain
from bridge.cli.export import export
from bridge.cli.impact import impact
from bridge.cli.options import EXIT_CONFLICT
from bridge.cli.search import search
from bridge.cli.show import show
from bridge.cli.transfer import import_events

#: What a full disk or a broken one says to who writes.
_UNWRITTEN = frozenset({errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG})
#: Exit codes beside 0 and 1, documented in docs/cli.md.
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_STORE = 4
EXIT_BAD_DATA = 7
EXIT_JOB = 8
EXIT_UNREADY = 9
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
app.add_typer(openmetadata.openmetadata, name="openmetadata")
dataset_orders.join(dataset.dataset)
app.add_typer(dataset.dataset, name="dataset")
app.add_typer(governance.governance, name="governance")
process_run.join(process.process)
process.process.command("list")(processes.processes)
process.process.command()(dag.dag)
app.add_typer(process.process, name="process")
app.add_typer(autosys.autosys, name="autosys")
app.add_typer(feed.feed, name="feed")
app.add_typer(marquez.marquez, name="marquez")
app.add_typer(sync.sync, name="sync")
app.add_typer(dead.dead, name="dead")
app.add_typer(verify.verify, name="verify")


def main() -> None:
    """Run the command; errors of ours are one line that names the thing, the place and the remedy."""
    from mappers.errors import (
        BadData,
        BadQuestion,
        BadSql,
        ConfigError,
        Conflict,
        JobFailed,
        LineageBridgeError,
        MissingPart,
        StorageFailure,
        TargetBusy,
        TargetLocked,
        Unreachable,
        Unready,
    )

    answer_shells()
    _prepare_output()
    try:
        _run()
    except LineageBridgeError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(
            EXIT_USAGE if isinstance(error, ConfigError | MissingPart | BadQuestion | BadSql)
            else EXIT_UNREACHABLE if isinstance(error, Unreachable | TargetBusy | TargetLocked)
            else EXIT_STORAGE if isinstance(error, StorageFailure)
            else EXIT_UNREADY if isinstance(error, Unready)
            else EXIT_CONFLICT if isinstance(error, Conflict)
            else EXIT_BAD_DATA if isinstance(error, BadData)
            else EXIT_JOB if isinstance(error, JobFailed)
            else EXIT_STORE
        )  # fmt: skip
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno not in _UNWRITTEN:
            raise
        typer.echo(f"error: the output cannot be written: {error.strerror}", err=True)
        _forget_output()
        sys.exit(1)


def _prepare_output() -> None:
    """Spell out what the terminal's encoding has no letters for, and write nowhere when there is no output."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it stays open till the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _run() -> None:
    """Run the command to its end, which is when its output is written."""
    try:
        app(prog_name=NAME)
    finally:
        sys.stdout.flush()


def _forget_output() -> None:
    """Let the interpreter not try again to write what cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
