"""Merge laws 1 to 6 of docs/guarantees.md; expected results were decided by hand."""

import pytest

from bridge.store.symlink_graph import LinkRules, NeverLinkRule
from bridge.store.writer import Writer
from tests import factories as make
from tests.factories import columns, dataset, lifecycle, micros, run_event, run_uuid, schema, symlinks
from tests.stores import Store

RUN = "SELECT event_type, started_at, event_time FROM ol_run WHERE run_uuid = ?"


def dataset_names(store: Store) -> set[str]:
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


def test_1_steward_facets_outrank_machine_facets(store: Store) -> None:
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
def test_1_stored_rank_values_are_stable(store: Store, event: make.Json, order: str, rank: set[int]) -> None:
    store.apply(event)
    assert {value[0] for (value,) in store.rows(f"SELECT {order}")} == rank


def test_1_created_and_updated_are_the_earliest_and_latest_mention(store: Store) -> None:
    store.apply_each(*(run_event(second=second, outputs=[dataset("t")]) for second in (5, 2, 8)))
    assert store.rows("SELECT created_at, updated_at FROM ol_dataset") == [(micros(2), micros(8))]


# Law 2: identity of events.


@pytest.mark.parametrize(
    "changes",
    [
        {"eventTime": "2026-01-01T01:00:00.5+01:00"},
        {"eventTime": "2026-01-01T00:00:00.500000Z"},
        {"eventTime": "2026-01-01T00:00:00.5Z", "extra": None},
    ],
    ids=["another zone", "trailing zeros", "a null member"],
)
def test_2_different_encodings_of_an_event_are_the_same_event(store: Store, changes: make.Json) -> None:
    event = run_event(second=0.5)
    store.apply_each(event, dict(reversed(list((event | changes).items()))))
    assert store.rows("SELECT receipts FROM run_event") == [(2,)]


def test_2_event_is_historical_only_if_all_receipts_are(store: Store) -> None:
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
def test_3_highest_state_wins_regardless_of_time(store: Store, events: list[str], state: str, end: int) -> None:
    parsed = [event.split() for event in events]
    store.apply_each(*(run_event(kind, int(second)) for kind, second in parsed))
    start = min(micros(int(second)) for _, second in parsed)
    assert store.rows(RUN, run_uuid(1)) == [(state, start, micros(end))]


def test_3_other_does_not_set_a_state(store: Store) -> None:
    store.apply(run_event("OTHER", 1))
    assert store.value("SELECT event_type FROM ol_run") is None
    assert store.value("SELECT status FROM process_run") == "STARTED"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_3_own_events_outrank_mentions_then_earliest_claim_wins(order: tuple[int, ...]) -> None:
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


def test_3_inputs_and_outputs_keep_the_job_of_their_event(store: Store) -> None:
    store.apply_each(
        run_event("START", 1, job="first", outputs=[dataset("t")]),
        run_event("COMPLETE", 2, job="second", inputs=[dataset("s")]),
    )
    assert store.value("SELECT j.name FROM ol_run_output JOIN ol_job j USING (org_id, job_id)") == "first"
    assert store.value("SELECT j.name FROM ol_run_input JOIN ol_job j USING (org_id, job_id)") == "second"


# Law 4: names.


def test_4_late_symlink_merges_existing_history(store: Store) -> None:
    store.apply_each(
        run_event(second=1, run=1, job="writer", inputs=[dataset("raw")], outputs=[dataset("/path")]),
        run_event(second=2, run=2, job="reader", inputs=[dataset("db.table")], outputs=[dataset("out")]),
    )
    assert store.upstream("out") == {("db.table", "reader", "", "inferred")}
    store.apply(make.dataset_event(3, dataset("/path", symlinks=symlinks("db.table"))))
    assert store.upstream("db.table") == {("raw", "writer", "", "inferred")}
    assert store.upstream("/path") == {("raw", "writer", "", "inferred")}
    assert dataset_names(store) == {"raw", "db.table", "out"}


def test_4_omitted_symlink_is_not_removed(store: Store) -> None:
    store.apply_each(
        make.dataset_event(1, dataset("p", symlinks=symlinks("t1"))),
        make.dataset_event(2, dataset("p", symlinks=symlinks("t2"))),
    )
    assert dataset_names(store) == {"t1"}


@pytest.mark.parametrize(
    ("asserted", "deleted", "linked"), [(1, 2, False), (2, 2, False), (3, 2, True)], ids=["before", "tie", "after"]
)
def test_4_symlink_is_active_only_if_asserted_after_deletion(asserted: int, deleted: int, linked: bool) -> None:
    link = make.dataset_event(asserted, dataset("p", symlinks=symlinks("t")))
    deletion = make.dataset_event(deleted, dataset("p", symlinks=make.DELETED))
    for order in ((link, deletion), (deletion, link)):
        with Store() as store:
            store.apply_each(*order)
            assert (dataset_names(store) == {"t"}) is linked


def test_4_identity_group_splits_when_a_link_is_deleted(store: Store) -> None:
    store.apply_each(
        make.dataset_event(1, dataset("a", symlinks=symlinks("m"))),
        make.dataset_event(1, dataset("m", symlinks=symlinks("z"))),
    )
    assert dataset_names(store) == {"m"}
    store.apply(make.dataset_event(2, dataset("m", symlinks=make.DELETED)))
    assert dataset_names(store) == {"m", "z"}


@pytest.mark.parametrize(
    ("links", "preferred"),
    [
        ({"a": [("z", "TABLE")]}, "z"),
        ({"a": [("z", "LOCATION")]}, "a"),
        ({"c": [("b", "TABLE"), ("a", "TABLE"), ("0", "LOCATION")]}, "a"),
    ],
)
def test_4_preferred_name_is_a_table_then_the_smallest(
    store: Store, links: dict[str, list[tuple[str, str]]], preferred: str
) -> None:
    for name, aliases in links.items():
        facet = make.facet(identifiers=[{"namespace": "db", "name": alias, "type": kind} for alias, kind in aliases])
        store.apply(make.dataset_event(1, dataset(name, symlinks=facet)))
    assert dataset_names(store) == {preferred}


def test_4_changed_never_link_rules_are_applied_to_the_store() -> None:
    link = make.dataset_event(1, dataset("p", symlinks=symlinks("dummy")))
    with Store(never_link=[NeverLinkRule("d?", "dum*")]) as store:
        store.apply(link)
        assert dataset_names(store) == {"p", "dummy"}
        Writer(store.db, store.org)
        assert dataset_names(store) == {"dummy"}
        Writer(store.db, store.org, link_rules=LinkRules((NeverLinkRule("db"),)))
        assert dataset_names(store) == {"p", "dummy"}


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
def test_4_never_link_requires_both_patterns_to_match(rule: NeverLinkRule, linked: bool) -> None:
    with Store(never_link=[rule]) as store:
        store.apply(make.dataset_event(1, dataset("p", symlinks=symlinks("dummy"))))
        assert (dataset_names(store) == {"dummy"}) is linked


def test_4_deleted_facets_are_tombstones_at_their_rank(store: Store) -> None:
    text = "SELECT description FROM dataset WHERE name = 't'"
    store.apply(run_event(second=1, outputs=[dataset("t", documentation=make.facet(description="x"))]))
    store.apply(run_event(second=5, inputs=[dataset("t", documentation=make.DELETED)]))
    assert store.value(text) == "x"
    store.apply(run_event(second=2, outputs=[dataset("t", documentation=make.DELETED)]))
    assert store.value(text) is None
    store.apply(run_event(second=3, outputs=[dataset("t", documentation=make.facet(description="y"))]))
    assert store.value(text) == "y"


# Law 5: active and dropped datasets.


@pytest.mark.parametrize(
    ("events", "active"),
    [
        ([(1, 1, None)], True),
        ([(1, 1, None), (2, 2, "DROP")], False),
        ([(1, 1, None), (2, 2, "DROP"), (3, 3, "CREATE")], True),
        ([(1, 3, None), (2, 2, "DROP")], True),
        ([(2, 2, "DROP"), (2, 3, None)], False),
        ([(1, 2, None), (2, 2, "DROP")], False),
    ],
    ids=["written", "dropped", "recreated", "written after", "its own later event", "same time"],
)
def test_5_dropped_until_written_by_another_run(events: list[tuple[int, int, str | None]], active: bool) -> None:
    run_events = [
        run_event(
            second=second,
            run=run,
            outputs=[dataset("t", **({"lifecycleStateChange": lifecycle(change)} if change else {}))],
        )
        for run, second, change in events
    ]
    for order in (run_events, run_events[::-1]):
        with Store() as store:
            store.apply_each(*order)
            assert store.value("SELECT is_active FROM ol_dataset") == active


def test_5_reads_neither_drop_nor_restore_a_dataset(store: Store) -> None:
    drop = dataset("t", lifecycleStateChange=lifecycle("DROP"))
    store.apply_each(run_event(second=1, outputs=[drop]), run_event(second=9, run=2, inputs=[dataset("t")]))
    assert store.value("SELECT is_active FROM ol_dataset") == 0
    store.apply(run_event(second=9, run=3, inputs=[dataset("u", lifecycleStateChange=lifecycle("DROP"))]))
    assert store.value("SELECT is_active FROM ol_dataset WHERE name = 'u'") == 1


def test_5_rename_retires_the_source_and_is_not_a_symlink(store: Store) -> None:
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
def test_5_only_rename_retires_the_previous_name(store: Store, change: str) -> None:
    store.apply_each(
        run_event(second=1, run=1, outputs=[dataset("old")]),
        run_event(second=2, run=2, outputs=[dataset("new", lifecycleStateChange=lifecycle(change, "old"))]),
    )
    assert dict(store.rows("SELECT name, status FROM dataset")) == {"old": "ACTIVE", "new": "ACTIVE"}
    assert store.rows("SELECT 1 FROM dataset_succession") == []


def test_5_swapped_tables_stay_separate(store: Store) -> None:
    for second, (source, target) in enumerate((("a", "tmp"), ("b", "a"), ("tmp", "b")), start=1):
        renamed = dataset(target, lifecycleStateChange=lifecycle("RENAME", source))
        store.apply(run_event(second=second, run=second, outputs=[renamed]))
    assert dict(store.rows("SELECT name, status FROM dataset")) == {"a": "ACTIVE", "b": "ACTIVE", "tmp": "DEPRECATED"}


def test_5_drop_under_one_name_drops_the_identity_group(store: Store) -> None:
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
def test_6_schema_is_chosen_by_rank_then_field_count_then_time(
    events: list[tuple[str, int, str]], expected: str
) -> None:
    def event(side: str, second: int, names: str) -> make.Json:
        reported = dataset("t", schema=schema(*names.split()))
        if side == "itself":
            return make.dataset_event(second, reported)
        if side == "declared":
            return make.job_event(second, outputs=[reported])
        return run_event(second=second, run=second, **{"inputs" if side == "in" else "outputs": [reported]})

    for order in (events, events[::-1]):
        with Store() as store:
            store.apply_each(*(event(*arguments) for arguments in order))
            fields = store.rows("SELECT field_name FROM ol_dataset_field ORDER BY ordinal_position")
            assert " ".join(name for (name,) in fields) == expected


def test_6_schema_versions_are_stored_per_shape_not_per_run(store: Store) -> None:
    for run in range(1, 6):
        store.apply(run_event(second=run, run=run, outputs=[dataset("t", schema=schema("a", b=f"text {run}"))]))
    assert store.value("SELECT count(*) FROM dataset_schema") == 1
    fields = store.rows("SELECT field_name, field_description, ordinal_position FROM ol_dataset_field ORDER BY 3")
    assert fields == [("a", None, 1), ("b", "text 5", 2)]


def test_6_deleted_schema_is_empty_until_reported_again(store: Store) -> None:
    count = "SELECT count(*) FROM ol_dataset_field"
    store.apply(run_event(second=1, outputs=[dataset("t", schema=schema("a"))]))
    store.apply(run_event(second=9, inputs=[dataset("t", schema=make.DELETED)]))
    assert store.value(count) == 1
    store.apply(run_event(second=2, outputs=[dataset("t", schema=make.DELETED)]))
    assert store.value(count) == 0
    store.apply(run_event(second=3, outputs=[dataset("t", schema=schema("a"))]))
    assert store.value(count) == 1


def test_5_group_without_its_dropped_member_is_active_again(store: Store) -> None:
    dropped = dataset("b", lifecycleStateChange=lifecycle("DROP"), symlinks=symlinks("a"))
    store.apply_each(make.dataset_event(1, dropped), make.job_event(2, outputs=[dataset("b", symlinks=make.DELETED)]))
    assert dict(store.rows("SELECT name, is_active FROM ol_dataset")) == {"a": 1, "b": 0}


def test_4_deleted_output_facets_clear_their_columns(store: Store) -> None:
    reported = dataset("t", version=make.facet(datasetVersion="v1"), lineageBridge_path=make.facet(path="s3://b/x"))
    reported["outputFacets"] = {"outputStatistics": make.facet(rowCount=7)}
    deleted = dataset("t", version={"_deleted": True}, lineageBridge_path={"_deleted": True})
    deleted["outputFacets"] = {"outputStatistics": {"_deleted": True}}
    query = "SELECT version_tag, path, row_count FROM dataset_version"
    store.apply(run_event(second=1, outputs=[reported]))
    assert store.rows(query) == [("v1", "s3://b/x", 7)]
    store.apply(run_event(second=2, outputs=[deleted]))
    ((tag, path, rows),) = store.rows(query)
    assert (tag, rows) == (make.run_uuid(1), None)
    assert path != "s3://b/x"
    store.apply(run_event(second=3, outputs=[reported]))
    assert store.rows(query) == [("v1", "s3://b/x", 7)]
