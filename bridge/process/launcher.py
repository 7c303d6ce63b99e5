"""Opens Spark, spool and backend for a run, and closes them afterwards."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import JobFailed
from bridge.process.backend import ProcessBackend
from bridge.process.plan import Plan
from bridge.process.planner import Planner, RunRequest
from bridge.process.spool import STAGING, lock_spool, send_abandoned_spools, send_spool, spool_file
from connectors.errors import ConfigError, MissingDependency
from connectors.spark.conf import DEFAULT_WAREHOUSE, ListenerTransport
from connectors.spark.conf import ConfOptions as ListenerConf
from connectors.spark.conf import ParentRun as ListenerParent
from connectors.spark.file_system import FileSystems
from connectors.spark.releases import TableFormat, find_release
from connectors.spark.session import log_query_errors, open_session, process_conf
from mappers.counts import count_of
from mappers.errors import LineageBridgeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bridge.process.run_events import ParentRun
    from bridge.process.runner import RunResult

ReportProgress = Callable[[str], None]
#: Parent run, set by schedulers: namespace/name/run.
PARENT_VARIABLE = "OPENLINEAGE_PARENT_ID"
_TABLE_FORMATS = {"delta": TableFormat.delta, "iceberg": TableFormat.iceberg}


class LaunchOptions(NamedTuple):
    """What to run, and the local work folder."""

    request: RunRequest
    #: Folder of the spool and of staged rows.
    work_folder: Path
    conf: Mapping[str, str]

    @property
    def spool(self) -> Path:
        """File to which the listener writes its events."""
        return spool_file(self.work_folder.absolute() / "spool", self.request.run_id)

    @property
    def error_log(self) -> Path:
        """File with the stack traces of failed queries."""
        return self.work_folder.absolute() / f"spark-errors-{self.request.run_id}.log"

    def spark_conf(self, version: str) -> dict[str, str]:
        """Return the Spark conf with which the listener writes the actions of this run into the spool."""
        definition = self.request.definition
        process = definition.process
        datasets = [*definition.inputs, *definition.outputs]
        namespaces = [dataset.namespace for dataset in datasets if dataset.format == "iceberg"]
        warehouse = next((namespace for namespace in namespaces if namespace), DEFAULT_WAREHOUSE)
        conf = ListenerConf(
            find_release(version),
            ListenerTransport.file,
            location=str(self.spool),
            namespace=process.namespace,
            parent=ListenerParent(process.namespace, process.name, self.request.run_id),
            warehouse=warehouse,
        )
        table_formats = sorted({dataset.format for dataset in datasets} & _TABLE_FORMATS.keys())
        return process_conf(conf, [_TABLE_FORMATS[name] for name in table_formats], self.conf)


class LazySparkSession:
    """A Spark session that starts when it is first needed."""

    def __init__(self, name: str, conf_for_version: Callable[[str], Mapping[str, str]]) -> None:
        self._name = name
        self._conf_for_version = conf_for_version
        self._session: SparkSession | None = None

    def __call__(self) -> "SparkSession":
        if self._session is None:
            self._session = open_session(self._name, self._conf_for_version(spark_version()))
        return self._session

    @property
    def is_open(self) -> bool:
        return self._session is not None

    def close(self) -> None:
        """Stop Spark, after which the listener has written all events."""
        if self._session is not None:
            self._session.stop()
            self._session = None


def process_session(options: LaunchOptions) -> LazySparkSession:
    """Return the Spark session of a process, which starts when it is first needed.

    The application name has a suffix, because application and process are separate OpenLineage jobs.
    """
    return LazySparkSession(f"{options.request.definition.process.name}.spark", options.spark_conf)


def utility_session() -> LazySparkSession:
    """Return a session without a listener, for files that can only be read through Hadoop."""
    return LazySparkSession("lineage-bridge", lambda _: {"spark.ui.enabled": "false"})


def make_plan(options: LaunchOptions, backend: ProcessBackend) -> Plan:
    """Validate a process and resolve everything that a run would read and write."""
    session = process_session(options)
    try:
        return Planner(backend, FileSystems(session), datetime.now(UTC)).plan(options.request)
    finally:
        session.close()


def explain_plan(options: LaunchOptions, backend: ProcessBackend) -> tuple[Plan, str]:
    """Plan a run, and return the plan with Spark's query plans. Nothing is written, and no events are sent."""
    from bridge.process.executor import PlanExecutor

    session = process_session(options)
    file_systems = FileSystems(session)
    try:
        plan = Planner(backend, file_systems, datetime.now(UTC)).plan(options.request)
        executor = PlanExecutor(session(), file_systems, plan, "", datetime.now(UTC), lambda _: None)
        executor.read()
        return plan, executor.explain()
    finally:
        session.close()
        options.spool.unlink(missing_ok=True)


def run_process(options: LaunchOptions, backend: ProcessBackend, report: ReportProgress) -> "RunResult":
    """Run a process. Afterwards, even if the run failed, stop Spark and send the listener's events."""
    require_process_extra()
    from bridge.process.runner import ProcessRunner

    session = process_session(options)
    file_systems = FileSystems(session)
    spool = options.spool
    with lock_spool(spool):
        if recovered_count := send_abandoned_spools(backend, spool.parent):
            report(f"sent leftover events of {count_of(recovered_count, 'earlier run')}")
        plan = Planner(backend, file_systems, datetime.now(UTC)).plan(options.request)
        staging = _staging_folder(options)
        try:
            runner = ProcessRunner(
                plan,
                backend,
                file_systems,
                session,
                staging=staging,
                parent=parent_run_from_environment(),
                report=report,
            )
            with log_query_errors(options.error_log):
                return runner.run()
        except JobFailed:
            if options.error_log.exists():
                report(f"Spark's stack trace is in {options.error_log}")
            raise
        finally:
            if session.is_open:
                _clear_staging(file_systems, staging, plan)
            session.close()
            if plan.all_outputs_exist:
                spool.unlink(missing_ok=True)  # Spark only read data, and there is no run for its events
            else:
                _send_listener_events(backend, spool, report)


def require_process_extra() -> None:
    """Raise MissingDependency if a dependency of the process framework is not installed."""
    try:
        import openlineage.client  # noqa: F401 - only its presence matters
    except ImportError as error:
        raise MissingDependency(
            "openlineage-python is not installed: install the extra: pip install 'lineage-bridge[process]'"
        ) from error


def spark_version() -> str:
    """Return the version of the installed PySpark. Raises MissingDependency if there is none."""
    try:
        import pyspark
    except ImportError as error:
        raise MissingDependency(
            "PySpark is not installed: install the extra: pip install 'lineage-bridge[process]'"
        ) from error
    return pyspark.__version__


def parent_run_from_environment() -> "ParentRun | None":
    """Return the parent run that a scheduler passed in the environment, if any."""
    from bridge.process.run_events import ParentRun

    parent_id = os.environ.get(PARENT_VARIABLE)
    if not parent_id:
        return None
    namespace, _, name_and_run = parent_id.partition("/")
    name, _, run = name_and_run.rpartition("/")
    if not (namespace and name and run):
        raise ConfigError(f"{PARENT_VARIABLE}={parent_id[:200]} does not have the form namespace/name/run")
    return ParentRun(namespace, name, run)


def new_run_id() -> str:
    """Generate a time-ordered run id."""
    from openlineage.client.uuid import generate_new_uuid

    return str(generate_new_uuid())


def _staging_folder(options: LaunchOptions) -> str:
    """Return the folder of staged rows: next to the data if the lake is remote, otherwise in the work folder."""
    lake = options.request.definition.process.lake or options.request.lake
    if lake and "://" in lake:
        return f"{lake.rstrip('/')}/{STAGING}"
    return str(options.work_folder.absolute() / STAGING)


def _clear_staging(file_systems: FileSystems, staging: str, plan: Plan) -> None:
    """Delete the rows that this run staged."""
    for folder in {f"{staging}/{output.tag}" for output in plan.outputs}:
        file_systems.for_path(folder).delete(folder)


def _send_listener_events(backend: ProcessBackend, spool: Path, report: ReportProgress) -> None:
    """Send the listener's events. Events that cannot be sent remain in the spool for the next run."""
    try:
        for reason in send_spool(backend, spool).rejected:
            report(f"a listener event was rejected: {reason}")
    except LineageBridgeError as error:
        report(
            f"unsent listener events remain in {spool} until the next run or `lineage-bridge ingest {spool}`: {error}"
        )
