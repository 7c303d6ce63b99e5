"""Asset sync converges without lost changes, for any sequence of changes and failures."""

import os
from typing import Any, Literal, NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bridge.governance.asset_sync import AssetSync
from mappers.governance.merge import FieldValue, is_conflict, merge_value
from mappers.openmetadata.descriptions import escape_description
from tests.factories import dataset, run_event, schema
from tests.governance.asset_harness import asset, make_asset_sync
from tests.standins.openmetadata import error, reset
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person

TABLE_FQN = "warehouse.d.s.t"
TAGS = ["LineageBridge.a", "LineageBridge.b", "PersonalData.Personal"]
#: Description while neither the steward nor a person has written one.
GENERATED = "Written by job"
TEXTS = [None, "one", "two & <three>\n"]


class Step(NamedTuple):
    """A steward changes the file, or a person the table; `faults` affect the following requests."""

    actor: Literal["steward", "person"]
    tags: frozenset[str]
    description: str | None
    faults: list[Any]


FAULTS = st.lists(
    st.sampled_from([error(503), error(503, applied=True), reset(), reset(applied=True), error(412), error(500)]),
    max_size=3,
)
STEPS = st.builds(
    Step,
    st.sampled_from(["steward", "person"]),
    st.frozensets(st.sampled_from(TAGS)),
    st.sampled_from(TEXTS),
    FAULTS,
)


class ExpectedState:
    """Expected state of both sides, by a merge without failures."""

    def __init__(self) -> None:
        self.base: dict[str, FieldValue] = {"tags": None, "description": None}
        self.file = dict(self.base)
        self.remote = dict(self.base)

    def push(self) -> None:
        """Merge the changes of the file; remote changes are kept, but become the base only with the file."""
        for field in self.base:
            base, local, remote = self.base[field], self.file[field], self.remote[field]
            if is_conflict(base, local, remote):
                continue
            merged = merge_value(base, local, remote)
            self.remote[field] = merged
            self.base[field] = local if isinstance(local, frozenset) or merged == local else base


def apply_step(synced: OpenMetadataHarness, asset_sync: AssetSync, step: Step, expected: ExpectedState) -> None:
    if step.actor == "person":
        labels = [
            {"tagFQN": tag, "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
            for tag in sorted(step.tags)
        ]
        change = [
            {"op": "add", "path": "/tags", "value": labels},
            {"op": "add", "path": "/description", "value": escape_description(step.description or "")},
        ]
        person = Person(synced.standin)
        person.request("PATCH", f"tables/{person.find('table', TABLE_FQN).id}", change, "application/json-patch+json")
        expected.remote = {"tags": step.tags, "description": _plain(step.description)}
        asset_sync.push([], {}, sleep=lambda _: None)
        return
    synced.standin.faults.script(step.faults)
    description = {} if step.description is None else {"description": step.description}
    asset_sync.push([asset(governance={"tags": sorted(step.tags)}, **description)], {}, sleep=lambda _: None)
    synced.standin.faults.clear()
    expected.file = {"tags": step.tags, "description": _plain(step.description)}


@example(
    [  # the generated description returns between two descriptions of the file, one of which a person removed
        Step("steward", frozenset(), "one", []),
        Step("person", frozenset(), None, []),
        Step("steward", frozenset(), None, []),
        Step("steward", frozenset(), "one", []),
    ]
)
@settings(max_examples=int(os.environ.get("GOVERNANCE_EXAMPLES", "25")), deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=6))
def test_sync_converges_to_merged_state(steps: list[Step]) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event("COMPLETE", outputs=[dataset("t", schema=schema("k"))])).converge()
        asset_sync, expected = make_asset_sync(synced), ExpectedState()
        asset_sync.push([asset(governance={"tags": TAGS[:2]})], {}, sleep=lambda _: None)  # creates the tags
        asset_sync.push([asset(governance={"tags": []})], {}, sleep=lambda _: None)
        for step in steps:
            apply_step(synced, asset_sync, step, expected)
            synced.converge()
            synced.reconciler.push_now("governance", [key for _, key in synced.items.list_pushed("governance")])
            synced.converge()
            expected.push()
            table = Person(synced.standin).request("GET", f"tables/name/{TABLE_FQN}?fields=tags")
            remote_tags = frozenset(tag["tagFQN"] for tag in table["tags"])
            assert remote_tags == (expected.remote["tags"] or frozenset())
            description = table.get("description") or None
            if not (description == GENERATED and expected.file["description"] is None):
                assert description == _stored(expected.remote["description"])
        version = Person(synced.standin).request("GET", f"tables/name/{TABLE_FQN}")["version"]
        assert synced.calls_of_next_round() == {}
        assert Person(synced.standin).request("GET", f"tables/name/{TABLE_FQN}")["version"] == version


def _plain(text: str | None) -> str | None:
    return text and text.strip()


def _stored(text: FieldValue) -> FieldValue:

    return escape_description(text) or None if isinstance(text, str) else None
