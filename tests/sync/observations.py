"""Events with observations (runs, test results, profiles), and ways to damage them in OpenMetadata."""

from typing import Any

from tests.factories import columns, dataset, facet, field, job_event, lifecycle, run_event, schema, transformation
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person

Json = dict[str, Any]
A, T, JOB = "warehouse.d.s.a", "warehouse.d.s.t", "runs.job"
ROWS, NOT_NULL = f"{T}.rows", f"{T}.k.not_null"


def run_with_checks(
    second: float,
    run: int = 1,
    kind: str = "COMPLETE",
    *,
    name: str = "t",
    rows: int = 3,
    column: str = "k",
    query_id: str = "1",
) -> Json:
    """A run of `job` that reads a and writes t, with checks and metrics."""
    checks = [{"assertion": "rows", "success": True}, {"assertion": "not_null", "success": True, "column": "k"}]
    output = dataset(
        name,
        schema=schema("k", "v"),
        columnLineage=columns({column: [field("a", "k", transformation())]}),
        dataQualityAssertions=facet(assertions=checks),
        output_facets={"dataQualityMetrics": facet(rowCount=rows), "outputStatistics": facet(rowCount=rows)},
    )
    query = {"sql": facet(query=f"SELECT {query_id}")}
    input_ = dataset("a", schema=schema("k"))
    return run_event(kind, second, run=run, inputs=[input_], outputs=[output], job_facets=query)


def run_dropping(second: float, name: str = "t") -> Json:
    """A run of `job` that drops a table."""
    dropped = dataset(name, lifecycleStateChange=lifecycle("DROP"))
    return run_event(second=second, run=99, outputs=[dropped])


def declaration(second: float, source: str) -> Json:
    """Declared inputs and outputs of a job; replaces its earlier declaration."""
    return job_event(second, job="declared", inputs=[dataset(source)], outputs=[dataset("t")])


def edge_content(edge: Json) -> Json:
    pipeline = edge.get("pipeline", {}).get("fullyQualifiedName")
    return {key: edge.get(key) for key in ("columnsLineage", "sqlQuery", "description", "source")} | {"by": pipeline}


def snapshot(standin: StandIn) -> Json:
    """Everything visible in OpenMetadata: entities that are not deleted, their edges and all observations, with duplicates."""
    state = standin.state()
    living = {name for (_, name), entity in state["entities"].items() if not entity["deleted"]}
    return {
        "entities": sorted(living),
        "edges": {pair: edge_content(edge) for pair, edge in state["edges"].items() if set(pair) <= living},
        "statuses": {
            name: [(row["timestamp"], row["executionId"], row["executionStatus"]) for row in rows]
            for name, rows in state["statuses"].items()
            if name in living
        },
        "cases": sorted(name for name, case in state["cases"].items() if not case["deleted"]),
        "results": {
            name: [(row["timestamp"], row["testCaseStatus"], row["result"]) for row in rows]
            for name, rows in state["results"].items()
            if not state["cases"][name]["deleted"]
        },
        "profiles": {
            name: sorted((row["timestamp"], row["rowCount"]) for row in profiles["table"])
            for name, profiles in state["profiles"].items()
            if name in living
        },
    }


def drop_status(standin: StandIn) -> None:
    person = Person(standin)
    (newest, *_) = sorted(standin.store.statuses[person.find("pipeline", JOB).id], reverse=True)
    person.request("DELETE", f"pipelines/{JOB}/status/{newest}")


def drop_case(standin: StandIn) -> None:
    """Removes the case from the store: the stand-in has no endpoint that deletes test cases."""
    checks = standin.store.checks
    case = checks.cases.pop(ROWS)
    case.suite.cases.remove(case)


def drop_result(standin: StandIn) -> None:
    (first, *_) = standin.store.checks.cases[ROWS].results
    Person(standin).request("DELETE", f"dataQuality/testCases/testCaseResults/{ROWS}/{first}")


def drop_profile(standin: StandIn) -> None:
    profiles = standin.store.profiles[Person(standin).find("table", T).id]
    Person(standin).request("DELETE", f"tables/{T}/table/{profiles.table[0]['timestamp']}/profile")


def delete_table_for_good(standin: StandIn) -> None:
    """Hard-delete the table with all its observations."""
    person = Person(standin)
    person.request("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true&recursive=true")


def differences(synced: OpenMetadataHarness) -> list[tuple[str, str, str]]:
    """Kind, name and description of the differences, without times."""
    return sorted(
        (difference.kind, difference.name.split(" at ")[0], difference.description)
        for batch in synced.reconciler.compare()
        for difference in batch.differences
    )
