"""What a test lets be told of moments, what a person sees of it, and how it may be broken."""

from typing import Any

from tests.factories import columns, dataset, facet, field, job_event, lifecycle, run_event, schema, transformation
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person

Json = dict[str, Any]
A, T, JOB = "warehouse.d.s.a", "warehouse.d.s.t", "runs.job"
ROWS, NOT_NULL = f"{T}.rows", f"{T}.k.not_null"


def checked(
    second: float,
    run: int = 1,
    kind: str = "COMPLETE",
    *,
    name: str = "t",
    rows: int = 3,
    of: str = "k",
    sql: str = "1",
) -> Json:
    """A run of `job` that makes t of a, checks and measures it."""
    checks = [{"assertion": "rows", "success": True}, {"assertion": "not_null", "success": True, "column": "k"}]
    written = dataset(
        name,
        schema=schema("k", "v"),
        columnLineage=columns({of: [field("a", "k", transformation())]}),
        dataQualityAssertions=facet(assertions=checks),
        output_facets={"dataQualityMetrics": facet(rowCount=rows), "outputStatistics": facet(rowCount=rows)},
    )
    query = {"sql": facet(query=f"SELECT {sql}")}
    read = dataset("a", schema=schema("k"))
    return run_event(kind, second, run=run, inputs=[read], outputs=[written], job_facets=query)


def dropped(second: float, name: str = "t") -> Json:
    """A run of `job`, too, that drops a table."""
    gone = dataset(name, lifecycleStateChange=lifecycle("DROP"))
    return run_event(second=second, run=99, outputs=[gone])


def declared(second: float, source: str) -> Json:
    """What a job declares: it replaces what it declared before."""
    return job_event(second, job="declared", inputs=[dataset(source)], outputs=[dataset("t")])


def said(edge: Json) -> Json:
    by = edge.get("pipeline", {}).get("fullyQualifiedName")
    return {key: edge.get(key) for key in ("columnsLineage", "sqlQuery", "description", "source")} | {"by": by}


def picture(standin: StandIn) -> Json:
    """Tell what a person sees: living entities, edges between them, and each moment that was told, as often as it is."""
    state = standin.state()
    living = {name for (_, name), entity in state["entities"].items() if not entity["deleted"]}
    return {
        "entities": sorted(living),
        "edges": {pair: said(edge) for pair, edge in state["edges"].items() if set(pair) <= living},
        "statuses": {
            name: [(one["timestamp"], one["executionId"], one["executionStatus"]) for one in rows]
            for name, rows in state["statuses"].items()
            if name in living
        },
        "cases": sorted(name for name, case in state["cases"].items() if not case["deleted"]),
        "results": {
            name: [(one["timestamp"], one["testCaseStatus"], one["result"]) for one in rows]
            for name, rows in state["results"].items()
            if not state["cases"][name]["deleted"]
        },
        "profiles": {
            name: sorted((one["timestamp"], one["rowCount"]) for one in kept["table"])
            for name, kept in state["profiles"].items()
            if name in living
        },
    }


def drop_status(standin: StandIn) -> None:
    person = Person(standin)
    (newest, *_) = sorted(standin.store.statuses[person.find("pipeline", JOB).id], reverse=True)
    person.ask("DELETE", f"pipelines/{JOB}/status/{newest}")


def drop_case(standin: StandIn) -> None:
    """The recordings have no call that deletes a test case, so the stand-in has none."""
    checks = standin.store.checks
    case = checks.cases.pop(ROWS)
    case.suite.cases.remove(case)


def drop_result(standin: StandIn) -> None:
    (first, *_) = standin.store.checks.cases[ROWS].results
    Person(standin).ask("DELETE", f"dataQuality/testCases/testCaseResults/{ROWS}/{first}")


def drop_profile(standin: StandIn) -> None:
    kept = standin.store.profiles[Person(standin).find("table", T).id]
    Person(standin).ask("DELETE", f"tables/{T}/table/{kept.table[0]['timestamp']}/profile")


def make_anew(standin: StandIn) -> None:
    """Lose the table and all that was told of it."""
    person = Person(standin)
    person.ask("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true&recursive=true")


def differences(synced: Synced) -> list[tuple[str, str, str]]:
    """Tell what `verify` tells, without the times."""
    bits = synced.reconciler.compare()
    return sorted((one.kind, one.name.split(" at ")[0], one.description) for bit in bits for one in bit.differences)
