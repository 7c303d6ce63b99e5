"""Versions of jobs: what a job reads and writes now is what its current version does."""

from tests.standins.marquez import names
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Dataset, Io, Job, JobVersion, Run, Version, new_uuid


def forget(job: Job, type_: str) -> None:
    """Let what a job read or wrote be of the past."""
    for io in job.io:
        if io.type == type_:
            io.current = False


def finish(store: Store, job: Job, run: Run, at: int, state: str) -> None:
    """Make the version of a job that follows from all its run has read and written, and let it be the current one."""
    inputs, outputs = list(run.inputs.values()), list(run.outputs)
    version = _version(store, job, inputs, outputs, at)
    _link(job, version, inputs, outputs)
    for written in outputs if state not in ("FAILED", "ABORTED") else ():
        written.dataset.current, written.dataset.updated = written, store.now()
    run.version = version
    for facet in job.facets:
        if facet.run is run:
            facet.version = version
    version.latest_run = run
    job.current, job.updated = version, at


def finish_streaming(store: Store, job: Job, run: Run, at: int, state: str) -> None:
    """Make a version of a job that never ends, if it reads or writes something new."""
    if version_key(job, list(run.inputs.values()), list(run.outputs)) not in store.job_versions:
        finish(store, job, run, at, state)


def declare(store: Store, job: Job, inputs: list[Version], outputs: list[Version], at: int) -> JobVersion:
    """Make the version of a job that was told of without a run."""
    version = _version(store, job, inputs, outputs, at)
    _link(job, version, inputs, outputs)
    job.current = version
    return version


def version_key(job: Job, inputs: list[Version], outputs: list[Version]) -> str:
    """Give what makes a version: names that cannot be names end it."""
    told = [names.namespace(job.namespace), names.named(job.name)]
    for versions in (inputs, outputs):
        ids = {(names.namespace(version.name[0]), names.named(version.name[1])) for version in versions}
        told += [f"{namespace}\n{name}" for namespace, name in sorted(ids)] + [""]
    return names.name_uuid(*told, job.location or "")


def _version(store: Store, job: Job, inputs: list[Version], outputs: list[Version], at: int) -> JobVersion:
    key = version_key(job, inputs, outputs)
    found = store.job_versions.get(key)
    if found is None:
        found = JobVersion(new_uuid(), key, job, at, at, job.location)
        store.job_versions[key] = found
        job.versions.append(found)
    found.updated = at
    return found


def _link(job: Job, version: JobVersion, inputs: list[Version], outputs: list[Version]) -> None:
    for type_, told, kept in ((INPUT, inputs, version.inputs), (OUTPUT, outputs, version.outputs)):
        if told:
            for io in job.io:
                if io.type == type_ and io.version is not version:
                    io.current = False
        for dataset in {id(one): one.dataset for one in told}.values():
            if dataset not in kept:
                kept.append(dataset)
            _mark(job, version, type_, dataset)


def _mark(job: Job, version: JobVersion, type_: str, dataset: Dataset) -> None:
    for io in job.io:
        if io.version is version and io.type == type_ and io.dataset is dataset:
            io.current = True
            return
    job.io.append(Io(version, dataset, type_, current=True))
