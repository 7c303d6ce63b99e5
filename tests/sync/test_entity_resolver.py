"""Location of datasets: by mapping, alias and existing entities; ambiguity is reported, never guessed."""

from typing import Any

import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome, SyncItem
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.factories import columns, dataset, dataset_event, field, run_event, schema, symlinks, transformation
from tests.sync.openmetadata_harness import HOME, LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

SNOWFLAKE = "snowflake://acme"
POSTGRES = "postgres://h:5432"


def options_with(*mappings: tuple[str, str], **options: Any) -> OpenMetadataOptions:
    return OpenMetadataOptions(ServiceLayout(tuple(ServiceMapping(*mapping) for mapping in mappings)), **options)


def write_run(name: str, namespace: str = "db", **facets: Any) -> dict[str, Any]:
    return run_event(outputs=[dataset(name, namespace, schema=schema("K", "v"), **facets)])


def unresolved(synced: OpenMetadataHarness) -> list[SyncItem]:
    return synced.items_by(Outcome.UNRESOLVED)


@pytest.mark.parametrize(
    ("mappings", "namespace", "table"),
    [
        ([("postgres://*", "all"), ("postgres://h*", "h"), (POSTGRES, "exact")], POSTGRES, "exact.d.s.t"),
        ([("postgres://*", "all"), ("postgres://h*", "h"), (POSTGRES, "exact")], "postgres://h:1", "h.d.s.t"),
        ([("postgres://*", "all"), ("postgres://h*", "h"), (POSTGRES, "exact")], "postgres://x", "all.d.s.t"),
        ([("postgres://h*", "h")], "postgres://x", f"{HOME}.postgres://x/d.s.t"),
        ([("*", "b"), ("*", "a")], POSTGRES, "a.d.s.t"),
    ],
)
def test_longest_mapping_wins(mappings: list[tuple[str, str]], namespace: str, table: str) -> None:
    with OpenMetadataHarness(options_with(*mappings)) as synced:
        synced.apply(write_run("d.s.t", namespace)).converge()
        assert set(synced.entities("table")) == {table}


@pytest.mark.parametrize("create", ["all", "entities"])
def test_dataset_is_located_by_mapped_alias(create: Any) -> None:
    """A path that is the location of a metastore table becomes that table."""
    with OpenMetadataHarness(options_with(("hive://*", "metastore"), create=create)) as synced:
        Person(synced.standin).put("databaseService", name="metastore", serviceType="Hive")
        table = symlinks("sales.orders", namespace="hive://m:9083")
        synced.apply(write_run("/warehouse/orders", "file", symlinks=table)).converge()
        assert set(synced.entities("table")) == {"metastore.default.sales.orders"}


def test_dataset_is_located_by_alias_of_existing_table() -> None:
    with OpenMetadataHarness(options_with(("hive://*", "metastore"), ("file", "files"))) as synced:
        Person(synced.standin).put_table("orders", "k", schema_fqn="files.default./warehouse")
        table = symlinks("sales.orders", namespace="hive://m:9083")
        synced.apply(write_run("/warehouse/orders", "file", symlinks=table)).converge()
        assert {name.split(".")[0] for name in synced.entities("table")} == {"files"}


@pytest.mark.parametrize(
    ("namespace", "existing_table", "is_match"),
    [
        (SNOWFLAKE, "WAREHOUSE.D.S.T", True),
        ("teradata://h:1025", "WAREHOUSE.default.S.T", True),
        (POSTGRES, "WAREHOUSE.D.S.T", False),
        (SNOWFLAKE, "WAREHOUSE.D.S.U", False),
    ],
)
def test_case_sensitivity_depends_on_system(namespace: str, existing_table: str, is_match: bool) -> None:
    with OpenMetadataHarness(options_with((namespace, "WAREHOUSE"))) as synced:
        schema_fqn, _, name = existing_table.rpartition(".")
        Person(synced.standin).put_table(name, "K", "V", schema_fqn=schema_fqn)
        name = "d.s.t" if namespace != "teradata://h:1025" else "s.t"
        synced.apply(write_run(name, namespace)).converge()
        (item,) = (item for item in synced.items_by(Outcome.PUSHED) if item.kind == "dataset")
        assert (item.remote.name == existing_table) is is_match
        assert item.created_by_us is not is_match
        assert (len(synced.entities("table")) == 1) is is_match


def test_lineage_uses_column_case_of_existing_tables() -> None:
    with OpenMetadataHarness(options_with((SNOWFLAKE, "wh"), ("jobs", "runs"))) as synced:
        Person(synced.standin).put_table("A", "K", schema_fqn="wh.D.S")
        Person(synced.standin).put_table("T", "K", schema_fqn="wh.D.S")
        lineage = columns({"k": [field("d.s.a", "k", transformation(), namespace=SNOWFLAKE)]})
        input_, output = (
            dataset(f"d.s.{name}", SNOWFLAKE, schema=schema("k"), **facets)
            for name, facets in (("a", {}), ("t", {"columnLineage": lineage}))
        )
        synced.apply(run_event(inputs=[input_], outputs=[output])).converge()
        (line,) = synced.edges()["wh.D.S.A", "wh.D.S.T"]["columnsLineage"]
        assert (line["fromColumns"], line["toColumn"]) == (["wh.D.S.A.K"], "wh.D.S.T.K")


# --- ambiguity


def put_ambiguous_tables(synced: OpenMetadataHarness) -> None:
    for schema_name in "Ss":
        Person(synced.standin).put_table("T", "k", schema_fqn=f"wh.D.{schema_name}")


def test_waiting_edge_names_the_missing_endpoint() -> None:
    with OpenMetadataHarness(
        options_with((SNOWFLAKE, "wh"), ("db", "warehouse", "d", "s"), ("jobs", "runs"))
    ) as synced:
        put_ambiguous_tables(synced)
        output = dataset("d.s.t", SNOWFLAKE, schema=schema("k"))
        synced.apply(run_event(inputs=[dataset("u", schema=schema("k"))], outputs=[output])).converge()
        (waiting,) = (item for item in synced.items_by(Outcome.WAITING) if item.kind == "lineage")
        assert waiting.reason == f"waits until {SNOWFLAKE} d.s.t is in OpenMetadata"


def test_ambiguous_dataset_is_unresolved_and_not_created() -> None:
    with OpenMetadataHarness(
        options_with((SNOWFLAKE, "wh"), ("db", "warehouse", "d", "s"), ("jobs", "runs"))
    ) as synced:
        put_ambiguous_tables(synced)
        input_ = dataset("d.s.t", SNOWFLAKE, schema=schema("k"))
        synced.apply(run_event(inputs=[input_], outputs=[dataset("u", schema=schema("k"))])).converge()
        (item,) = unresolved(synced)
        assert "wh.D.S.T" in item.reason
        assert "wh.D.s.T" in item.reason
        assert set(synced.entities("table")) == {"wh.D.S.T", "wh.D.s.T", "warehouse.d.s.u"}
        assert synced.edges() == {}
        (waiting,) = (item for item in synced.items_by(Outcome.WAITING) if item.kind == "lineage")
        assert waiting.reason == f"waits until {SNOWFLAKE} d.s.t is in OpenMetadata"
        assert synced.calls_of_next_round() == {}


def test_exact_case_wins_over_ambiguity() -> None:
    with OpenMetadataHarness(options_with((SNOWFLAKE, "wh"))) as synced:
        put_ambiguous_tables(synced)
        Person(synced.standin).put_table("t", "k", schema_fqn="wh.d.s")
        synced.apply(write_run("d.s.t", SNOWFLAKE)).converge()
        (item,) = (item for item in synced.items_by(Outcome.PUSHED) if item.kind == "dataset")
        assert item.remote.name == "wh.d.s.t"


def test_preferred_alias_wins_among_existing_tables() -> None:
    with OpenMetadataHarness(options_with(("hive://*", "metastore"), ("glue", "glue"), ("file", "files"))) as synced:
        person = Person(synced.standin)
        person.put_table("orders", "k", schema_fqn="metastore.default.sales")
        person.put_table("orders", "k", schema_fqn="glue.default.default")
        names = [
            {"namespace": "hive://m", "name": "sales.orders", "type": "TABLE"},
            {"namespace": "glue", "name": "orders", "type": "LOCATION"},
        ]
        alias = symlinks() | {"identifiers": names}
        synced.apply(write_run("/w/orders", "file", symlinks=alias)).converge()
        # the table name is preferred over the location, so there is no ambiguity
        assert unresolved(synced) == []
        assert len(synced.entities("table")) == 2


# --- creation rights


@pytest.mark.parametrize(
    ("create", "service_exists", "is_created"),
    [("all", False, True), ("entities", False, False), ("entities", True, True), ("nothing", True, False)],
)
def test_creates_only_what_settings_allow(create: Any, service_exists: bool, is_created: bool) -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, create=create)) as synced:
        person = Person(synced.standin)
        if service_exists:
            person.put("databaseService", name="warehouse", serviceType="CustomDatabase")
            person.put("pipelineService", name="runs", serviceType="CustomPipeline")
        synced.apply(write_run("t")).converge()
        assert bool(synced.entities("table")) is is_created
        assert bool(synced.entities("pipeline")) is is_created
        reasons = {item.kind: item.reason for item in unresolved(synced)}
        assert set(reasons) == (set() if is_created else {"dataset", "job"})
        assert all(f"openmetadata.create is {create}" in reason for reason in reasons.values())
        assert synced.calls_of_next_round() == {}


@pytest.mark.parametrize(("unresolved_option", "service"), [("report", None), ("own_service", HOME)])
def test_unresolved_datasets_may_go_to_own_service(unresolved_option: Any, service: str | None) -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, create="entities", unresolved=unresolved_option)) as synced:
        Person(synced.standin).put("databaseService", name=HOME, serviceType="CustomDatabase")
        synced.apply(write_run("t")).converge()
        assert {name.split(".")[0] for name in synced.entities("table")} == ({service} if service else set())


@pytest.mark.parametrize(
    "name", ["a::b", 'a"b', "a>b", "x" * 300, "line\nbreak", "a.b", "100 %/#?&\\'{[<", "ümlaut \U0001f600", " "]
)
def test_escapes_names_that_server_rejects(name: str) -> None:
    with OpenMetadataHarness() as synced:
        event = run_event(
            inputs=[dataset("a", schema=schema("k"))],
            outputs=[
                dataset(name, schema=schema(name), columnLineage=columns({name: [field("a", "k", transformation())]}))
            ],
            job=name,
        )
        synced.apply(event).converge()
        (table,) = (candidate for candidate in synced.entities("table").values() if candidate["name"] != "a")
        (pipeline,) = synced.entities("pipeline").values()
        for entity in (table, pipeline, table["columns"][0]):
            assert name in (entity["name"], entity.get("displayName"))
        ((pair, edge),) = synced.edges().items()
        assert pair == ("warehouse.d.s.a", table["fullyQualifiedName"])
        assert edge["pipeline"]["id"] == pipeline["id"]
        assert [line["toColumn"] for line in edge["columnsLineage"]] == [table["columns"][0]["fullyQualifiedName"]]
        assert synced.calls_of_next_round() == {}
        synced.connect()
        synced.queue.retry([(item.kind, item.key) for item in synced.items_by(Outcome.PUSHED)])
        synced.converge()
        assert len(synced.entities("table")) == 2


# --- later resolution


@pytest.mark.parametrize(("seconds", "resolved"), [(599, False), (601, True)])
def test_unresolved_dataset_is_retried_after_ten_minutes(seconds: int, resolved: bool) -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, create="nothing")) as synced:
        synced.apply(write_run("t")).round()
        Person(synced.standin).put_table("t", "k")
        synced.clock.wait(seconds)
        synced.round()
        assert (not [item for item in unresolved(synced) if item.kind == "dataset"]) is resolved
        synced.converge()
        assert (("runs.job", "warehouse.d.s.t") in synced.edges()) is False  # the pipeline may not be made


def test_pushes_edges_once_both_endpoints_are_resolved() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, create="nothing")) as synced:
        synced.apply(run_event(inputs=[dataset("a")], outputs=[dataset("t")])).round()
        person = Person(synced.standin)
        person.put_table("t", "k")
        person.put_table("a", "k")
        synced.clock.wait(601)
        synced.round()
        assert set(synced.edges()) == {("warehouse.d.s.a", "warehouse.d.s.t")}


def test_manual_retry_resolves_immediately() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, create="nothing")) as synced:
        synced.apply(write_run("t")).round()
        Person(synced.standin).put_table("t", "k")
        synced.queue.retry([(item.kind, item.key) for item in unresolved(synced)])
        synced.round()
        assert {item.kind for item in unresolved(synced)} == {"job"}
        (item,) = (item for item in synced.items_by(Outcome.PUSHED) if item.kind == "dataset")
        assert (item.remote.name, item.created_by_us) == ("warehouse.d.s.t", False)


def test_pushes_edges_after_manual_retry() -> None:
    rules = OpenMetadataOptions(
        ServiceLayout((ServiceMapping("db", "warehouse", "d", "s"), ServiceMapping(SNOWFLAKE, "wh"))),
        create="entities",
    )
    with OpenMetadataHarness(rules) as synced:
        person = Person(synced.standin)
        person.put("databaseService", name="warehouse", serviceType="CustomDatabase")
        event = run_event(inputs=[dataset("d.s.t", SNOWFLAKE, schema=schema("k"))], outputs=[dataset("u")])
        synced.apply(event).round()
        assert synced.edges() == {}
        person.put_table("t", "k", schema_fqn="wh.d.s")
        synced.queue.retry([(item.kind, item.key) for item in unresolved(synced)])
        synced.converge()
        assert ("wh.d.s.t", "warehouse.d.s.u") in synced.edges()


def test_later_alias_resolves_dataset() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, create="nothing")) as synced:
        Person(synced.standin).put_table("t", "k")
        synced.apply(write_run("/w/t", "file")).round()
        assert [item for item in unresolved(synced) if item.kind == "dataset"]
        synced.apply(dataset_event(5, dataset("/w/t", "file", symlinks=symlinks("t")))).round()
        assert [item for item in unresolved(synced) if item.kind == "dataset"] == []
