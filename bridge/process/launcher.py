"""Opens Spark, spool and backend for a run, and closes them afterwards."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.process.backend import ProcessBackend
from bridge.process.plan import Plan
from bridge.process.planner import Planner, RunRequest
from bridge.process.spool import STAGING, lock_spool, send_abandoned_spools, send_spool, spool_file
from connectors.errors import ConfigError, MissingDependency
from connectors.spark.conf import DEFAULT_WAREHOUSE, ListenerTransport
from connectors.spark.conf import ConfOptions as WantedConf
from connectors.spark.conf import ParentRun as ConfParent
from connectors.spark.file_system import FileSystems
from connectors.spark.releases import TableFormat, find_release
from connectors.spark.session import open_session, process_conf
from mappers.errors import LineageBridgeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bridge.process.run_events import ParentRun
    from bridge.process.runner import RunResult

ReportProgress = Callable[[str], None]
#: The run of a scheduler that starts a process: namespace/name/run.
PARENT_VARIABLE = "OPENLINEAGE_PARENT_ID"
_TABLES = {"delta": TableFormat.delta, "iceberg": TableFormat.iceberg}


class LaunchOptions(NamedTuple):
    """What is launched, and where."""

    wanted: RunRequest
    #: Where the spool and rows on their way into tables lie.
    work: Path
    conf: Mapping[str, str]

    @property
    def spool(self) -> Path:
        """Name the file of the listener's events."""
        return spool_file(self.work.absolute() / "spool", self.wanted.run_id)

    def spark_conf(self, version: str) -> dict[str, str]:
        """Make the conf of Spark: the listener tells of this run's actions, into the spool."""
        definition = self.wanted.definition
        process = definition.process
        places = [*definition.inputs, *definition.outputs]
        conf = WantedConf(
            find_release(version),
            ListenerTransport.file,
            location=str(self.spool),
            namespace=process.namespace,
            parent=ConfParent(process.namespace, process.name, self.wanted.run_id),
            warehouse=next(
                (one.namespace for one in places if one.format == "iceberg" and one.namespace), DEFAULT_WAREHOUSE
            ),
        )
        formats = {one.format for one in places}
        return process_conf(conf, [_TABLES[one] for one in sorted(formats & _TABLES.keys())], self.conf)


class LazySparkSession:
    """The session of Spark, which is started when it is first needed."""

    def __init__(self, name: str, conf: Callable[[str], Mapping[str, str]]) -> None:
        self._name = name
        self._conf = conf
        self._opened: SparkSession | None = None

    def __call__(self) -> "SparkSession":
        """Give the session."""
        if self._opened is None:
            self._opened = open_session(self._name, self._conf(spark_version()))
        return self._opened

    @property
    def is_open(self) -> bool:
        """Tell whether Spark was needed."""
        return self._opened is not None

    def close(self) -> None:
        """Stop Spark: only then has the listener told everything."""
        if self._opened is not None:
            self._opened.stop()
            self._opened = None


def process_session(launch: LaunchOptions) -> LazySparkSession:
    """Give the session of a process; its application is not called as the process, which is a job, too."""
    return LazySparkSession(f"{launch.wanted.definition.process.name}.spark", launch.spark_conf)


def utility_session() -> LazySparkSession:
    """Give a session that tells nobody anything: for files that this machine cannot reach by itself."""
    return LazySparkSession("lineage-bridge", lambda _: {"spark.ui.enabled": "false"})


def make_plan(launch: LaunchOptions, link: ProcessBackend) -> Plan:
    """Validate a process and resolve all that a run would read and write, without running it."""
    session = process_session(launch)
    try:
        return Planner(link, FileSystems(session), datetime.now(UTC)).plan(launch.wanted)
    finally:
        session.close()


def explain_plan(launch: LaunchOptions, link: ProcessBackend) -> tuple[Plan, str]:
    """Make the plan, and let Spark say how it would do it; nothing is written and nobody is told."""
    from bridge.process.executor import PlanExecutor

    session = process_session(launch)
    storage = FileSystems(session)
    try:
        plan = Planner(link, storage, datetime.now(UTC)).plan(launch.wanted)
        work = PlanExecutor(session(), storage, plan, "", datetime.now(UTC), lambda _: None)
        work.read()
        return plan, work.explain()
    finally:
        session.close()
        launch.spool.unlink(missing_ok=True)


def run_process(launch: LaunchOptions, link: ProcessBackend, report: ReportProgress) -> "RunResult":
    """Run a process; whatever comes of it, Spark is stopped, and what its listener told is sent."""
    require_process_extra()
    from bridge.process.runner import ProcessRunner

    session = process_session(launch)
    storage = FileSystems(session)
    spool = launch.spool
    with lock_spool(spool):
        if leftovers := send_abandoned_spools(link, spool.parent):
            report(f"sent what {leftovers} earlier runs had left")
        plan = Planner(link, storage, datetime.now(UTC)).plan(launch.wanted)
        staging = _staging(launch)
        try:
            return ProcessRunner(
                plan, link, storage, session, staging=staging, parent=parent_run_from_environment(), report=report
            ).run()
        finally:
            if session.is_open:
                _clear(storage, staging, plan)
            session.close()
            _send(link, spool, report)


def require_process_extra() -> None:
    """See that everything is installed; raises MissingPart."""
    try:
        import openlineage.client  # noqa: F401 - whether it is there is all that is asked
    except ImportError as error:
        raise MissingDependency(
            "there is no openlineage-python: install the extra: pip install 'lineage-bridge[process]'"
        ) from error


def spark_version() -> str:
    """Give the version of the PySpark that is installed; raises MissingPart."""
    try:
        import pyspark
    except ImportError as error:
        raise MissingDependency(
            "there is no PySpark: install the extra: pip install 'lineage-bridge[process]'"
        ) from error
    return pyspark.__version__


def parent_run_from_environment() -> "ParentRun | None":
    """Read which run starts this one, as schedulers tell it to what they start."""
    from bridge.process.run_events import ParentRun

    text = os.environ.get(PARENT_VARIABLE)
    if not text:
        return None
    namespace, _, rest = text.partition("/")
    name, _, run = rest.rpartition("/")
    if not (namespace and name and run):
        raise ConfigError(f"{PARENT_VARIABLE}={text[:200]} is not like namespace/name/run")
    return ParentRun(namespace, name, run)


def new_run_id() -> str:
    """Draw the id of a run; those of later runs are greater."""
    from openlineage.client.uuid import generate_new_uuid

    return str(generate_new_uuid())


def _staging(launch: LaunchOptions) -> str:
    lake = launch.wanted.definition.process.lake or launch.wanted.lake
    return f"{lake.rstrip('/')}/{STAGING}" if lake and "://" in lake else str(launch.work.absolute() / STAGING)


def _clear(storage: FileSystems, staging: str, plan: Plan) -> None:
    for one in {f"{staging}/{output.tag}" for output in plan.outputs}:
        storage.for_path(one).delete(one)


def _send(link: ProcessBackend, spool: Path, report: ReportProgress) -> None:
    """Send what the listener told; what cannot be sent stays, and the next run tries again."""
    try:
        for refused in send_spool(link, spool).refused:
            report(f"an event of the listener was not taken: {refused}")
    except LineageBridgeError as error:
        report(
            f"what the listener told stays in {spool} until the next run, or `lineage-bridge ingest {spool}`: {error}"
        )
