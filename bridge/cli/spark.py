"""`lineage-bridge spark`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, accept_old_options, load_settings
from bridge.cli.output import echo, escape
from connectors.spark.conf import (
    DEFAULT_LOCATION,
    DEFAULT_WAREHOUSE,
    ConfOptions,
    ListenerTransport,
    ParentRun,
    build_conf,
)
from connectors.spark.releases import DEFAULT_RELEASE, TableFormat, find_release
from mappers.counts import count_of

if TYPE_CHECKING:
    from connectors.spark.conf_problem import ConfProblem
    from connectors.spark.submit import ClusterSubmit, SparkInstallation

#: Listen addresses that mean every address of this machine.
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognized, not used
ScalaVersion = Annotated[
    str | None, typer.Option(help="Scala version of the Spark build, e.g. 2.13 for Spark 3.5", metavar="VERSION")
]


def check(
    conf_file: Annotated[
        Path | None,
        typer.Argument(metavar="CONF", help="spark-defaults.conf to check (default: output of `spark conf`)"),
    ] = None,
    url: Annotated[str | None, typer.Option(help="Service URL, without CONF (default: from the settings)")] = None,
    version_line: Annotated[
        str | None,
        typer.Option(
            "--spark-version",
            help="Spark version line (default: installed PySpark)",
            metavar="LINE",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Timeout of the job in seconds", min=1)] = 120,
    scala: ScalaVersion = None,
    submit: Annotated[
        Path | None, typer.Option(help="Run the job with this spark-submit, e.g. of the cluster (default: PySpark)")
    ] = None,
    no_job: Annotated[
        bool, typer.Option("--no-job", help="Check the configuration only; contact no service, run no job")
    ] = False,
    spark_log: Annotated[Path | None, typer.Option(help="Save the driver log to this file")] = None,
    config: Config = None,
) -> None:
    """Check a Spark configuration and verify that the events of a small job arrive."""
    from connectors.errors import ConfigError
    from connectors.spark.conf_check import check_conf
    from connectors.spark.conf_format import read_defaults
    from connectors.spark.log_diagnosis import transport_keys
    from connectors.spark.probe import check_services
    from connectors.spark.submit import ClusterSubmit

    if conf_file and url:
        raise typer.BadParameter("--url cannot be combined with CONF")
    if no_job and submit:
        raise typer.BadParameter("--submit cannot be combined with --no-job")
    installation = None if no_job else _find_installation(submit)
    installed_scala = installation.scala if isinstance(installation, ClusterSubmit) else None
    default_version = installation.version if installation else DEFAULT_RELEASE
    release = find_release(version_line or default_version, scala or installed_scala)
    if installation and find_release(installation.version).name != release.name:
        spark_text = f"{submit} is Spark" if submit else "the installed PySpark is"
        raise ConfigError(f"{spark_text} {installation.version} and cannot run a job on {release.name}: use --no-job")
    if conf_file:
        conf_values = read_defaults(conf_file)
    else:
        conf_values = build_conf(ConfOptions(release, url=url or _service_url(config)))
    findings = check_conf(conf_values, release)
    if installation:
        for key in transport_keys(conf_values, "http", "url"):
            echo(f"contacting {escape(conf_values[key].rpartition('@')[2])}", err=True)
        service_findings = list(check_services(conf_values))
        findings += service_findings
        _print_findings(findings)
        if service_findings and not transport_keys(conf_values, "file", "location"):
            echo(f"{count_of(sum(finding.is_error for finding in findings), 'problem')} to fix; no job was run")
            raise typer.Exit(1)
        findings += _run_probe(installation, conf_values, timeout, spark_log, findings)
    else:
        _print_findings(findings)
    error_count = sum(finding.is_error for finding in findings)
    if error_count:
        echo(f"{count_of(error_count, 'problem')} to fix")
        raise typer.Exit(1)
    if installation:
        echo("no problems found")
    else:
        echo("no problems in the configuration (service and job not tested)")


def _find_installation(submit: Path | None) -> "SparkInstallation | ClusterSubmit":
    from connectors.spark.submit import find_cluster_submit, find_spark

    return find_cluster_submit(submit) if submit else find_spark()


def _service_url(config: list[Path] | None) -> str:
    """Return the URL of the configured service, as seen from this machine unless `server.public_url` is set."""
    server = load_settings(config).server
    if server.public_url:
        return server.public_url
    host = "127.0.0.1" if server.host in _ANY_ADDRESS else server.host
    return f"http://{f'[{host}]' if ':' in host else host}:{server.port}"


def _run_probe(
    installation: "SparkInstallation | ClusterSubmit",
    conf_values: dict[str, str],
    timeout_seconds: float,
    log: Path | None,
    known_findings: "list[ConfProblem]",
) -> "list[ConfProblem]":
    """Run a job. Print and return the findings that were not known before."""
    import tempfile

    from connectors.spark.probe import probe

    echo(f"running a job with {installation.description}", err=True)
    with tempfile.TemporaryDirectory(prefix="lineage-bridge-") as folder_name:
        folder = Path(folder_name)
        log_file = log.absolute() if log else folder / "driver.log"
        result = probe(installation, conf_values, folder, log_file, timeout_seconds)
    new_findings = [finding for finding in result.problems if finding not in known_findings]
    _print_findings(new_findings)
    arrivals = "".join(f", {count} arrived at {key}" for key, count in result.received_counts.items())
    echo(f"events: {result.emitted_count} created{arrivals}")
    return new_findings


def _print_findings(findings: "list[ConfProblem]") -> None:
    for finding in findings:
        echo(str(finding))


spark = typer.Typer(
    name="spark", help="Generate and check the Spark configuration of the OpenLineage listener.", no_args_is_help=True
)
spark.command("check", cls=accept_old_options(spark="spark_version"))(check)


class ConfFormat(StrEnum):
    """Output formats of a configuration."""

    defaults = "defaults"
    flags = "flags"
    python = "python"


@spark.command("conf", cls=accept_old_options(spark="spark_version"))
def conf(
    transport: Annotated[
        ListenerTransport, typer.Option(help="http, file (read by `lineage-bridge tail`) or composite (both)")
    ] = ListenerTransport.http,
    version_line: Annotated[
        str | None,
        typer.Option(
            "--spark-version",
            help="Spark version line, e.g. 4.1 (default: the newest that supports all table formats)",
            metavar="LINE",
        ),
    ] = None,
    scala: ScalaVersion = None,
    catalog: Annotated[TableFormat | None, typer.Option(help="Also configure this table format")] = None,
    url: Annotated[
        str | None, typer.Option(help="Service URL (default: server.public_url, else server.host and server.port)")
    ] = None,
    location: Annotated[str | None, typer.Option(help=f"Event file (default: {DEFAULT_LOCATION})")] = None,
    namespace: Annotated[str, typer.Option(help="Job namespace")] = "spark",
    parent: Annotated[
        tuple[str, str, str] | None,
        typer.Option(help="Parent run", metavar="NAMESPACE NAME RUN_ID"),
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(help="File with an API key; the key appears in the output")
    ] = None,
    warehouse: Annotated[str | None, typer.Option(help="Iceberg warehouse path (default: warehouse)")] = None,
    output: Annotated[
        ConfFormat, typer.Option("--as", help="Format: spark-defaults.conf, --conf flags or a Python dict")
    ] = ConfFormat.defaults,
    write: Annotated[Path | None, typer.Option(help="Write to this file (mode 0600)")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file")] = False,
    config: Config = None,
) -> None:
    """Print a validated Spark configuration for the listener."""
    unused_options = [
        option
        for option, value, is_used in (
            ("--url", url, transport is not ListenerTransport.file),
            ("--api-key-file", api_key_file, transport is not ListenerTransport.file),
            ("--location", location, transport is not ListenerTransport.http),
            ("--warehouse", warehouse, catalog is TableFormat.iceberg),
        )
        if value is not None and not is_used
    ]
    if unused_options:
        raise typer.BadParameter(f"{', '.join(unused_options)} has no effect with this --transport or --catalog")
    options = ConfOptions(
        release=find_release(version_line or DEFAULT_RELEASE, scala),
        transport=transport,
        url=url or _service_url(config),
        location=location or DEFAULT_LOCATION,
        namespace=namespace,
        api_key=_read_api_key(api_key_file) if api_key_file else None,
        parent=ParentRun(*parent) if parent else None,
        catalog=catalog,
        warehouse=warehouse or DEFAULT_WAREHOUSE,
    )
    text = _conf_text(options, output)
    if write is None:
        typer.echo(text, nl=False)
        return
    _write_private_file(write, text, overwrite=force)
    echo(f"wrote {write}", err=True)


def _conf_text(options: ConfOptions, output: ConfFormat) -> str:
    """Build and format a configuration. Raises ConfigError if the configuration would not work."""
    from connectors.errors import ConfigError
    from connectors.spark.conf_check import check_conf
    from connectors.spark.conf_format import format_defaults, format_flags, format_python

    conf_values = build_conf(options)
    if errors := [str(finding) for finding in check_conf(conf_values, options.release) if finding.is_error]:
        raise ConfigError("\n".join(errors).removeprefix("error: "))
    formatters = {
        ConfFormat.defaults: format_defaults,
        ConfFormat.flags: format_flags,
        ConfFormat.python: format_python,
    }
    return formatters[output](conf_values)


def _read_api_key(path: Path) -> str:
    """Read an API key. Raises ConfigError if the file does not consist of a single key."""
    from connectors.errors import ConfigError

    try:
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the API key in {path}: {error}") from error
    if not key:
        raise ConfigError(f"{path} contains no API key: it must contain only the key")
    if len(key.split()) > 1:
        raise ConfigError(f"{path} contains more than an API key: it must contain only the key")
    return key


def _write_private_file(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a file that only its owner can read, because it may contain a key."""
    import os

    from connectors.errors import ConfigError

    try:
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if overwrite else os.O_EXCL)
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
    except FileExistsError as error:
        raise ConfigError(f"{path} already exists: choose another path, or overwrite it with --force") from error
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error
