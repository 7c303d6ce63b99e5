"""Selects the fewest run events that carry everything a run reported.

A register keeps its first or its last value, and a few facets keep every value. So the events that report
something first or last are sufficient. Most runs need two: one that starts them and one that ends them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mappers.canonical.identity import digest
from mappers.canonical_json import canonical_json

#: Facets whose earlier values count, too: each adds rows. Of all others, only the newest value counts.
_CUMULATIVE_FACETS = frozenset({
    "parent", "parentRun", "jobDependencies", "lineageBridge_jobDependencies", "test", "lineage", "schema",
    "symlinks",
    "lifecycleStateChange", "version", "columnLineage", "dataQualityAssertions", "lineageBridge_boxes",
    "lineageBridge_registration", "lineageBridge_expectations",
})  # fmt: skip
_STATE_CHANGES = ("START", "COMPLETE", "ABORT", "FAIL")
_RANK = {"FAIL": 5, "ABORT": 4, "COMPLETE": 3, "RUNNING": 2, "START": 1}


def select_events(events: Sequence[Mapping[str, Any]]) -> list[int]:
    """Select from the events of a run in order of time; returns indexes, the last of which ends the run."""
    first: dict[object, int] = {}
    last: dict[object, int] = {}
    for index, event in enumerate(events):
        for fact in _facts(event):
            first.setdefault(fact, index)
            last[fact] = index
    selected = {0, *first.values(), *last.values()} if events else set()
    if not selected:
        return []
    final = max(selected, key=lambda index: (_RANK.get(str(events[index].get("eventType") or "").upper(), 0), index))
    return [*sorted(selected - {final}), final]


def _facts(event: Mapping[str, Any]) -> Iterator[object]:
    """Everything that an event reports, as keys that identify equal reports."""
    event_type = str(event.get("eventType") or "").upper()
    if event_type in _STATE_CHANGES:
        yield event_type
    job = event["job"]
    job_name = (job["namespace"], job["name"])
    yield job_name
    for owner in ("run", "job"):
        for name, facet in (event[owner].get("facets") or {}).items():
            yield from _facet_facts((owner, job_name), name, facet)
    for side in ("inputs", "outputs"):
        for dataset in event.get(side) or ():
            yield from _dataset_facts(side, job_name, dataset)


def _dataset_facts(side: str, job: object, dataset: Mapping[str, Any]) -> Iterator[object]:
    dataset_key = (side, job, dataset["namespace"], dataset["name"])
    yield dataset_key
    for kind in ("facets", "inputFacets", "outputFacets"):
        for name, facet in (dataset.get(kind) or {}).items():
            yield from _facet_facts((dataset_key, kind), name, facet)


def _facet_facts(owner: object, name: str, facet: Any) -> Iterator[object]:
    yield owner, name
    if name in _CUMULATIVE_FACETS:
        yield owner, name, digest(canonical_json(facet))
