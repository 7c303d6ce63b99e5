"""Job versions: the current version determines the inputs and outputs of a job."""

from tests.standins.marquez import names
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Dataset, Io, Job, JobVersion, Run, Version, new_uuid


def unset_current(job: Job, type_: str) -> None:
    """Mark the inputs or outputs of a job as no longer current."""
    for io in job.io:
        if io.type == type_:
            io.current = False


def finish(store: Store, job: Job, run: Run, at: int, state: str) -> None:
    """Create the job version for the inputs and outputs of a run, and make it the current one."""
    inputs, outputs = list(run.inputs.values()), list(run.outputs)
    version = _version(store, job, inputs, outputs, at)
    _link(job, version, inputs, outputs)
    for output in outputs if state not in ("FAILED", "ABORTED") else ():
        output.dataset.current, output.dataset.updated = output, store.now()
    run.version = version
    for facet in job.facets:
        if facet.run is run:
            facet.version = version
    version.latest_run = run
    job.current, job.updated = version, at


def finish_streaming(store: Store, job: Job, run: Run, at: int, state: str) -> None:
    """Create a version of a streaming job if its inputs or outputs are new."""
    if version_key(job, list(run.inputs.values()), list(run.outputs)) not in store.job_versions:
        finish(store, job, run, at, state)


def declare(store: Store, job: Job, inputs: list[Version], outputs: list[Version], at: int) -> JobVersion:
    """Create the version of a job that was declared without a run."""
    version = _version(store, job, inputs, outputs, at)
    _link(job, version, inputs, outputs)
    job.current = version
    return version


def version_key(job: Job, inputs: list[Version], outputs: list[Version]) -> str:
    """Key of a job version; fails on invalid names."""
    parts = [names.namespace(job.namespace), names.checked_name(job.name)]
    for versions in (inputs, outputs):
        ids = {(names.namespace(version.name[0]), names.checked_name(version.name[1])) for version in versions}
        parts += [f"{namespace}\n{name}" for namespace, name in sorted(ids)] + [""]
    return names.name_uuid(*parts, job.location or "")


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
    for type_, versions, datasets in ((INPUT, inputs, version.inputs), (OUTPUT, outputs, version.outputs)):
        if versions:
            for io in job.io:
                if io.type == type_ and io.version is not version:
                    io.current = False
        for dataset in {id(dataset_version): dataset_version.dataset for dataset_version in versions}.values():
            if dataset not in datasets:
                datasets.append(dataset)
            _mark(job, version, type_, dataset)


def _mark(job: Job, version: JobVersion, type_: str, dataset: Dataset) -> None:
    for io in job.io:
        if io.version is version and io.type == type_ and io.dataset is dataset:
            io.current = True
            return
    job.io.append(Io(version, dataset, type_, current=True))
