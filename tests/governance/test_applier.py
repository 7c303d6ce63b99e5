"""Taking assets into the store: at rest once everything is said, and without a word of others lost."""

from pathlib import Path
from typing import Any

import pytest

from bridge.governance.applier import AssetApplier
from bridge.governance.asset_files import load_assets
from bridge.governance.loaded_asset import LoadedAsset
from bridge.store.governance_facets import EXPECTATIONS, GOVERNANCE, SLA, read_facets
from bridge.sync.canonical.governance import read_all_access
from tests.factories import dataset, facet, run_event
from tests.governance.asset_harness import asset, governed, stewardship
from tests.stores import Store, empty_postgres

ONE = [("db", "t"), ("lake", "t")]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Any:
    with Store(db=empty_postgres() if request.param == "postgres" else None) as made:
        yield made


def linked() -> dict[str, Any]:
    """An event by which two datasets are one."""
    symlink = {"identifiers": [{"namespace": "lake", "name": "t", "type": "LOCATION"}]}
    return run_event("COMPLETE", outputs=[dataset("t", symlinks=facet(**symlink))])


def said(store: Store, of: AssetApplier, name: tuple[str, str], which: str = GOVERNANCE) -> Any:
    (key,) = of.group_ids([name]).values()
    return read_facets(store.db, store.org, [key], which).get(key)


@pytest.mark.parametrize(
    "assets",
    [
        [governed("t", tags=["a"]), asset("t", "lake", governance={"tags": ["b"]})],
        [asset("t", "lake", governance={"tags": ["a"]}), asset("*", "db", governance={"tags": ["b"]})],
        [governed("t", tags=["a"]), asset("*", "*", governance={"tags": ["b"]})],
    ],
    ids=["two files", "a file and a pattern for the other name", "a file and a pattern for both"],
)
@pytest.mark.parametrize("late", [False, True], ids=["one from the start", "one later"])
def test_what_is_said_of_two_names_of_one_dataset_unites_and_comes_to_rest(
    store: Store, assets: list[LoadedAsset], late: bool
) -> None:
    of = stewardship(store)
    if late:
        of.apply(assets)
    store.apply(linked())
    of.apply(assets)
    assert not of.apply(assets).changes
    assert {*said(store, of, ONE[0])["tags"]} == {*said(store, of, ONE[1])["tags"]} == {"a", "b"}
    of.apply([], prune=True)
    assert [said(store, of, name) for name in ONE] == [None, None]
    assert not of.apply([], prune=True).changes


def test_what_others_promise_is_taken_back_by_nobody(store: Store) -> None:
    promised = {"lineageBridge_sla": facet(freshness="1h"), "lineageBridge_expectations": facet(checks=[])}
    store.apply(run_event("COMPLETE", outputs=[dataset("t", **promised)]))
    of = stewardship(store)
    for assets, prune in (([governed("t", tags=["a"])], False), ([asset("*", "*")], False), ([], True)):
        of.apply(assets, prune=prune)
        assert said(store, of, ("db", "t"), SLA) == {"freshness": "1h"}
        assert said(store, of, ("db", "t"), EXPECTATIONS) == {"checks": []}
    of.apply([asset("t", sla={"freshness": "2h"})])
    of.apply([asset("t")])
    assert said(store, of, ("db", "t"), SLA) is None, "what the file itself promised goes with it"


UNLIKELY = {
    "a date": "since: 2020-01-01",
    "a time": "since: 2020-01-01 10:00:00",
    "nothing": "since: null",
    "a large number": f"since: {10**30}",
    "bytes": "since: !!binary aGk=",
}


@pytest.mark.parametrize("said", UNLIKELY.values(), ids=UNLIKELY)
def test_what_yaml_knows_and_json_does_not_comes_to_rest(store: Store, tmp_path: Path, said: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"asset: {{name: t, namespace: db, quality: [{{name: q, check: c, {said}}}]}}", encoding="utf-8")
    of = stewardship(store)
    assert len(of.apply(load_assets([file]).loaded).changes) == 1
    assert not of.apply(load_assets([file]).loaded).changes
    assert not of.apply([]).changes, "read from the file or as it was remembered, it is the same"


def test_an_asset_that_cannot_be_read_any_more_keeps_no_other_back(store: Store) -> None:
    of = stewardship(store)
    of.apply([governed("t", tags=["a"])])
    store.db.execute("UPDATE asset SET content_json = '{\"name\": null}'")
    assert len(of.apply([governed("u", tags=["a"])]).changes) == 1
    assert said(store, of, ("db", "t"))["tags"] == ["a"]


def test_a_pattern_is_about_what_is_named_beside_it_at_once(store: Store) -> None:
    of = stewardship(store)
    assets = [
        asset("new", schema=[{"name": "k"}], governance={"tags": ["a"]}),
        asset("n*", governance={"tags": ["b"]}),
    ]
    assert of.preview(assets).pending == {}
    of.apply(assets)
    assert {*said(store, of, ("db", "new"))["tags"]} == {"a", "b"}
    assert not of.apply(assets).changes


def test_only_what_speaks_of_access_is_read_for_the_policies(store: Store) -> None:
    of = stewardship(store)
    policy = {"access_policies": [{"role": "r", "permissions": ["read"]}]}
    of.apply([governed("t", policy, tags=["a"]), governed("u", tags=["a"]), asset("v", "warehouse.d.s")])
    assert [one["asset"] for one in read_all_access(store.db, store.org)] == ["t"]
    of.apply([governed("t", tags=["a"])])
    assert read_all_access(store.db, store.org) == []


def test_what_was_said_at_the_end_of_times_keeps_no_other_back(store: Store) -> None:
    last = run_event("COMPLETE", outputs=[dataset("t", lineageBridge_governance=facet(tags=["z"]))])
    store.apply(last | {"eventTime": "9999-12-31T23:59:59.999999Z"})
    of = stewardship(store)
    assets = [governed("t", tags=["a"]), governed("u", tags=["a"])]
    assert [one.name for one in of.apply(assets).changes] == [("db", "u")]
    assert of.apply(assets).changes == []
