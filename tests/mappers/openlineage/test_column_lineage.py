"""Column lineage in every form of its facets."""

from collections.abc import Callable

import pytest

from tests import factories as make
from tests.factories import Json, columns, dataset, facet, field, run_event, transformation
from tests.stores import Store

ROWS = """
SELECT source_dataset, source_field, target_field, transformation_type, transformation_subtype, masking
FROM ol_column_lineage ORDER BY 1, 2, 3, 4, 5
"""
FILTER = transformation("INDIRECT", "FILTER")
WINDOW = transformation("INDIRECT", "WINDOW")
SOURCE = {"type": "DATASET", "namespace": "db", "name": "a"}
SOURCE_JOB = {"type": "JOB", "namespace": "jobs", "name": "other"}
TARGET = {"type": "DATASET", "namespace": "db", "name": "t"}


def column_rows(store: Store, lineage: Json) -> list[tuple[object, ...]]:
    store.apply(run_event(outputs=[dataset("t", columnLineage=lineage)]))
    return store.rows(ROWS)


@pytest.mark.parametrize(
    ("legacy", "expected"),
    [
        ({"transformationType": "IDENTITY", "transformationDescription": "copied"}, ("DIRECT", "IDENTITY", 0)),
        ({"transformationType": "MASKED"}, ("DIRECT", "TRANSFORMATION", 1)),
        ({}, ("DIRECT", "", 0)),
    ],
)
def test_version_1_0_transformation_applies_to_all_sources(
    store: Store, legacy: Json, expected: tuple[object, ...]
) -> None:
    lineage = facet(fields={"k": {"inputFields": [field("a", "x")], **legacy}})
    assert column_rows(store, lineage) == [("a", "x", "k", *expected)]
    description = legacy.get("transformationDescription", "")
    assert store.value("SELECT transformation_description FROM column_lineage") == description


def test_version_1_1_transformations_apply_to_one_source(store: Store) -> None:
    masked = transformation(subtype="TRANSFORMATION", masking=True)
    assert column_rows(store, columns({"k": [field("a", "x", transformation(), masked)]})) == [
        ("a", "x", "k", "DIRECT", "IDENTITY", 0),
        ("a", "x", "k", "DIRECT", "TRANSFORMATION", 1),
    ]


def test_version_1_2_equals_the_expanded_form_of_earlier_versions() -> None:
    direct = {"k": [field("a", "k", transformation())], "v": [field("a", "v", transformation())]}
    expanded = {name: [*inputs, field("a", "f", FILTER)] for name, inputs in direct.items()}
    with Store() as new, Store() as old:
        assert column_rows(new, columns(direct, [field("a", "f", FILTER)])) == column_rows(old, columns(expanded))
        assert new.export() != b""
        assert ("a", "f", None, "INDIRECT", "FILTER", 0) in new.rows(ROWS)


@pytest.mark.parametrize(
    ("fields", "dataset_level"),
    [
        ({"k": [field("a", "f", FILTER)]}, True),
        ({"k": [field("a", "f", WINDOW)]}, False),
        ({"k": [field("a", "f", WINDOW)], "v": [field("a", "f", WINDOW)]}, True),
        ({"k": [field("a", "f", FILTER)], "v": [field("a", "g", FILTER)]}, False),
        ({"k": [field("a", "f", transformation())], "v": [field("a", "f", transformation())]}, False),
    ],
    ids=["one column, dataset-level subtype", "one column, column subtype", "every column", "not every", "direct"],
)
def test_only_indirect_influences_on_all_columns_are_merged(
    store: Store, fields: dict[str, list[Json]], dataset_level: bool
) -> None:
    rows = column_rows(store, columns(fields))
    assert all((row[2] is None) is dataset_level for row in rows)


def test_dataset_level_influence_is_indirect_by_default(store: Store) -> None:
    assert column_rows(store, columns({"k": [field("a", "x")]}, [field("a", "f")])) == [
        ("a", "f", None, "INDIRECT", "", 0),
        ("a", "x", "k", "DIRECT", "", 0),
    ]


def test_metadata_columns_are_not_sources_but_their_table_is(store: Store) -> None:
    assert column_rows(store, columns({}, [field("a", "_file", FILTER)])) == []
    assert store.rows("SELECT edge_role, evidence FROM lineage_edge WHERE edge_role = 'DERIVES'") == [
        ("DERIVES", "column")
    ]


@pytest.mark.parametrize(
    ("entry", "edges"),
    [
        (
            {"type": "JOB", "inputs": [{"namespace": "db", "name": "a", "type": "DATASET"}]},
            [("dataset", "CONSUMES", "job")],
        ),
        ({"namespace": "jobs", "name": "x", "type": "JOB", "inputs": [{"type": "JOB"}]}, [("job", "DERIVES", "job")]),
        (
            {"namespace": "db", "name": "t", "type": "DATASET", "inputs": [{"type": "JOB"}]},
            [("job", "PRODUCES", "dataset")],
        ),
        (
            {
                "namespace": "db",
                "name": "t",
                "type": "DATASET",
                "inputs": [{"namespace": "db", "name": "a", "type": "DATASET"}],
            },
            [("dataset", "DERIVES", "dataset")],
        ),
        (
            {
                "namespace": "db",
                "name": "t",
                "type": "DATASET",
                "inputs": [],
                "fields": {"k": {"inputs": [{"type": "JOB", "transformations": [transformation()]}]}},
            },
            [("job", "PRODUCES", "dataset")],
        ),
        ({"namespace": "db", "name": "t", "type": "DATASET", "inputs": []}, []),
        (
            {"namespace": "db", "name": "t", "type": "DATASET", "inputs": [SOURCE_JOB]},
            [("job", "PRODUCES", "dataset")],
        ),
        ({"type": "JOB", "inputs": [SOURCE_JOB]}, [("job", "DERIVES", "job")]),
        ({"type": "DATASET", "inputs": []}, []),
    ],
    ids=[
        "dataset to own job",
        "job to job",
        "job to dataset",
        "dataset to dataset",
        "field from job",
        "no inputs",
        "named job to dataset",
        "named job to own job",
        "no name",
    ],
)
@pytest.mark.parametrize("key", ["entries", "lineage"])
def test_explicit_entries_of_every_kind(store: Store, entry: Json, edges: list[tuple[str, ...]], key: str) -> None:
    store.apply(run_event(job_facets={"lineage": facet(**{key: [entry]})}))
    query = "SELECT source_type, edge_role, target_type FROM lineage_edge WHERE evidence = 'explicit'"
    assert store.rows(query) == edges


INCOMPLETE_NAMES = [{"namespace": "x"}, {"name": "x"}, {"namespace": "x", "name": ""}, {"namespace": "", "name": "x"}]
EDGES = """
SELECT e.source_type, coalesce(d.name, j.name), e.edge_role, e.target_type, coalesce(u.name, k.name)
FROM lineage_edge e
LEFT JOIN ol_dataset d ON d.dataset_id = e.source_id LEFT JOIN ol_job j ON j.job_id = e.source_id
LEFT JOIN ol_dataset u ON u.dataset_id = e.target_id LEFT JOIN ol_job k ON k.job_id = e.target_id
"""


@pytest.mark.parametrize("name", INCOMPLETE_NAMES)
@pytest.mark.parametrize(
    ("entry", "edges", "noted"),
    [
        (lambda name: {"type": "DATASET", **name, "inputs": [SOURCE]}, [], True),
        (
            lambda name: {"type": "JOB", **name, "inputs": [SOURCE]},
            [("dataset", "a", "CONSUMES", "job", "job")],
            False,
        ),
        (lambda name: {"type": "JOB", "inputs": [{"type": "DATASET", **name}]}, [], False),
        (lambda name: {**TARGET, "inputs": [{"type": "DATASET", "field": "g", **name}]}, [], False),
        (
            lambda name: {**TARGET, "inputs": [{"type": "JOB", **name}]},
            [("job", "job", "PRODUCES", "dataset", "t")],
            False,
        ),
    ],
    ids=["dataset target", "job target", "dataset source of a job", "dataset source of a dataset", "job source"],
)
def test_incomplete_names_in_explicit_entries_are_ignored(
    store: Store, name: Json, entry: Callable[[Json], Json], edges: list[tuple[str, ...]], noted: bool
) -> None:
    """A job without a name is the job of the event; a dataset without a name is ignored."""
    store.apply(run_event(job_facets={"lineage": facet(entries=[entry(name)])}))
    assert store.rows(EDGES) == edges
    assert store.rows(ROWS) == []
    assert ("without dataset name" in (store.value("SELECT notes_json FROM run_event") or "")) is noted


def test_explicit_job_source_is_not_a_dataset(store: Store) -> None:
    source = SOURCE_JOB | {"field": "k"}
    store.apply(run_event(job_facets={"lineage": facet(entries=[{**TARGET, "fields": {"k": {"inputs": [source]}}}])}))
    assert store.rows(EDGES) == [("job", "other", "PRODUCES", "dataset", "t")]
    assert store.rows("SELECT name FROM ol_dataset") == [("t",)]
    assert store.rows(ROWS) == []


def test_default_types_of_explicit_source_fields(
    store: Store,
) -> None:
    entry = {**TARGET, "inputs": [SOURCE | {"field": "g"}], "fields": {"k": {"inputs": [SOURCE | {"field": "x"}]}}}
    store.apply(run_event(job_facets={"lineage": facet(entries=[entry])}))
    assert store.rows(ROWS) == [("a", "g", None, "INDIRECT", "", 0), ("a", "x", "k", "DIRECT", "", 0)]


def test_explicit_source_without_target_field_is_dataset_level(store: Store) -> None:
    source = {
        "namespace": "db",
        "name": "a",
        "type": "DATASET",
        "field": "g",
        "transformations": [transformation("INDIRECT", "GROUP_BY")],
    }
    entry = {"namespace": "db", "name": "t", "type": "DATASET", "inputs": [source]}
    store.apply(run_event(job_facets={"lineage": facet(entries=[entry])}))
    assert store.rows(ROWS) == [("a", "g", None, "INDIRECT", "GROUP_BY", 0)]


def test_declared_column_lineage_is_active_until_a_run_reports(store: Store) -> None:
    active = "SELECT source_dataset FROM ol_column_lineage WHERE is_active"
    store.apply(make.job_event(9, outputs=[dataset("t", columnLineage=columns({"k": [field("a", "k")]}))]))
    assert store.rows(active) == [("a",)]
    store.apply(run_event(second=1, outputs=[dataset("t", columnLineage=columns({"k": [field("b", "k")]}))]))
    assert store.rows(active) == [("b",)]
