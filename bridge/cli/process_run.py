"""The commands of `lineage-bridge process` that look at what a process needs, or run it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, Url, accept_old_options, load_settings
from bridge.cli.output import OutputFormat, escape, print_result

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
Rerun = Annotated[bool, typer.Option("--rerun", help="Write a new version even if the inputs are unchanged.")]
OutputOption = Annotated[OutputFormat, typer.Option(help="For people, or one JSON object.")]
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
    """Run a process; publish all outputs if all checks pass, otherwise none."""
    import signal
    from contextlib import closing

    from bridge.bootstrap.process import open_process_backend
    from bridge.cli.process_text import plan_lines, plan_told, run_lines
    from bridge.process.launcher import explain_plan, run_process

    settings = load_settings(config)
    launch = _launch(
        file, param, master, conf, lake or settings.process.lake, key, rerun, settings.process.work, run_id
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(open_process_backend(settings, url, api_key)) as link:
        if dry_run:
            plan, text = explain_plan(launch, link)
            answer = {"plan": plan_told(plan), "spark": text}
            print_result(answer, [*map(escape, plan_lines(plan)), "", text], as_json=output is OutputFormat.json)
            return
        ran = run_process(launch, link, _said)
    print_result(ran, map(escape, run_lines(ran)), as_json=output is OutputFormat.json)


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
    from bridge.cli.process_text import plan_lines, plan_told
    from bridge.process.launcher import make_plan

    settings = load_settings(config)
    launch = _launch(file, param, None, None, lake or settings.process.lake, key, False, settings.process.work, None)
    with closing(open_process_backend(settings, url, api_key)) as link:
        made = make_plan(launch, link)
    print_result(plan_told(made), map(escape, plan_lines(made)), as_json=output is OutputFormat.json)


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
    launch = _launch(
        file, param, master, conf, lake or settings.process.lake, key, rerun, settings.process.work, None
    )
    words = [word for one in param or () for word in ("--param", one)]
    words += [word for one in config or () for word in ("--config", str(one))]
    words += ["--lake", launch.request.lake] if launch.request.lake else []
    words += [*(["--key", key] if key else []), *(["--rerun"] if rerun else []), *(["--url", url] if url else [])]
    command, variables = submit_command(launch, words, extra or ())
    if not start:
        typer.echo(format_shell_command(command, variables))
        return
    more = {"LINEAGE_BRIDGE_API_KEY": api_key} if api_key else {}
    os.execvpe(command[0], command, os.environ | variables | more)  # noqa: S606 - this machine's own spark-submit


def init(
    name: Annotated[str, typer.Argument(help="Process name, e.g. sales.daily")],
    file: Annotated[Path | None, typer.Option(help="File to create (default: ./NAME.yaml)")] = None,
) -> None:
    """Create a process file from a template."""
    from bridge.process.definition import ProcessDefinition
    from bridge.process.template import render_template
    from bridge.settings.yaml_model import read_model
    from connectors.errors import ConfigError

    place = file or Path(f"{name}.yaml")
    try:
        with place.open("x", encoding="utf-8") as opened:
            opened.write(render_template(name, str(place)))
    except FileExistsError as error:
        raise ConfigError(f"{place} is there already: name another with --file") from error
    except OSError as error:
        raise ConfigError(f"{place} cannot be written: {error.strerror}") from error
    try:
        read_model(place, ProcessDefinition)
    except ConfigError:
        place.unlink()
        raise
    typer.echo(f"{place}: look at inputs, steps and outputs, then `lineage-bridge process validate {place}`")


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
    """Delete files of versions that are not published, pinned, recent or referenced by those."""
    from contextlib import closing
    from datetime import UTC, datetime

    from bridge.bootstrap.process import open_process_backend
    from bridge.process.cleanup import RetentionPolicy, VersionCleaner
    from bridge.process.dataset_location import locate_dataset
    from bridge.process.launcher import utility_session
    from connectors.spark.file_system import FileSystems

    settings = load_settings(config)
    of = settings.process
    keeping = RetentionPolicy(keep or of.keep_versions, of.keep_days if days is None else days)
    addresses = [locate_dataset(one, None, "parquet", None, _absolute(lake or of.lake)) for one in datasets]
    with closing(open_process_backend(settings, url, api_key)) as link, closing(utility_session()) as session:
        cleaner = VersionCleaner(link, FileSystems(session), keeping, datetime.now(UTC))
        for one in addresses:
            cleaner.version_folders(one)  # a name that is wrong is told before anything is removed
        found = [cleaner.clean(one, dry_run=dry_run) for one in addresses]
    lines = [line for one in found for line in _cleanup_lines(one, dry=dry_run)]
    print_result({"datasets": found}, map(escape, lines), as_json=output is OutputFormat.json)


def _launch(
    file: Path,
    params: "list[str] | None",
    master: str | None,
    conf: "list[str] | None",
    lake: str | None,
    key: str | None,
    rerun: bool,
    work: str,
    run_id: str | None,
) -> "LaunchOptions":
    from bridge.process.definition import ProcessDefinition
    from bridge.process.launcher import LaunchOptions, new_run_id, require_process_extra
    from bridge.process.planner import RunRequest
    from bridge.settings.yaml_model import read_model

    require_process_extra()
    shown = "true" if sys.stderr.isatty() else "false"
    given = (
        {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": shown}
        | ({"spark.master": master} if master else {})
        | parse_key_values(conf or (), "--conf")
    )
    wanted = RunRequest(
        read_model(file, ProcessDefinition),
        file,
        parse_key_values(params or (), "--param"),
        run_id or new_run_id(),
        _absolute(lake),
        key,
        rerun,
    )
    return LaunchOptions(wanted, Path(work), given)


def _absolute(lake: str | None) -> str | None:
    """Give the lake as a path from / on, unless it lies elsewhere."""
    return lake if lake is None or "://" in lake else str(Path(lake).absolute())


def _cleanup_lines(one: "CleanupResult", *, dry: bool) -> "Iterator[str]":
    yield f"{one.dataset}: {len(one.removed)} {'would be removed' if dry else 'removed'}, {len(one.kept)} kept"
    for tag in one.removed:
        yield f"  removed  {tag}" if not dry else f"  would be removed  {tag}"
    for tag, reason in one.kept.items():
        yield f"  kept  {tag}  {reason}"


def parse_key_values(words: "Sequence[str]", option: str) -> dict[str, str]:
    """Read NAME=VALUE words."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"{option} {word}: write it as NAME=VALUE")
        found[name] = value
    return found


def _said(text: str) -> None:
    from datetime import datetime

    for line in text.splitlines():
        typer.echo(f"{datetime.now():%H:%M:%S} {escape(line)}", err=True)  # noqa: DTZ005 - for who watches, in their time


def add_commands(process: typer.Typer) -> None:
    """Add these commands to the others."""
    with_rerun = accept_old_options(anew="rerun")
    process.command()(plan)
    process.command(cls=with_rerun)(run)
    process.command(cls=with_rerun)(submit)
    process.command()(init)
    process.command()(clean)
