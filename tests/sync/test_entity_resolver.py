"""Where a dataset lies: by its mappings, by its other names, by what is there; never by a guess."""

from typing import Any

import pytest

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome, SyncItem
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.factories import columns, dataset, dataset_event, field, run_event, schema, symlinks, transformation
from tests.sync.openmetadata_harness import HOME, LAYOUT, Synced
from tests.sync.other_writers import Person

SNOWFLAKE = "snowflake://acme"
POSTGRES = "postgres://h:5432"


def mapped(*mappings: tuple[str, str], **more: Any) -> OpenMetadataOptions:
    return OpenMetadataOptions(ServiceLayout(tuple(ServiceMapping(*one) for one in mappings)), **more)


def wrote(name: str, namespace: str = "db", **facets: Any) -> dict[str, Any]:
    return run_event(outputs=[dataset(name, namespace, schema=schema("K", "v"), **facets)])


def unresolved(synced: Synced) -> list[SyncItem]:
    return synced.items_by(Outcome.UNRESOLVED)


@pytest.mark.parametrize(
    ("mappings", "namespace", "place"),
    [
        ([("postgres://*", "all"), ("postgres://h*", "h"), (POSTGRES, "exact")], POSTGRES, "exact.d.s.t"),
        ([("postgres://*", "all"), ("postgres://h*", "h"), (POSTGRES, "exact")], "postgres://h:1", "h.d.s.t"),
        ([("postgres://*", "all"), ("postgres://h*", "h"), (POSTGRES, "exact")], "postgres://x", "all.d.s.t"),
        ([("postgres://h*", "h")], "postgres://x", f"{HOME}.postgres://x/d.s.t"),
        ([("*", "b"), ("*", "a")], POSTGRES, "a.d.s.t"),
    ],
)
def test_the_longest_mapping_wins(mappings: list[tuple[str, str]], namespace: str, place: str) -> None:
    with Synced(mapped(*mappings)) as synced:
        synced.apply(wrote("d.s.t", namespace)).converge()
        assert set(synced.entities("table")) == {place}


@pytest.mark.parametrize("create", ["all", "entities"])
def test_a_dataset_goes_where_any_of_its_names_is_mapped(create: Any) -> None:
    """A path that the metastore knows as a table is that table."""
    with Synced(mapped(("hive://*", "metastore"), create=create)) as synced:
        Person(synced.standin).put("databaseService", name="metastore", serviceType="Hive")
        table = symlinks("sales.orders", namespace="hive://m:9083")
        synced.apply(wrote("/warehouse/orders", "file", symlinks=table)).converge()
        assert set(synced.entities("table")) == {"metastore.default.sales.orders"}


def test_it_goes_to_the_one_of_its_names_that_is_there() -> None:
    with Synced(mapped(("hive://*", "metastore"), ("file", "files"))) as synced:
        Person(synced.standin).put_table("/warehouse/orders", "k", place="files.default.default")
        table = symlinks("sales.orders", namespace="hive://m:9083")
        synced.apply(wrote("/warehouse/orders", "file", symlinks=table)).converge()
        assert {name.split(".")[0] for name in synced.entities("table")} == {"files"}


@pytest.mark.parametrize(
    ("namespace", "there", "found"),
    [
        (SNOWFLAKE, "WAREHOUSE.D.S.T", True),
        ("teradata://h:1025", "WAREHOUSE.default.S.T", True),
        (POSTGRES, "WAREHOUSE.D.S.T", False),
        (SNOWFLAKE, "WAREHOUSE.D.S.U", False),
    ],
)
def test_case_counts_where_the_system_says_so(namespace: str, there: str, found: bool) -> None:
    with Synced(mapped((namespace, "WAREHOUSE"))) as synced:
        place, _, name = there.rpartition(".")
        Person(synced.standin).put_table(name, "K", "V", place=place)
        name = "d.s.t" if namespace != "teradata://h:1025" else "s.t"
        synced.apply(wrote(name, namespace)).converge()
        (item,) = (item for item in synced.items_by(Outcome.PUSHED) if item.kind == "dataset")
        assert (item.remote.name == there) is found
        assert item.created_by_us is not found
        assert (len(synced.entities("table")) == 1) is found


def test_lineage_of_a_caseless_system_spells_columns_as_they_are_there() -> None:
    with Synced(mapped((SNOWFLAKE, "wh"), ("jobs", "runs"))) as synced:
        Person(synced.standin).put_table("A", "K", place="wh.D.S")
        Person(synced.standin).put_table("T", "K", place="wh.D.S")
        lineage = columns({"k": [field("d.s.a", "k", transformation(), namespace=SNOWFLAKE)]})
        read, written = (
            dataset(f"d.s.{name}", SNOWFLAKE, schema=schema("k"), **more)
            for name, more in (("a", {}), ("t", {"columnLineage": lineage}))
        )
        synced.apply(run_event(inputs=[read], outputs=[written])).converge()
        (line,) = synced.edges()["wh.D.S.A", "wh.D.S.T"]["columnsLineage"]
        assert (line["fromColumns"], line["toColumn"]) == (["wh.D.S.A.K"], "wh.D.S.T.K")


# --- ambiguity


def two_alike(synced: Synced) -> None:
    for schema_name in "Ss":
        Person(synced.standin).put_table("T", "k", place=f"wh.D.{schema_name}")


def test_what_may_be_several_is_told_once_and_nothing_is_made() -> None:
    with Synced(mapped((SNOWFLAKE, "wh"), ("db", "warehouse", "d", "s"), ("jobs", "runs"))) as synced:
        two_alike(synced)
        read = dataset("d.s.t", SNOWFLAKE, schema=schema("k"))
        synced.apply(run_event(inputs=[read], outputs=[dataset("u", schema=schema("k"))])).converge()
        (item,) = unresolved(synced)
        assert "wh.D.S.T" in item.reason
        assert "wh.D.s.T" in item.reason
        assert set(synced.entities("table")) == {"wh.D.S.T", "wh.D.s.T", "warehouse.d.s.u"}
        assert synced.edges() == {}
        (waiting,) = (one for one in synced.items_by(Outcome.WAITING) if one.kind == "lineage")
        assert waiting.reason == f"edge postponed: the other endpoint is not in OpenMetadata yet: {SNOWFLAKE} d.s.t"
        assert synced.quiet() == {}


def test_one_that_is_spelled_exactly_so_is_meant() -> None:
    with Synced(mapped((SNOWFLAKE, "wh"))) as synced:
        two_alike(synced)
        Person(synced.standin).put_table("t", "k", place="wh.d.s")
        synced.apply(wrote("d.s.t", SNOWFLAKE)).converge()
        (item,) = (item for item in synced.items_by(Outcome.PUSHED) if item.kind == "dataset")
        assert item.remote.name == "wh.d.s.t"


def test_several_names_that_are_all_there_are_told() -> None:
    with Synced(mapped(("hive://*", "metastore"), ("glue", "glue"), ("file", "files"))) as synced:
        person = Person(synced.standin)
        person.put_table("orders", "k", place="metastore.default.sales")
        person.put_table("orders", "k", place="glue.default.default")
        names = [
            {"namespace": "hive://m", "name": "sales.orders", "type": "TABLE"},
            {"namespace": "glue", "name": "orders", "type": "LOCATION"},
        ]
        alias = symlinks() | {"identifiers": names}
        synced.apply(wrote("/w/orders", "file", symlinks=alias)).converge()
        # the preferred name is the table's; it is there, so the others do not count
        assert unresolved(synced) == []
        assert len(synced.entities("table")) == 2


# --- what may be made


@pytest.mark.parametrize(
    ("create", "service", "made"),
    [("all", False, True), ("entities", False, False), ("entities", True, True), ("nothing", True, False)],
)
def test_only_what_may_be_made_is_made(create: Any, service: bool, made: bool) -> None:
    with Synced(OpenMetadataOptions(LAYOUT, create=create)) as synced:
        person = Person(synced.standin)
        if service:
            person.put("databaseService", name="warehouse", serviceType="CustomDatabase")
            person.put("pipelineService", name="runs", serviceType="CustomPipeline")
        synced.apply(wrote("t")).converge()
        assert bool(synced.entities("table")) is made
        assert bool(synced.entities("pipeline")) is made
        reasons = {item.kind: item.reason for item in unresolved(synced)}
        assert set(reasons) == (set() if made else {"dataset", "job"})
        assert all(f"openmetadata.create is {create}" in reason for reason in reasons.values())
        assert synced.quiet() == {}


@pytest.mark.parametrize(("unresolved_goes", "where"), [("report", None), ("own_service", HOME)])
def test_what_has_no_place_goes_to_our_service_where_the_settings_say_so(
    unresolved_goes: Any, where: str | None
) -> None:
    with Synced(OpenMetadataOptions(LAYOUT, create="entities", unresolved=unresolved_goes)) as synced:
        Person(synced.standin).put("databaseService", name=HOME, serviceType="CustomDatabase")
        synced.apply(wrote("t")).converge()
        assert {name.split(".")[0] for name in synced.entities("table")} == ({where} if where else set())


@pytest.mark.parametrize(
    "name", ["a::b", 'a"b', "a>b", "x" * 300, "line\nbreak", "a.b", "100 %/#?&\\'{[<", "ümlaut \U0001f600", " "]
)
def test_any_name_becomes_one_that_the_server_takes(name: str) -> None:
    with Synced() as synced:
        event = run_event(
            inputs=[dataset("a", schema=schema("k"))],
            outputs=[
                dataset(name, schema=schema(name), columnLineage=columns({name: [field("a", "k", transformation())]}))
            ],
            job=name,
        )
        synced.apply(event).converge()
        (table,) = (one for one in synced.entities("table").values() if one["name"] != "a")
        (pipeline,) = synced.entities("pipeline").values()
        for thing in (table, pipeline, table["columns"][0]):
            assert name in (thing["name"], thing.get("displayName"))
        ((pair, edge),) = synced.edges().items()
        assert pair == ("warehouse.d.s.a", table["fullyQualifiedName"])
        assert edge["pipeline"]["id"] == pipeline["id"]
        assert [line["toColumn"] for line in edge["columnsLineage"]] == [table["columns"][0]["fullyQualifiedName"]]
        assert synced.quiet() == {}
        synced.connect()
        synced.queue.retry([(item.kind, item.key) for item in synced.items_by(Outcome.PUSHED)])
        synced.converge()
        assert len(synced.entities("table")) == 2


# --- and later


@pytest.mark.parametrize(("seconds", "resolved"), [(599, False), (601, True)])
def test_it_is_looked_for_again_later_by_itself(seconds: int, resolved: bool) -> None:
    with Synced(OpenMetadataOptions(LAYOUT, create="nothing")) as synced:
        synced.apply(wrote("t")).round()
        Person(synced.standin).put_table("t", "k")
        synced.clock.wait(seconds)
        synced.round()
        assert (not [item for item in unresolved(synced) if item.kind == "dataset"]) is resolved
        synced.converge()
        assert (("runs.job", "warehouse.d.s.t") in synced.edges()) is False  # the pipeline may not be made


def test_its_edges_come_when_both_ends_are_found() -> None:
    with Synced(OpenMetadataOptions(LAYOUT, create="nothing")) as synced:
        synced.apply(run_event(inputs=[dataset("a")], outputs=[dataset("t")])).round()
        person = Person(synced.standin)
        person.put_table("t", "k")
        person.put_table("a", "k")
        synced.clock.wait(601)
        synced.round()
        assert set(synced.edges()) == {("warehouse.d.s.a", "warehouse.d.s.t")}


def test_a_retry_looks_for_it_at_once() -> None:
    with Synced(OpenMetadataOptions(LAYOUT, create="nothing")) as synced:
        synced.apply(wrote("t")).round()
        Person(synced.standin).put_table("t", "k")
        synced.queue.retry([(item.kind, item.key) for item in unresolved(synced)])
        synced.round()
        assert {item.kind for item in unresolved(synced)} == {"job"}
        (item,) = (item for item in synced.items_by(Outcome.PUSHED) if item.kind == "dataset")
        assert (item.remote.name, item.created_by_us) == ("warehouse.d.s.t", False)


def test_its_edges_are_written_once_it_is_found() -> None:
    rules = OpenMetadataOptions(
        ServiceLayout((ServiceMapping("db", "warehouse", "d", "s"), ServiceMapping(SNOWFLAKE, "wh"))),
        create="entities",
    )
    with Synced(rules) as synced:
        person = Person(synced.standin)
        person.put("databaseService", name="warehouse", serviceType="CustomDatabase")
        event = run_event(inputs=[dataset("d.s.t", SNOWFLAKE, schema=schema("k"))], outputs=[dataset("u")])
        synced.apply(event).round()
        assert synced.edges() == {}
        person.put_table("t", "k", place="wh.d.s")
        synced.queue.retry([(item.kind, item.key) for item in unresolved(synced)])
        synced.converge()
        assert ("wh.d.s.t", "warehouse.d.s.u") in synced.edges()


def test_a_dataset_is_found_by_an_alias_that_is_learnt_later() -> None:
    with Synced(OpenMetadataOptions(LAYOUT, create="nothing")) as synced:
        Person(synced.standin).put_table("t", "k")
        synced.apply(wrote("/w/t", "file")).round()
        assert [item for item in unresolved(synced) if item.kind == "dataset"]
        synced.apply(dataset_event(5, dataset("/w/t", "file", symlinks=symlinks("t")))).round()
        assert [item for item in unresolved(synced) if item.kind == "dataset"] == []
