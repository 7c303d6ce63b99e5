"""The `lineage-bridge` command; subcommands import heavy modules only when they run."""

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
    dataset_write,
    dead,
    doctor,
    events,
    feed,
    governance,
    ingest,
    keys,
    lineage,
    marquez,
    process,
    process_run,
    rejected,
    runs,
    schema,
    service,
    spark,
    sync,
    tail,
    verify,
)
from bridge.cli.command_groups import GroupedCommands
from bridge.cli.completion import NAME, completion, handle_completion_request
from bridge.cli.explain import explain
from bridge.cli.export import export
from bridge.cli.impact import impact
from bridge.cli.import_events import import_events
from bridge.cli.options import EXIT_CONFLICT, EXIT_USAGE, accept_old_options
from bridge.cli.output import echo
from bridge.cli.redact import redact
from bridge.cli.search import search
from bridge.cli.show import show

#: Errors of writing to a full or failing disk.
_WRITE_ERRORS = frozenset({errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG})
#: Exit codes other than 0 and 1, documented in docs/guides/command-line.md.
EXIT_UNREACHABLE = 3
EXIT_STORE = 4
EXIT_BAD_DATA = 7
EXIT_JOB = 8
EXIT_UNREADY = 9
EXIT_DAMAGED = 65
EXIT_STORAGE = 74

app = typer.Typer(
    name=NAME,
    cls=GroupedCommands,
    help="Store OpenLineage events durably, answer lineage questions, and keep OpenMetadata and Marquez in sync.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command()(service.serve)
app.command()(service.version)
app.command()(completion)
app.command(cls=accept_old_options(again="restart"))(ingest.ingest)
app.command()(tail.tail)
app.command()(redact)
app.add_typer(rejected.rejected, name="rejected")
app.command()(show)
app.command(cls=accept_old_options(most="max_edges"))(lineage.lineage)
app.command()(runs.runs)
app.command(cls=accept_old_options(most="max_edges"))(impact)
app.command()(explain)
app.command()(events.events)
app.command()(search)
app.command()(export)
app.command("import")(import_events)
app.add_typer(schema.schema, name="schema")
app.command()(doctor.doctor)
app.add_typer(config.config, name="config")
app.add_typer(keys.keys, name="keys")
app.add_typer(spark.spark, name="spark")
app.add_typer(doctor.openmetadata, name="openmetadata")
dataset_write.add_commands(dataset.dataset)
app.add_typer(dataset.dataset, name="dataset")
app.add_typer(governance.governance, name="governance")
process_run.add_commands(process.process)
process.process.command("list")(process.processes)
process.process.command(cls=accept_old_options(most="max_dependencies"))(dag.dag)
app.add_typer(process.process, name="process")
app.add_typer(autosys.autosys, name="autosys")
app.add_typer(feed.feed, name="feed")
app.add_typer(marquez.marquez, name="marquez")
app.add_typer(sync.sync, name="sync")
app.add_typer(dead.dead, name="dead")
app.add_typer(verify.verify, name="verify")


def main() -> None:
    """Run the command. Expected errors become one line and an exit code."""
    from bridge.errors import (
        DamagedStore,
        InvalidParameter,
        JobFailed,
        ProcessNotReady,
        StateConflict,
        StorageFailure,
    )
    from connectors.errors import (
        ConfigError,
        InvalidData,
        MissingDependency,
        TargetMisconfigured,
        TargetUnavailable,
        Unreachable,
    )
    from mappers.errors import InvalidSql, LineageBridgeError

    handle_completion_request()
    _configure_stdout()
    try:
        _run_app()
    except LineageBridgeError as error:
        echo(f"error: {error}", err=True, color="red")
        exit_codes = {
            (ConfigError, MissingDependency, InvalidParameter, InvalidSql): EXIT_USAGE,
            (Unreachable, TargetUnavailable, TargetMisconfigured): EXIT_UNREACHABLE,
            (DamagedStore,): EXIT_DAMAGED,
            (StorageFailure,): EXIT_STORAGE,
            (ProcessNotReady,): EXIT_UNREADY,
            (StateConflict,): EXIT_CONFLICT,
            (InvalidData,): EXIT_BAD_DATA,
            (JobFailed,): EXIT_JOB,
        }
        matching_codes = (code for types, code in exit_codes.items() if isinstance(error, types))
        sys.exit(next(matching_codes, EXIT_STORE))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno not in _WRITE_ERRORS:
            raise
        echo(f"error: cannot write the output: {error.strerror}", err=True)
        _discard_stdout()
        sys.exit(1)


def _configure_stdout() -> None:
    """Escape characters that the terminal cannot encode. Without stdout, write to the null device."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it stays open until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _run_app() -> None:
    """Run the command and flush stdout here, so that `main` handles write errors."""
    try:
        app(prog_name=NAME)
    finally:
        sys.stdout.flush()


def _discard_stdout() -> None:
    """Redirect stdout to the null device, so that the flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
