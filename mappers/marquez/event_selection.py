"""Selects the fewest run events that carry everything a run reported."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mappers.canonical.identity import digest
from mappers.canonical_json import canonical_json

#: Facets whose older words count, too: each makes rows of its own. Of all others the newest word is what is known.
_EVERY_WORD = frozenset({
    "parent", "parentRun", "jobDependencies", "lineageBridge_jobDependencies", "test", "lineage", "schema",
    "symlinks",
    "lifecycleStateChange", "version", "columnLineage", "dataQualityAssertions", "lineageBridge_boxes",
    "lineageBridge_registration", "lineageBridge_expectations",
})  # fmt: skip
_TYPES = ("START", "COMPLETE", "ABORT", "FAIL")
_RANK = {"FAIL": 5, "ABORT": 4, "COMPLETE": 3, "RUNNING": 2, "START": 1}


def select_events(events: Sequence[Mapping[str, Any]]) -> list[int]:
    """Choose from the events of a run, given in the order of their times; gives places, the last of which ends it."""
    first: dict[object, int] = {}
    last: dict[object, int] = {}
    for place, event in enumerate(events):
        for word in _words(event):
            first.setdefault(word, place)
            last[word] = place
    chosen = {0, *first.values(), *last.values()} if events else set()
    if not chosen:
        return []
    ends = max(chosen, key=lambda place: (_rank(events[place]), place))
    return [*sorted(chosen - {ends}), ends]


def _rank(event: Mapping[str, Any]) -> int:
    return _RANK.get(str(event.get("eventType") or "").upper(), 0)


def _words(event: Mapping[str, Any]) -> Iterator[object]:
    """Give what an event says, as far as it is to be told apart."""
    kind = str(event.get("eventType") or "").upper()
    if kind in _TYPES:
        yield kind
    job = event["job"]
    named = (job["namespace"], job["name"])
    yield named
    for owner in ("run", "job"):
        for name, facet in (event[owner].get("facets") or {}).items():
            yield from _required_of_facet((owner, named), name, facet)
    for side in ("inputs", "outputs"):
        for dataset in event.get(side) or ():
            yield from _required_of_dataset(side, named, dataset)


def _required_of_dataset(side: str, job: object, dataset: Mapping[str, Any]) -> Iterator[object]:
    at = (side, job, dataset["namespace"], dataset["name"])
    yield at
    for kind in ("facets", "inputFacets", "outputFacets"):
        for name, facet in (dataset.get(kind) or {}).items():
            yield from _required_of_facet((at, kind), name, facet)


def _required_of_facet(owner: object, name: str, facet: Any) -> Iterator[object]:
    yield owner, name
    if name in _EVERY_WORD:
        yield owner, name, _content(facet)


def _content(facet: Any) -> bytes:
    return digest(canonical_json(facet))
