"""`lineage-bridge spark check`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from connectors.spark.findings import Finding
    from connectors.spark.submit import Spark


def check(
    conf_file: Annotated[
        Path | None, typer.Argument(metavar="CONF", help="A spark-defaults.conf; without, what `spark conf` prints.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Where the service listens; without CONF only.")] = None,
    line: Annotated[
        str | None, typer.Option("--spark", help="Line of Spark; that of the PySpark here without.", metavar="LINE")
    ] = None,
    timeout: Annotated[float, typer.Option(help="How many seconds the job may take.", min=1)] = 120,
    no_job: Annotated[bool, typer.Option("--no-job", help="Look at the conf: ask no service, run no job.")] = False,
    spark_log: Annotated[Path | None, typer.Option(help="Keep what the job's driver says in this file.")] = None,
) -> None:
    """Check a conf: its keys and values, and whether the events of a small job arrive through it."""
    from connectors.spark.check import check_conf
    from connectors.spark.conf import DEFAULT_URL, Wanted, make_conf
    from connectors.spark.defaults import read_defaults
    from connectors.spark.lines import PINNED, find_line
    from connectors.spark.preflight import ask_services
    from connectors.spark.submit import find_spark
    from mappers.errors import ConfigError

    if conf_file and url:
        raise typer.BadParameter("a conf names its own: leave --url out")
    here = None if no_job else find_spark()
    meant = find_line(line or (here.version if here else PINNED))
    if here and find_line(here.version) != meant:
        raise ConfigError(f"PySpark is {here.version} here, no job can run on {meant.name}: check it with --no-job")
    given = read_defaults(conf_file) if conf_file else make_conf(Wanted(meant, url=url or DEFAULT_URL))
    findings = check_conf(given, meant)
    if here:
        findings += ask_services(given)
        _tell(findings)
        findings += _run(here, given, timeout, spark_log, findings)
    else:
        _tell(findings)
    matter = sum(finding.matters for finding in findings)
    well = "all is well" if here else "nothing to correct in the conf; neither the service nor a job was tried"
    typer.echo(f"{matter} finding(s) to correct" if matter else well)
    if matter:
        raise typer.Exit(1)


def _run(
    here: "Spark", given: dict[str, str], seconds: float, log: Path | None, told: "list[Finding]"
) -> "list[Finding]":
    """Run the job, tell what it adds to what was told, and give that."""
    import tempfile

    from connectors.spark.probe import probe

    typer.echo(f"running a job with PySpark {here.version}", err=True)
    with tempfile.TemporaryDirectory(prefix="lineage-bridge-") as name:
        folder = Path(name)
        probed = probe(here, given, folder, log.absolute() if log else folder / "driver.log", seconds)
    new = [finding for finding in probed.findings if finding not in told]
    _tell(new)
    places = "".join(f", {count} arrived at {key}" for key, count in probed.arrived.items())
    typer.echo(f"events: {probed.made} made{places}")
    return new


def _tell(findings: "list[Finding]") -> None:
    for finding in findings:
        typer.echo(f"{finding}")
