"""The `lineage-bridge process` commands plan, run, submit and clean."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, Url, accept_old_options, load_settings
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.process.cleanup import CleanupResult
    from bridge.process.launcher import LaunchOptions

File = Annotated[Path, typer.Argument(metavar="FILE", help="Process file")]
Params = Annotated[
    list[str] | None, typer.Option("--param", "-p", help="Process parameter; repeatable", metavar="NAME=VALUE")
]
Conf = Annotated[list[str] | None, typer.Option("--conf", help="Spark property; repeatable", metavar="KEY=VALUE")]
Master = Annotated[str | None, typer.Option(help="Spark master, e.g. local[4], spark://HOST:7077, yarn")]
Lake = Annotated[str | None, typer.Option(help="Base path for bare dataset names (default: process.lake)")]
Key = Annotated[
    str | None,
    typer.Option(help="Idempotency key of the run (default: derived from definition, parameters and input versions)"),
]
Rerun = Annotated[bool, typer.Option("--rerun", help="Create a new version even if nothing has changed")]
OperateKey = Annotated[
    str | None,
    typer.Option(
        help="API key for --url (scopes: ingest, read, operate); prefer the environment variable",
        envvar="LINEAGE_BRIDGE_API_KEY",
    ),
]
RunId = Annotated[str | None, typer.Option(help="Run id (default: generated)", hidden=True)]


def run(
    file: File,
    param: Params = None,
    master: Master = None,
    conf: Conf = None,
    lake: Lake = None,
    key: Key = None,
    rerun: Rerun = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan and Spark's query plan without writing")
    ] = False,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: OperateKey = None,
    run_id: RunId = None,
) -> None:
    """Run a process; publish all outputs if all checks pass, otherwise publish nothing."""
    import signal
    from contextlib import closing

    from bridge.bootstrap.process import open_process_backend
    from bridge.cli.process_text import plan_json, plan_lines, run_lines
    from bridge.process.launcher import explain_plan, run_process

    settings = load_settings(config)
    options = _launch_options(
        file,
        param,
        master=master,
        conf=conf,
        lake=lake or settings.process.lake,
        key=key,
        rerun=rerun,
        work=settings.process.work,
        run_id=run_id,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(open_process_backend(settings, url, api_key)) as backend:
        if dry_run:
            plan, query_plan = explain_plan(options, backend)
            answer = {"plan": plan_json(plan), "spark": query_plan}
            print_result(
                answer, [*map(escape, plan_lines(plan)), "", query_plan], as_json=output is OutputFormat.json
            )
            return
        result = run_process(options, backend, _print_progress)
    print_result(result, map(escape, run_lines(result)), as_json=output is OutputFormat.json)


def plan(
    file: File,
    param: Params = None,
    lake: Lake = None,
    key: Key = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: OperateKey = None,
) -> None:
    """Show what a run would read and write, with versions and locations (without Spark)."""
    from contextlib import closing

    from bridge.bootstrap.process import open_process_backend
    from bridge.cli.process_text import plan_json, plan_lines
    from bridge.process.launcher import make_plan

    settings = load_settings(config)
    options = _launch_options(
        file,
        param,
        master=None,
        conf=None,
        lake=lake or settings.process.lake,
        key=key,
        rerun=False,
        work=settings.process.work,
        run_id=None,
    )
    with closing(open_process_backend(settings, url, api_key)) as backend:
        plan = make_plan(options, backend)
    print_result(plan_json(plan), map(escape, plan_lines(plan)), as_json=output is OutputFormat.json)


def submit(
    file: File,
    extra: Annotated[
        list[str] | None,
        typer.Argument(help="Options for spark-submit, after --", metavar="[-- OPTION...]"),
    ] = None,
    param: Params = None,
    master: Master = None,
    conf: Conf = None,
    lake: Lake = None,
    key: Key = None,
    rerun: Rerun = False,
    start: Annotated[bool, typer.Option("--start", help="Run the command instead of printing it")] = False,
    config: Config = None,
    url: Url = None,
    api_key: OperateKey = None,
) -> None:
    """Print or start the spark-submit command of a process."""
    import os

    from bridge.process.spark_submit import format_shell_command, submit_command

    settings = load_settings(config)
    options = _launch_options(
        file,
        param,
        master=master,
        conf=conf,
        lake=lake or settings.process.lake,
        key=key,
        rerun=rerun,
        work=settings.process.work,
        run_id=None,
    )
    process_args = []
    for name_and_value in param or ():
        process_args += ["--param", name_and_value]
    for path in config or ():
        process_args += ["--config", str(path)]
    for option, value in (("--lake", options.request.lake), ("--key", key), ("--url", url)):
        if value:
            process_args += [option, value]
    if rerun:
        process_args.append("--rerun")
    command, variables = submit_command(options, process_args, extra or ())
    if not start:
        echo(format_shell_command(command, variables))
        return
    secrets = {"LINEAGE_BRIDGE_API_KEY": api_key} if api_key else {}
    executable, *_ = command
    os.execvpe(executable, command, os.environ | variables | secrets)  # noqa: S606 - this machine's own spark-submit


def clean(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASET...", help="Datasets: bare names below the lake, or paths")
    ],
    keep: Annotated[
        int | None, typer.Option(min=1, help="Number of valid versions to keep (default: process.keep_versions)")
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(min=0, help="Keep versions younger than this many days (default: process.keep_days)"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted")] = False,
    lake: Lake = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: OperateKey = None,
) -> None:
    """Delete files of old versions that are neither published nor pinned, and not used by a retained version."""
    from contextlib import closing
    from datetime import UTC, datetime

    from bridge.bootstrap.process import open_process_backend
    from bridge.process.cleanup import RetentionPolicy, VersionCleaner
    from bridge.process.dataset_location import locate_dataset
    from bridge.process.launcher import utility_session
    from connectors.spark.file_system import FileSystems

    settings = load_settings(config)
    process_settings = settings.process
    retention = RetentionPolicy(
        keep or process_settings.keep_versions, process_settings.keep_days if days is None else days
    )
    absolute_lake = _absolute_lake(lake or process_settings.lake)
    locations = [locate_dataset(dataset, None, "parquet", None, absolute_lake) for dataset in datasets]
    with closing(open_process_backend(settings, url, api_key)) as backend, closing(utility_session()) as session:
        cleaner = VersionCleaner(backend, FileSystems(session), retention, datetime.now(UTC))
        for location in locations:
            cleaner.version_folders(location)  # reports an invalid name before anything is removed
        results = [cleaner.clean(location, dry_run=dry_run) for location in locations]
    lines = [line for result in results for line in _cleanup_lines(result, dry_run=dry_run)]
    print_result({"datasets": results}, map(escape, lines), as_json=output is OutputFormat.json)


def _launch_options(
    file: Path,
    params: "list[str] | None",
    *,
    master: str | None,
    conf: "list[str] | None",
    lake: str | None,
    key: str | None,
    rerun: bool,
    work: str,
    run_id: str | None,
) -> "LaunchOptions":
    """Combine a process file, command-line options and settings."""
    from bridge.process.definition import ProcessDefinition
    from bridge.process.launcher import LaunchOptions, new_run_id, require_process_extra
    from bridge.process.planner import RunRequest
    from bridge.settings.yaml_model import read_model

    require_process_extra()
    show_progress = "true" if sys.stderr.isatty() else "false"
    conf_values = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": show_progress}
    if master:
        conf_values["spark.master"] = master
    conf_values |= parse_key_values(conf or (), "--conf")
    request = RunRequest(
        read_model(file, ProcessDefinition),
        file,
        parse_key_values(params or (), "--param"),
        run_id or new_run_id(),
        _absolute_lake(lake),
        key,
        rerun,
    )
    return LaunchOptions(request, Path(work), conf_values)


def _absolute_lake(lake: str | None) -> str | None:
    """Make a local path absolute. A URL remains unchanged."""
    if lake is None or "://" in lake:
        return lake
    return str(Path(lake).absolute())


def _cleanup_lines(result: "CleanupResult", *, dry_run: bool) -> "Iterator[str]":
    action = "would be removed" if dry_run else "removed"
    yield f"{result.dataset}: {len(result.removed)} {action}, {len(result.kept)} kept"
    for tag in result.removed:
        yield f"  {action}  {tag}"
    for tag, reason in result.kept.items():
        yield f"  kept  {tag}  {reason}"


def parse_key_values(args: "Sequence[str]", option: str) -> dict[str, str]:
    """Parse arguments of the form NAME=VALUE. `option` is named in errors."""
    values_by_name = {}
    for arg in args:
        name, equals, value = arg.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"{option} {arg}: expected NAME=VALUE")
        values_by_name[name] = value
    return values_by_name


def _print_progress(message: str) -> None:
    from datetime import datetime

    for line in message.splitlines():
        echo(f"{datetime.now():%H:%M:%S} {escape(line)}", err=True)  # noqa: DTZ005 - local time, for the user who watches


def add_commands(process: typer.Typer) -> None:
    """Add the commands that plan, run and clean."""
    command_class = accept_old_options(anew="rerun")
    process.command()(plan)
    process.command(cls=command_class)(run)
    process.command(cls=command_class)(submit)
    process.command()(clean)
