"""Whatever stewards, people and failures do in which order: it comes to rest, and nobody's work is lost."""

import os
from typing import Any, Literal, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.governance.asset_sync import AssetSync
from mappers.governance.merge import FieldValue, is_conflict, merge_value
from mappers.openmetadata.descriptions import escape_description
from tests.factories import dataset, run_event, schema
from tests.governance.asset_harness import asset, steward
from tests.standins.openmetadata import error, reset
from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person

T = "warehouse.d.s.t"
WORDS = ["LineageBridge.a", "LineageBridge.b", "PersonalData.Personal"]
TEXTS = [None, "one", "two & <three>\n"]


class Step(NamedTuple):
    """What somebody does: a steward writes the file, or a person changes the table; and how the next calls fail."""

    who: Literal["steward", "person"]
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
    st.frozensets(st.sampled_from(WORDS)),
    st.sampled_from(TEXTS),
    FAULTS,
)


class Sides:
    """What both sides say, as a merge without any failure would have it."""

    def __init__(self) -> None:
        self.base: dict[str, FieldValue] = {"tags": None, "description": None}
        self.file = dict(self.base)
        self.there = dict(self.base)

    def push(self) -> None:
        """Bring the file's changes over; what was changed there stays, and is not agreed on before the file says it."""
        for field in self.base:
            base, mine, theirs = self.base[field], self.file[field], self.there[field]
            if is_conflict(base, mine, theirs):
                continue
            merged = merge_value(base, mine, theirs)
            self.there[field] = merged
            self.base[field] = mine if isinstance(mine, frozenset) or merged == mine else base


def put(synced: Synced, of: AssetSync, step: Step, sides: Sides) -> None:
    if step.who == "person":
        labels = [
            {"tagFQN": tag, "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
            for tag in sorted(step.tags)
        ]
        change = [
            {"op": "add", "path": "/tags", "value": labels},
            {"op": "add", "path": "/description", "value": escape_description(step.description or "")},
        ]
        person = Person(synced.standin)
        person.ask("PATCH", f"tables/{person.find('table', T).id}", change, "application/json-patch+json")
        sides.there = {"tags": step.tags, "description": _plain(step.description)}
        of.push([], {}, sleep=lambda _: None)
        return
    synced.standin.faults.script(step.faults)
    said = {} if step.description is None else {"description": step.description}
    of.push([asset(governance={"tags": sorted(step.tags)}, **said)], {}, sleep=lambda _: None)
    synced.standin.faults.clear()
    sides.file = {"tags": step.tags, "description": _plain(step.description)}


@settings(max_examples=int(os.environ.get("GOVERNANCE_EXAMPLES", "25")), deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=6))
def test_it_comes_to_rest_as_the_merge_says(steps: list[Step]) -> None:
    with Synced() as synced:
        synced.apply(run_event("COMPLETE", outputs=[dataset("t", schema=schema("k"))])).converge()
        of, sides = steward(synced), Sides()
        of.push([asset(governance={"tags": WORDS[:2]})], {}, sleep=lambda _: None)  # the words are there by now
        of.push([asset(governance={"tags": []})], {}, sleep=lambda _: None)
        for step in steps:
            put(synced, of, step, sides)
            synced.converge()
            synced.reconciler.push_now("governance", [key for _, key in synced.items.list_pushed("governance")])
            synced.converge()
            sides.push()
            found = Person(synced.standin).ask("GET", f"tables/name/{T}?fields=tags")
            there = frozenset(one["tagFQN"] for one in found["tags"])
            assert there == (sides.there["tags"] or frozenset())
            assert (found.get("description") or None) == _stored(sides.there["description"])
        version = Person(synced.standin).ask("GET", f"tables/name/{T}")["version"]
        assert synced.quiet() == {}
        assert Person(synced.standin).ask("GET", f"tables/name/{T}")["version"] == version


def _plain(text: str | None) -> str | None:
    return text and text.strip()


def _stored(text: FieldValue) -> FieldValue:

    return escape_description(text) or None if isinstance(text, str) else None
