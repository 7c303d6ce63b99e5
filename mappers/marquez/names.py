"""Which names Marquez can bear: a bad one is half written, and breaks its lists for everybody, for ever."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

#: What a namespace of datasets may be, and one of jobs, in which every other character silently becomes `_`.
_OF_DATASETS = re.compile(r"[a-zA-Z:;=/0-9_.@+-]{1,1024}")
_OF_JOBS = re.compile(r"[a-zA-Z:/0-9_.@+-]{1,1024}")


def find_unsafe_name(event: Mapping[str, Any]) -> str | None:
    """Say which name of an event would do harm in Marquez, and why; None when none would."""
    return next(_faults(event), None)


def _faults(event: Mapping[str, Any]) -> Iterator[str]:
    job = event.get("job")
    if job is not None:
        yield from _job(job, "job")
    parent = ((event.get("run") or {}).get("facets") or {}).get("parent") or {}
    for key, above in (("parent", parent), ("parent.root", parent.get("root") or {})):
        if isinstance(above.get("job"), Mapping):
            yield from _job(above["job"], key)
    one = event.get("dataset")
    for dataset in [*(event.get("inputs") or ()), *(event.get("outputs") or ()), *([one] if one else ())]:
        yield from _dataset(dataset, "dataset")
        symlinks = (dataset.get("facets") or {}).get("symlinks") or {}
        for other in symlinks.get("identifiers") or ():
            yield from _dataset(other, "symlink")


def _job(job: Mapping[str, Any], what: str) -> Iterator[str]:
    namespace, name = str(job.get("namespace") or ""), str(job.get("name") or "")
    if not _OF_JOBS.fullmatch(namespace):
        yield f"{what} {name!r}: Marquez would keep the namespace {namespace!r} as another one, {_kept(namespace)!r}"
    yield from _name(name, what)


def _dataset(dataset: Mapping[str, Any], what: str) -> Iterator[str]:
    namespace, name = str(dataset.get("namespace") or ""), str(dataset.get("name") or "")
    if not _OF_DATASETS.fullmatch(namespace):
        yield f"{what} {name!r}: the namespace {namespace!r} would break all lists of Marquez, for ever"
    yield from _name(name, what)


def _name(name: str, what: str) -> Iterator[str]:
    if not name or "\0" in name:
        yield f"{what} {name!r}: an empty name, or one with U+0000, would break lists of Marquez"


def _kept(namespace: str) -> str:
    return re.sub(r"[^a-zA-Z0-9:/_.@+-]", "_", namespace)
