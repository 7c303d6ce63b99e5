"""Output of `process list` and `process dag`."""

import pytest

from bridge.store.database import Database
from bridge.versions.registry import VersionRegistry
from tests.commands import RunCli
from tests.factories import dataset, facet, job_event, micros, run_event

HOSTILE = "load\n]"
EVENTS = (
    run_event("START", 1, run=1, job=HOSTILE, inputs=[dataset("raw")]),
    run_event(second=2, run=1, job=HOSTILE, inputs=[dataset("raw")], outputs=[dataset("trades")]),
    run_event("FAIL", 5, run=2, job="positions", inputs=[dataset("trades"), dataset("limits")], outputs=[dataset("positions")]),
    run_event(second=6, run=3, job="limits", inputs=[dataset("positions")], outputs=[dataset("limits")]),
    job_event(7, job="report", inputs=[dataset("positions")]),
)  # fmt: skip
LIST = """\
VERSION     TRIGGER    LAST RUN    ENDED (UTC)          OWNER                     PROCESS
1           -          never                            -                         jobs new
spring      HYBRID     FAILED      2026-01-01 00:00:05  desk@company.com          jobs positions
"""
LEVELS = """\
5 processes, 4 dependencies
level 1
  jobs load\\n]
  jobs new   version 1
level 2
  jobs limits
    waits for jobs positions: db positions
  jobs positions   version spring
    waits for jobs limits: db limits
    waits for jobs load\\n]: db trades
level 3
  jobs report
    waits for jobs positions: db positions (declared only)
cycle: jobs limits, jobs positions
no known producer of db raw (read by jobs load\\n])
"""
MERMAID = """\
flowchart LR
  n0["jobs limits"]
  n1["jobs load#92;n#93;"]
  n2["jobs new"]
  n3["jobs positions"]
  n4["jobs report"]
  n0 -- "db limits" --> n3
  n1 -- "db trades" --> n3
  n3 -- "db positions" --> n0
  n3 -- "db positions" --> n4
"""
DOT = r"""digraph lineage {
  rankdir=LR; node [shape=box];
  n0 [label="jobs limits"];
  n1 [label="jobs load\\n]"];
  n2 [label="jobs new"];
  n3 [label="jobs positions"];
  n4 [label="jobs report"];
  n0 -> n3 [label="db limits"];
  n1 -> n3 [label="db trades"];
  n3 -> n0 [label="db positions"];
  n3 -> n4 [label="db positions"];
}
"""


def register_definitions(db: Database) -> None:
    registry = VersionRegistry(db, "default", lambda: micros(59))
    definition = {"process": {"owner": "desk@company.com", "trigger_mode": "HYBRID"}}
    with registry.transaction():
        registry.definitions.register("process", "jobs", "positions", definition, "ann", version="spring")
        registry.definitions.register("process", "jobs", "new", {}, "ann")


def sorted_lines(text: str) -> list[str]:
    """Sort lines: arrows are printed in the order of ids."""
    return sorted(text.splitlines())


def test_list_prints_registered_processes(run_cli: RunCli) -> None:
    result = run_cli("process list", *EVENTS, prepare=register_definitions)
    assert (result.exit_code, result.stdout) == (0, LIST)
    assert (
        run_cli("process list --limit 1", *EVENTS, prepare=register_definitions).stdout.splitlines()[-1]
        == "… results truncated: raise --limit"
    )


def test_list_without_registered_processes(run_cli: RunCli) -> None:
    result = run_cli("process list", *EVENTS)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no registered processes\n")


def test_dag_prints_processes_in_execution_order(run_cli: RunCli) -> None:
    result = run_cli("process dag", *EVENTS, prepare=register_definitions)
    assert (result.exit_code, result.stdout) == (0, LEVELS)


@pytest.mark.parametrize(("form", "text"), [("mermaid", MERMAID), ("dot", DOT)])
def test_diagram_output(run_cli: RunCli, form: str, text: str) -> None:
    assert sorted_lines(
        run_cli(f"process dag --output {form}", *EVENTS, prepare=register_definitions).stdout
    ) == sorted_lines(text)


def test_dag_reports_truncation(run_cli: RunCli) -> None:
    lines = run_cli("process dag --max-dependencies 1", *EVENTS, prepare=register_definitions).stdout.splitlines()
    assert (lines[0], lines[-1]) == ("5 processes, 1 dependency", "… results truncated: raise --max-dependencies")


def test_dag_of_unknown_namespace_is_empty(run_cli: RunCli) -> None:
    result = run_cli("process dag --namespace nobody", *EVENTS)
    note = "no process in namespace 'nobody'; without --namespace, all processes are shown\n"
    assert (result.stdout, result.stderr) == ("0 processes, 0 dependencies\n", note)


def test_dependency_on_a_process_is_one_line(run_cli: RunCli) -> None:
    waits = {
        "job": {"namespace": "jobs", "name": "load"}, "dependency_type": "CONDITION", "status_trigger_rule": "SUCCESS",
        "sequence_trigger_rule": "FINISH_TO_START",
    }  # fmt: skip
    load = run_event(second=1, outputs=[dataset("b"), dataset("a")], job="load")
    report = run_event(
        second=2, run=2, job="report", inputs=[dataset("a"), dataset("b")],
        job_facets={"lineageBridge_jobDependencies": facet(upstream=[waits])},
    )  # fmt: skip
    lines = run_cli("process dag", load, report).stdout.splitlines()
    assert [line for line in lines if "waits" in line] == ["    waits for jobs load: db a, db b, declared (SUCCESS)"]
