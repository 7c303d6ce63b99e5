"""The commands of `lineage-bridge process` that look at what a process needs, or run it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.escape import escape
from bridge.cli.options import Config, Output, Url, load, print_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.process.launch import Launch

File = Annotated[Path, typer.Argument(metavar="FILE", help="The process file.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", "-p", help="A parameter of the process.", metavar="NAME=VALUE")
]
Conf = Annotated[list[str] | None, typer.Option("--conf", help="Of Spark, as for spark-submit.", metavar="KEY=VALUE")]
Master = Annotated[str | None, typer.Option(help="Where Spark runs: local[4], spark://HOST:7077, yarn.")]
Lake = Annotated[str | None, typer.Option(help="Where datasets lie that are named by a word; else process.lake is.")]
Key = Annotated[str | None, typer.Option(help="What attempts at this run share; else it follows from what goes in.")]
Anew = Annotated[bool, typer.Option("--anew", help="Make a new version though nothing has changed.")]
Printed = Annotated[Output, typer.Option(help="For people, or one JSON object.")]
OperateKey = Annotated[
    str | None,
    typer.Option(
        help="The API key for --url, with the scopes ingest, read and operate; best given in the variable.",
        envvar="LINEAGE_BRIDGE_API_KEY",
    ),
]
RunId = Annotated[str | None, typer.Option(help="The id of the run; drawn without it.", hidden=True)]


def run(
    file: File,
    param: Params = None,
    master: Master = None,
    conf: Conf = None,
    lake: Lake = None,
    key: Key = None,
    anew: Anew = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing: show the plan, and Spark's own.")
    ] = False,
    output: Printed = Output.text,
    config: Config = None,
    url: Url = None,
    api_key: OperateKey = None,
    run_id: RunId = None,
) -> None:
    """Run a process: read, make, write, check, then publish all outputs or none."""
    import signal
    from contextlib import closing

    from bridge.bootstrap import open_link
    from bridge.cli.process_text import plan_lines, plan_told, ran_lines
    from bridge.process.launch import explained, run_process

    settings = load(config)
    launch = _launch(
        file, param, master, conf, lake or settings.process.lake, key, anew, settings.process.work, run_id
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(open_link(settings, url, api_key)) as link:
        if dry_run:
            plan, text = explained(launch, link)
            answer = {"plan": plan_told(plan), "spark": text}
            print_answer(answer, [*map(escape, plan_lines(plan)), "", text], as_json=output is Output.json)
            return
        ran = run_process(launch, link, _said)
    print_answer(ran, map(escape, ran_lines(ran)), as_json=output is Output.json)


def plan(
    file: File,
    param: Params = None,
    lake: Lake = None,
    key: Key = None,
    output: Printed = Output.text,
    config: Config = None,
    url: Url = None,
    api_key: OperateKey = None,
) -> None:
    """Show what a run would read and write, down to versions and places; Spark is not needed."""
    from contextlib import closing

    from bridge.bootstrap import open_link
    from bridge.cli.process_text import plan_lines, plan_told
    from bridge.process.launch import make_plan

    settings = load(config)
    launch = _launch(file, param, None, None, lake or settings.process.lake, key, False, settings.process.work, None)
    with closing(open_link(settings, url, api_key)) as link:
        made = make_plan(launch, link)
    print_answer(plan_told(made), map(escape, plan_lines(made)), as_json=output is Output.json)


def _launch(
    file: Path,
    params: "list[str] | None",
    master: str | None,
    conf: "list[str] | None",
    lake: str | None,
    key: str | None,
    anew: bool,
    work: str,
    run_id: str | None,
) -> "Launch":
    from bridge.process.definition import Definition
    from bridge.process.launch import Launch, check_parts, new_run_id
    from bridge.process.planning import Wanted
    from bridge.yaml_model import read_model

    check_parts()
    given = {"spark.ui.enabled": "false"} | ({"spark.master": master} if master else {}) | pairs(conf or (), "--conf")
    if lake is not None and "://" not in lake:
        lake = str(Path(lake).absolute())
    wanted = Wanted(
        read_model(file, Definition), file, pairs(params or (), "--param"), run_id or new_run_id(), lake, key, anew
    )
    return Launch(wanted, Path(work), given)


def pairs(words: "Sequence[str]", option: str) -> dict[str, str]:
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


def join(process: typer.Typer) -> None:
    """Add these commands to the others."""
    for command in (plan, run):
        process.command()(command)
