"""Selects the fewest run events that contain everything a run reported.

A register keeps only its first or last value, and a few facets keep every distinct value, so the events that report
something first or last are sufficient. For most runs, these are two events: the first and the last.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mappers.canonical.identity import digest
from mappers.canonical_json import canonical_json

#: Facets whose values accumulate; any other facet keeps only its newest value.
_CUMULATIVE_FACETS = frozenset({
    "parent", "parentRun", "jobDependencies", "lineageBridge_jobDependencies", "test", "lineage", "schema",
    "symlinks", "lifecycleStateChange", "version", "columnLineage", "dataQualityAssertions",
    "lineageBridge_boxes", "lineageBridge_registration", "lineageBridge_expectations",
})  # fmt: skip
_STATE_CHANGES = ("START", "COMPLETE", "ABORT", "FAIL")
_STATE_RANK = {"FAIL": 5, "ABORT": 4, "COMPLETE": 3, "RUNNING": 2, "START": 1}


def select_events(events: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indexes of the events to send for a run, the event of the final state last.

    The events of the run must be in order of time.
    """
    if not events:
        return []
    first_index_by_key: dict[object, int] = {}
    last_index_by_key: dict[object, int] = {}
    for index, event in enumerate(events):
        for key in _fact_keys(event):
            first_index_by_key.setdefault(key, index)
            last_index_by_key[key] = index
    final_index = max(range(len(events)), key=lambda index: (_STATE_RANK.get(_event_type(events[index]), 0), index))
    selected_indexes = {0, final_index, *first_index_by_key.values(), *last_index_by_key.values()}
    return [*sorted(selected_indexes - {final_index}), final_index]


def _event_type(event: Mapping[str, Any]) -> str:
    return str(event.get("eventType") or "").upper()


def _fact_keys(event: Mapping[str, Any]) -> Iterator[object]:
    """Yield a key for every fact that an event reports; equal facts have equal keys."""
    event_type = _event_type(event)
    if event_type in _STATE_CHANGES:
        yield event_type
    job = event["job"]
    job_name = (job["namespace"], job["name"])
    yield job_name
    for owner in ("run", "job"):
        for name, facet in (event[owner].get("facets") or {}).items():
            yield from _facet_fact_keys((owner, job_name), name, facet)
    for side in ("inputs", "outputs"):
        for dataset in event.get(side) or ():
            yield from _dataset_fact_keys(side, job_name, dataset)


def _dataset_fact_keys(side: str, job: object, dataset: Mapping[str, Any]) -> Iterator[object]:
    dataset_key = (side, job, dataset["namespace"], dataset["name"])
    yield dataset_key
    for kind in ("facets", "inputFacets", "outputFacets"):
        for name, facet in (dataset.get(kind) or {}).items():
            yield from _facet_fact_keys((dataset_key, kind), name, facet)


def _facet_fact_keys(owner: object, name: str, facet: Any) -> Iterator[object]:
    yield owner, name
    if name in _CUMULATIVE_FACETS:
        yield owner, name, digest(canonical_json(facet))
