"""Finds names that Marquez would store but could not list.

Marquez stores such a name incompletely, which breaks its lists for all users permanently.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

#: Valid namespaces; Marquez silently replaces any other character in a job namespace with `_`.
_DATASET_NAMESPACE = re.compile(r"[a-zA-Z:;=/0-9_.@+-]{1,1024}")
_JOB_NAMESPACE = re.compile(r"[a-zA-Z:/0-9_.@+-]{1,1024}")


def find_unsafe_name(event: Mapping[str, Any]) -> str | None:
    """Describe the first name in an event that would damage Marquez, if any."""
    return next(_event_problems(event), None)


def _event_problems(event: Mapping[str, Any]) -> Iterator[str]:
    """Describe every unsafe job or dataset name in an event."""
    job = event.get("job")
    if job is not None:
        yield from _job_name_problems(job, "job")
    parent = ((event.get("run") or {}).get("facets") or {}).get("parent") or {}
    for role, ancestor in (("parent", parent), ("parent.root", parent.get("root") or {})):
        if isinstance(ancestor, Mapping) and isinstance(ancestor.get("job"), Mapping):
            yield from _job_name_problems(ancestor["job"], role)
    datasets = [*(event.get("inputs") or ()), *(event.get("outputs") or ())]
    if event.get("dataset"):
        datasets.append(event["dataset"])
    for dataset in datasets:
        yield from _dataset_name_problems(dataset, "dataset")
        symlinks = (dataset.get("facets") or {}).get("symlinks") or {}
        for identifier in symlinks.get("identifiers") or ():
            if isinstance(identifier, Mapping):
                yield from _dataset_name_problems(identifier, "symlink")


def _job_name_problems(job: Mapping[str, Any], role: str) -> Iterator[str]:
    namespace, name = str(job.get("namespace") or ""), str(job.get("name") or "")
    if not _JOB_NAMESPACE.fullmatch(namespace):
        yield f"{role} {name!r}: Marquez would store the namespace {namespace!r} as {_stored_namespace(namespace)!r}"
    yield from _character_problems(name, role)


def _dataset_name_problems(dataset: Mapping[str, Any], role: str) -> Iterator[str]:
    namespace, name = str(dataset.get("namespace") or ""), str(dataset.get("name") or "")
    if not _DATASET_NAMESPACE.fullmatch(namespace):
        yield f"{role} {name!r}: the namespace {namespace!r} would break all lists of Marquez permanently"
    yield from _character_problems(name, role)


def _character_problems(name: str, role: str) -> Iterator[str]:
    if not name or "\0" in name:
        yield f"{role} {name!r}: an empty name or one with U+0000 would break lists of Marquez"


def _stored_namespace(namespace: str) -> str:
    return re.sub(r"[^a-zA-Z0-9:/_.@+-]", "_", namespace)
