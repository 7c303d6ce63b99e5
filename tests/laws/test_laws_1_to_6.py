"""The merge laws one by one, each decided by hand. The numbers are those of docs/guarantees.md."""

import pytest

from bridge.store.identity_groups import NeverLinkRule
from bridge.store.writer import Writer
from tests import factories as make
from tests.factories import columns, dataset, lifecycle, micros, run_event, run_uuid, schema, symlinks
from tests.stores import Store

RUN = "SELECT event_type, started_at, event_time FROM ol_run WHERE run_uuid = ?"


def seen_names(store: Store) -> set[str]:
    return {name for (name,) in store.rows("SELECT name FROM dataset")}


# Law 1: ranks, then time, then content; never arrival.


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        (
            run_event(second=9, inputs=[dataset("t", documentation=make.facet(description="weak"))]),
            make.job_event(1, outputs=[dataset("t", documentation=make.facet(description="strong"))]),
        ),
        (
            make.job_event(9, outputs=[dataset("t", documentation=make.facet(description="weak"))]),
            run_event(second=1, outputs=[dataset("t", documentation=make.facet(description="strong"))]),
        ),
        (
            run_event(second=9, inputs=[dataset("t", documentation=make.facet(description="weak"))]),
            make.dataset_event(1, dataset("t", documentation=make.facet(description="strong"))),
        ),
        (
            run_event(second=1, outputs=[dataset("t", documentation=make.facet(description="weak"))]),
            run_event(second=2, outputs=[dataset("t", documentation=make.facet(description="strong"))]),
        ),
    ],
    ids=["JobEvent over input", "output over JobEvent", "DatasetEvent over input", "later over earlier"],
)
def test_1_rank_beats_time_and_time_beats_arrival(weaker: make.Json, stronger: make.Json) -> None:
    for order in ((weaker, stronger), (stronger, weaker)):
        with Store() as store:
            store.apply_each(*order)
            assert store.value("SELECT description FROM dataset WHERE name = 't'") == "strong"


def test_1_what_a_steward_asserts_outranks_every_machine(store: Store) -> None:
    store.apply_each(
        make.job_event(1, lineageBridge_sla=make.facet(by="06:30")),
        run_event(second=9, job_facets={"lineageBridge_other": make.facet(x=1)}),
        make.job_event(2, lineageBridge_sla=make.facet(by="07:30")),
    )
    body, order = store.rows("SELECT body, facet_order FROM facet WHERE name = 'lineageBridge_sla'")[0]
    assert "07:30" in body
    assert order[0] == 50


@pytest.mark.parametrize(
    ("event", "order", "rank"),
    [
        (run_event(run_facets={"parent": make.parent(2, "box")}), "claim_order FROM ol_run", {0, 1}),
        (run_event(outputs=[dataset("t")]), "tag_order FROM dataset_version", {10}),
        (run_event(inputs=[dataset("t", custom=make.facet(x=1))]), "facet_order FROM facet", {20}),
        (make.job_event(outputs=[dataset("t", custom=make.facet(x=1))]), "facet_order FROM facet", {30}),
        (run_event(outputs=[dataset("t", custom=make.facet(x=1))]), "facet_order FROM facet", {40}),
        (make.dataset_event(1, dataset("t", custom=make.facet(x=1))), "facet_order FROM facet", {40}),
        (make.job_event(lineageBridge_sla=make.facet(by="06:30")), "facet_order FROM facet", {50}),
        (make.dataset_event(1, dataset("t", columnLineage=columns({}))), "declared_lineage FROM ol_dataset", {1}),
        (make.dataset_event(1, dataset("t", lineage=make.facet(inputs=[]))), "declared_lineage FROM ol_dataset", {2}),
    ],
    ids=[
        "claim: own, stub", "mention", "input", "JobEvent", "output", "DatasetEvent", "steward", "columns", "lineage",
    ],
)  # fmt: skip
def test_1_ranks_are_written_into_the_stores_so_a_newer_program_must_mean_the_same_by_them(
    store: Store, event: make.Json, order: str, rank: set[int]
) -> None:
    store.apply(event)
    assert {found[0] for (found,) in store.rows(f"SELECT {order}")} == rank


def test_1_created_is_the_earliest_mention_and_updated_the_latest(store: Store) -> None:
    store.apply_each(*(run_event(second=s, outputs=[dataset("t")]) for s in (5, 2, 8)))
    assert store.rows("SELECT created_at, updated_at FROM ol_dataset") == [(micros(2), micros(8))]


# Law 2: identity of events.


@pytest.mark.parametrize(
    "same",
    [
        {"eventTime": "2026-01-01T01:00:00.5+01:00"},
        {"eventTime": "2026-01-01T00:00:00.500000Z"},
        {"eventTime": "2026-01-01T00:00:00.5Z", "extra": None},
    ],
    ids=["another zone", "trailing zeros", "a null member"],
)
def test_2_an_event_written_otherwise_is_the_same_event(store: Store, same: make.Json) -> None:
    event = run_event(second=0.5)
    store.apply_each(event, dict(reversed(list((event | same).items()))))
    assert store.rows("SELECT receipts FROM run_event") == [(2,)]


def test_2_historical_is_the_and_over_receipts(store: Store) -> None:
    event = run_event()
    for historical, expected in ((True, 1), (False, 0), (True, 0)):
        store.writer.write([store.read(event, historical=historical)])
        assert store.value("SELECT historical FROM run_event") == expected


# Law 3: run state.


@pytest.mark.parametrize(
    ("events", "state", "end"),
    [
        (["START 1", "COMPLETE 2"], "COMPLETE", 2),
        (["COMPLETE 2", "START 1"], "COMPLETE", 2),
        (["COMPLETE 1", "START 2", "RUNNING 3"], "COMPLETE", 1),
        (["FAIL 1", "COMPLETE 2"], "FAIL", 1),
        (["ABORT 1", "COMPLETE 2"], "ABORT", 1),
        (["FAIL 1", "ABORT 2"], "FAIL", 1),
        (["FAIL 1", "FAIL 3", "COMPLETE 9"], "FAIL", 3),
        (["START 1", "RUNNING 2", "OTHER 9"], "RUNNING", 2),
        (["START 2", "RUNNING 1"], "RUNNING", 1),
    ],
)
def test_3_the_highest_state_wins_whatever_the_times(store: Store, events: list[str], state: str, end: int) -> None:
    parsed = [event.split() for event in events]
    store.apply_each(*(run_event(kind, int(second)) for kind, second in parsed))
    start = min(micros(int(second)) for _, second in parsed)
    assert store.rows(RUN, run_uuid(1)) == [(state, start, micros(end))]


def test_3_other_alone_is_no_state(store: Store) -> None:
    store.apply(run_event("OTHER", 1))
    assert store.value("SELECT event_type FROM ol_run") is None
    assert store.value("SELECT status FROM process_run") == "STARTED"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_3_a_runs_own_events_outrank_mentions_then_the_earliest_claim_wins(order: tuple[int, ...]) -> None:
    claims = (
        run_event("START", 1, run=2, job="child", run_facets={"parent": make.parent(1, "mentioned")}),
        run_event("COMPLETE", 5, run=1, job="late"),
        run_event("START", 3, run=1, job="early"),
    )
    with Store() as store:
        store.apply_each(*(claims[i] for i in order))
        query = (
            "SELECT p.name, r.claim_disputed FROM process_run r JOIN process p USING (process_id) WHERE run_uuid = ?"
        )
        assert store.rows(query, run_uuid(1)) == [("early", 1)]
        assert store.rows(query, run_uuid(2)) == [("child", 0)]


def test_3_assertions_stay_with_the_job_that_the_event_names(store: Store) -> None:
    store.apply_each(
        run_event("START", 1, job="first", outputs=[dataset("t")]),
        run_event("COMPLETE", 2, job="second", inputs=[dataset("s")]),
    )
    assert store.value("SELECT j.name FROM ol_run_output JOIN ol_job j USING (org_id, job_id)") == "first"
    assert store.value("SELECT j.name FROM ol_run_input JOIN ol_job j USING (org_id, job_id)") == "second"


# Law 4: names.


def test_4_a_late_symlink_merges_history_by_itself(store: Store) -> None:
    store.apply_each(
        run_event(second=1, run=1, job="writer", inputs=[dataset("raw")], outputs=[dataset("/path")]),
        run_event(second=2, run=2, job="reader", inputs=[dataset("db.table")], outputs=[dataset("out")]),
    )
    assert store.upstream("out") == {("db.table", "reader", "", "inferred")}
    store.apply(make.dataset_event(3, dataset("/path", symlinks=symlinks("db.table"))))
    assert store.upstream("db.table") == {("raw", "writer", "", "inferred")}
    assert store.upstream("/path") == {("raw", "writer", "", "inferred")}
    assert seen_names(store) == {"raw", "db.table", "out"}


def test_4_a_facet_that_omits_an_element_removes_nothing(store: Store) -> None:
    store.apply_each(
        make.dataset_event(1, dataset("p", symlinks=symlinks("t1"))),
        make.dataset_event(2, dataset("p", symlinks=symlinks("t2"))),
    )
    assert seen_names(store) == {"t1"}


@pytest.mark.parametrize(
    ("asserted", "deleted", "linked"), [(1, 2, False), (2, 2, False), (3, 2, True)], ids=["before", "tie", "after"]
)
def test_4_an_element_lives_iff_asserted_after_the_deletion(asserted: int, deleted: int, linked: bool) -> None:
    link = make.dataset_event(asserted, dataset("p", symlinks=symlinks("t")))
    cut = make.dataset_event(deleted, dataset("p", symlinks=make.DELETED))
    for order in ((link, cut), (cut, link)):
        with Store() as store:
            store.apply_each(*order)
            assert (seen_names(store) == {"t"}) is linked


def test_4_a_component_that_falls_apart_falls_apart_everywhere(store: Store) -> None:
    store.apply_each(
        make.dataset_event(1, dataset("a", symlinks=symlinks("m"))),
        make.dataset_event(1, dataset("m", symlinks=symlinks("z"))),
    )
    assert seen_names(store) == {"m"}
    store.apply(make.dataset_event(2, dataset("m", symlinks=make.DELETED)))
    assert seen_names(store) == {"m", "z"}


@pytest.mark.parametrize(
    ("links", "preferred"),
    [
        ({"a": [("z", "TABLE")]}, "z"),
        ({"a": [("z", "LOCATION")]}, "a"),
        ({"c": [("b", "TABLE"), ("a", "TABLE"), ("0", "LOCATION")]}, "a"),
    ],
)
def test_4_the_preferred_name_is_a_table_then_the_smallest(
    store: Store, links: dict[str, list[tuple[str, str]]], preferred: str
) -> None:
    for name, others in links.items():
        facet = make.facet(identifiers=[{"namespace": "db", "name": n, "type": kind} for n, kind in others])
        store.apply(make.dataset_event(1, dataset(name, symlinks=facet)))
    assert seen_names(store) == {preferred}


def test_4_never_link_cuts_bad_links_and_changing_it_settles_the_store_anew() -> None:
    link = make.dataset_event(1, dataset("p", symlinks=symlinks("dummy")))
    with Store(never_link=[NeverLinkRule("d?", "dum*")]) as store:
        store.apply(link)
        assert seen_names(store) == {"p", "dummy"}
        Writer(store.db, store.org)
        assert seen_names(store) == {"dummy"}
        Writer(store.db, store.org, never_link=[NeverLinkRule("db")])
        assert seen_names(store) == {"p", "dummy"}


@pytest.mark.parametrize(
    ("rule", "linked"),
    [
        (NeverLinkRule("db", "dum*"), False),
        (NeverLinkRule("db", "other"), True),
        (NeverLinkRule("elsewhere", "dum*"), True),
        (NeverLinkRule("elsewhere"), True),
    ],
    ids=["both", "only the namespace", "only the name", "neither"],
)
def test_4_never_link_means_the_names_that_both_its_patterns_match(rule: NeverLinkRule, linked: bool) -> None:
    with Store(never_link=[rule]) as store:
        store.apply(make.dataset_event(1, dataset("p", symlinks=symlinks("dummy"))))
        assert (seen_names(store) == {"dummy"}) is linked


def test_4_deleted_facets_are_tombstones_at_their_own_rank(store: Store) -> None:
    text = "SELECT description FROM dataset WHERE name = 't'"
    store.apply(run_event(second=1, outputs=[dataset("t", documentation=make.facet(description="x"))]))
    store.apply(run_event(second=5, inputs=[dataset("t", documentation=make.DELETED)]))
    assert store.value(text) == "x"
    store.apply(run_event(second=2, outputs=[dataset("t", documentation=make.DELETED)]))
    assert store.value(text) is None
    store.apply(run_event(second=3, outputs=[dataset("t", documentation=make.facet(description="y"))]))
    assert store.value(text) == "y"


# Law 5: life and death.


@pytest.mark.parametrize(
    ("events", "alive"),
    [
        ([(1, 1, None)], True),
        ([(1, 1, None), (2, 2, "DROP")], False),
        ([(1, 1, None), (2, 2, "DROP"), (3, 3, "CREATE")], True),
        ([(1, 3, None), (2, 2, "DROP")], True),
        ([(2, 2, "DROP"), (2, 3, None)], False),
        ([(1, 2, None), (2, 2, "DROP")], False),
    ],
    ids=["written", "dropped", "made again", "written after", "its own later event", "same moment"],
)
def test_5_dead_is_dropped_and_not_written_since_by_another_run(
    events: list[tuple[int, int, str | None]], alive: bool
) -> None:
    made = [
        run_event(
            second=second, run=run, outputs=[dataset("t", **({"lifecycleStateChange": lifecycle(c)} if c else {}))]
        )
        for run, second, c in events
    ]
    for order in (made, made[::-1]):
        with Store() as store:
            store.apply_each(*order)
            assert store.value("SELECT is_active FROM ol_dataset") == alive


def test_5_reads_neither_kill_nor_revive(store: Store) -> None:
    drop = dataset("t", lifecycleStateChange=lifecycle("DROP"))
    store.apply_each(run_event(second=1, outputs=[drop]), run_event(second=9, run=2, inputs=[dataset("t")]))
    assert store.value("SELECT is_active FROM ol_dataset") == 0
    store.apply(run_event(second=9, run=3, inputs=[dataset("u", lifecycleStateChange=lifecycle("DROP"))]))
    assert store.value("SELECT is_active FROM ol_dataset WHERE name = 'u'") == 1


def test_5_a_rename_retires_the_source_and_is_never_a_symlink(store: Store) -> None:
    store.apply_each(
        run_event(second=1, run=1, inputs=[dataset("raw")], outputs=[dataset("old")]),
        run_event(
            second=2, run=2, job="mover", outputs=[dataset("new", lifecycleStateChange=lifecycle("RENAME", "old"))]
        ),
    )
    status = dict(store.rows("SELECT name, status FROM dataset"))
    assert status == {"raw": "ACTIVE", "old": "DEPRECATED", "new": "ACTIVE"}
    assert ("old", "", "", "explicit") in store.upstream("new")


@pytest.mark.parametrize("change", ["ALTER", "CREATE", "OVERWRITE", "TRUNCATE"])
def test_5_only_a_rename_retires_the_name_before(store: Store, change: str) -> None:
    store.apply_each(
        run_event(second=1, run=1, outputs=[dataset("old")]),
        run_event(second=2, run=2, outputs=[dataset("new", lifecycleStateChange=lifecycle(change, "old"))]),
    )
    assert dict(store.rows("SELECT name, status FROM dataset")) == {"old": "ACTIVE", "new": "ACTIVE"}
    assert store.rows("SELECT 1 FROM dataset_succession") == []


def test_5_swapped_tables_do_not_fuse(store: Store) -> None:
    for second, (source, target) in enumerate((("a", "tmp"), ("b", "a"), ("tmp", "b")), start=1):
        renamed = dataset(target, lifecycleStateChange=lifecycle("RENAME", source))
        store.apply(run_event(second=second, run=second, outputs=[renamed]))
    assert dict(store.rows("SELECT name, status FROM dataset")) == {"a": "ACTIVE", "b": "ACTIVE", "tmp": "DEPRECATED"}


def test_5_a_drop_under_one_name_kills_the_class(store: Store) -> None:
    store.apply_each(
        run_event(second=1, run=1, outputs=[dataset("/p", symlinks=symlinks("t"))]),
        run_event(second=2, run=2, outputs=[dataset("t", lifecycleStateChange=lifecycle("DROP"))]),
    )
    assert store.rows("SELECT name, status FROM dataset") == [("t", "DEPRECATED")]
    store.apply(run_event(second=3, run=3, outputs=[dataset("/p")]))
    assert store.rows("SELECT name, status FROM dataset") == [("t", "ACTIVE")]


# Law 6: schemas.


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([("in", 1, "a b c"), ("in", 2, "a")], "a b c"),
        ([("in", 1, "a b"), ("in", 2, "a c")], "a c"),
        ([("in", 2, "a b"), ("in", 1, "a c")], "a b"),
        ([("in", 9, "a b c"), ("out", 1, "a")], "a"),
        ([("out", 1, "a b c"), ("out", 2, "a")], "a"),
        ([("out", 1, "a"), ("out", 2, "")], "a"),
        ([("itself", 1, "a"), ("in", 2, "a b")], "a"),
        ([("declared", 1, "a"), ("in", 2, "a b")], "a"),
        ([("out", 1, "a"), ("declared", 2, "a b")], "a"),
        ([("in", 1, "_file a _pos")], "a"),
    ],
)
def test_6_the_schema_of_the_highest_rank_then_most_fields_then_latest(
    events: list[tuple[str, int, str]], expected: str
) -> None:
    def event(side: str, second: int, names: str) -> make.Json:
        described = dataset("t", schema=schema(*names.split()))
        if side == "itself":
            return make.dataset_event(second, described)
        if side == "declared":
            return make.job_event(second, outputs=[described])
        return run_event(second=second, run=second, **{"inputs" if side == "in" else "outputs": [described]})

    for order in (events, events[::-1]):
        with Store() as store:
            store.apply_each(*(event(*e) for e in order))
            found = store.rows("SELECT field_name FROM ol_dataset_field ORDER BY ordinal_position")
            assert " ".join(name for (name,) in found) == expected


def test_6_a_schema_version_is_a_row_per_dataset_and_shape_not_per_run(store: Store) -> None:
    for run in range(1, 6):
        store.apply(run_event(second=run, run=run, outputs=[dataset("t", schema=schema("a", b=f"text {run}"))]))
    assert store.value("SELECT count(*) FROM dataset_schema") == 1
    fields = store.rows("SELECT field_name, field_description, ordinal_position FROM ol_dataset_field ORDER BY 3")
    assert fields == [("a", None, 1), ("b", "text 5", 2)]


def test_6_a_deleted_schema_is_gone_until_reported_again(store: Store) -> None:
    count = "SELECT count(*) FROM ol_dataset_field"
    store.apply(run_event(second=1, outputs=[dataset("t", schema=schema("a"))]))
    store.apply(run_event(second=9, inputs=[dataset("t", schema=make.DELETED)]))
    assert store.value(count) == 1
    store.apply(run_event(second=2, outputs=[dataset("t", schema=make.DELETED)]))
    assert store.value(count) == 0
    store.apply(run_event(second=3, outputs=[dataset("t", schema=schema("a"))]))
    assert store.value(count) == 1


def test_5_a_class_that_loses_its_dropped_member_is_alive_again(store: Store) -> None:
    gone = dataset("b", lifecycleStateChange=lifecycle("DROP"), symlinks=symlinks("a"))
    store.apply_each(make.dataset_event(1, gone), make.job_event(2, outputs=[dataset("b", symlinks=make.DELETED)]))
    assert dict(store.rows("SELECT name, is_active FROM ol_dataset")) == {"a": 1, "b": 0}


def test_4_a_deleted_facet_of_an_output_takes_its_columns_back(store: Store) -> None:
    said = dataset("t", version=make.facet(datasetVersion="v1"), lineageBridge_path=make.facet(path="s3://b/x"))
    said["outputFacets"] = {"outputStatistics": make.facet(rowCount=7)}
    deleted = dataset("t", version={"_deleted": True}, lineageBridge_path={"_deleted": True})
    deleted["outputFacets"] = {"outputStatistics": {"_deleted": True}}
    query = "SELECT version_tag, path, row_count FROM dataset_version"
    store.apply(run_event(second=1, outputs=[said]))
    assert store.rows(query) == [("v1", "s3://b/x", 7)]
    store.apply(run_event(second=2, outputs=[deleted]))
    ((tag, path, rows),) = store.rows(query)
    assert (tag, rows) == (make.run_uuid(1), None)
    assert path != "s3://b/x"
    store.apply(run_event(second=3, outputs=[said]))
    assert store.rows(query) == [("v1", "s3://b/x", 7)]
