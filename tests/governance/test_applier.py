"""Applying assets to the store: idempotent, and without loss of metadata from other sources."""

from pathlib import Path
from typing import Any

import pytest

from bridge.governance.applier import AssetApplier
from bridge.governance.asset_files import load_assets
from bridge.governance.loaded_asset import LoadedAsset
from bridge.store.governance_facets import EXPECTATIONS, GOVERNANCE, SLA, read_facets
from bridge.sync.canonical.governance import read_access_facets
from tests.factories import dataset, facet, run_event
from tests.governance.asset_harness import asset, asset_with_governance, make_applier
from tests.stores import Store, empty_postgres

LINKED_NAMES = [("db", "t"), ("lake", "t")]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Any:
    with Store(db=empty_postgres() if request.param == "postgres" else None) as opened:
        yield opened


def link_event() -> dict[str, Any]:
    """An event that links two datasets."""
    symlink = {"identifiers": [{"namespace": "lake", "name": "t", "type": "LOCATION"}]}
    return run_event("COMPLETE", outputs=[dataset("t", symlinks=facet(**symlink))])


def stored_facet(store: Store, applier: AssetApplier, name: tuple[str, str], facet_name: str = GOVERNANCE) -> Any:
    (key,) = applier.group_ids([name]).values()
    return read_facets(store.db, store.org, [key], facet_name).get(key)


@pytest.mark.parametrize(
    "assets",
    [
        [asset_with_governance("t", tags=["a"]), asset("t", "lake", governance={"tags": ["b"]})],
        [asset("t", "lake", governance={"tags": ["a"]}), asset("*", "db", governance={"tags": ["b"]})],
        [asset_with_governance("t", tags=["a"]), asset("*", "*", governance={"tags": ["b"]})],
    ],
    ids=["two files", "file, and pattern for the other name", "file, and pattern for both"],
)
@pytest.mark.parametrize("linked_later", [False, True], ids=["linked before", "linked later"])
def test_assets_of_linked_names_are_combined_once(
    store: Store, assets: list[LoadedAsset], linked_later: bool
) -> None:
    applier = make_applier(store)
    if linked_later:
        applier.apply(assets)
    store.apply(link_event())
    applier.apply(assets)
    assert not applier.apply(assets).changes
    assert (
        {*stored_facet(store, applier, LINKED_NAMES[0])["tags"]}
        == {*stored_facet(store, applier, LINKED_NAMES[1])["tags"]}
        == {"a", "b"}
    )
    applier.apply([], prune=True)
    assert [stored_facet(store, applier, name) for name in LINKED_NAMES] == [None, None]
    assert not applier.apply([], prune=True).changes


def test_prune_keeps_contracts_from_other_sources(store: Store) -> None:
    facets = {"lineageBridge_sla": facet(freshness="1h"), "lineageBridge_expectations": facet(checks=[])}
    store.apply(run_event("COMPLETE", outputs=[dataset("t", **facets)]))
    applier = make_applier(store)
    for assets, prune in (([asset_with_governance("t", tags=["a"])], False), ([asset("*", "*")], False), ([], True)):
        applier.apply(assets, prune=prune)
        assert stored_facet(store, applier, ("db", "t"), SLA) == {"freshness": "1h"}
        assert stored_facet(store, applier, ("db", "t"), EXPECTATIONS) == {"checks": []}
    applier.apply([asset("t", sla={"freshness": "2h"})])
    applier.apply([asset("t")])
    assert stored_facet(store, applier, ("db", "t"), SLA) is None, "the SLA of the file is removed with it"


UNLIKELY = {
    "a date": "since: 2020-01-01",
    "a time": "since: 2020-01-01 10:00:00",
    "nothing": "since: null",
    "a large number": f"since: {10**30}",
    "bytes": "since: !!binary aGk=",
}


@pytest.mark.parametrize("parameter", UNLIKELY.values(), ids=UNLIKELY)
def test_yaml_values_unknown_to_json_are_applied_once(store: Store, tmp_path: Path, parameter: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        f"asset: {{name: t, namespace: db, quality: [{{name: q, check: c, {parameter}}}]}}", encoding="utf-8"
    )
    applier = make_applier(store)
    assert len(applier.apply(load_assets([file]).loaded).changes) == 1
    assert not applier.apply(load_assets([file]).loaded).changes
    assert not applier.apply([]).changes, "equal from file and from store"


def test_unreadable_stored_asset_does_not_affect_others(store: Store) -> None:
    applier = make_applier(store)
    applier.apply([asset_with_governance("t", tags=["a"])])
    store.db.execute("UPDATE asset SET content_json = '{\"name\": null}'")
    assert len(applier.apply([asset_with_governance("u", tags=["a"])]).changes) == 1
    assert stored_facet(store, applier, ("db", "t"))["tags"] == ["a"]


def test_pattern_applies_to_new_dataset_of_same_push(store: Store) -> None:
    applier = make_applier(store)
    assets = [
        asset("new", schema=[{"name": "k"}], governance={"tags": ["a"]}),
        asset("n*", governance={"tags": ["b"]}),
    ]
    assert applier.preview(assets).pending == {}
    applier.apply(assets)
    assert {*stored_facet(store, applier, ("db", "new"))["tags"]} == {"a", "b"}
    assert not applier.apply(assets).changes


def test_read_access_facets_returns_assets_with_policies(store: Store) -> None:
    applier = make_applier(store)
    policy = {"access_policies": [{"role": "r", "permissions": ["read"]}]}
    applier.apply(
        [
            asset_with_governance("t", policy, tags=["a"]),
            asset_with_governance("u", tags=["a"]),
            asset("v", "warehouse.d.s"),
        ]
    )
    assert [facet_["asset"] for facet_ in read_access_facets(store.db, store.org)] == ["t"]
    applier.apply([asset_with_governance("t", tags=["a"])])
    assert read_access_facets(store.db, store.org) == []


def test_facet_at_maximum_time_does_not_affect_others(store: Store) -> None:
    event = run_event("COMPLETE", outputs=[dataset("t", lineageBridge_governance=facet(tags=["z"]))])
    store.apply(event | {"eventTime": "9999-12-31T23:59:59.999999Z"})
    applier = make_applier(store)
    assets = [asset_with_governance("t", tags=["a"]), asset_with_governance("u", tags=["a"])]
    assert [change.name for change in applier.apply(assets).changes] == [("db", "u")]
    assert applier.apply(assets).changes == []
