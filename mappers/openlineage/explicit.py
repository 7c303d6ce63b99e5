"""The explicit `lineage` facet: its entries are the edges, nothing is inferred beside them."""

from enum import IntEnum
from typing import NamedTuple

from mappers.canonical.facts import RunExplicit, RunLineage
from mappers.canonical.identity import NOBODY
from mappers.openlineage.columns import source_datasets, source_elements, state_columns
from mappers.openlineage.facets import Lineage, LineageEntry, LineageField, LineageSource
from mappers.openlineage.statements import Named, Statements


class DeclaredBy(IntEnum):
    """Which facet declares a lineage: an explicit one supersedes column lineage."""

    COLUMNS = 1
    LINEAGE = 2


class Asserter(NamedTuple):
    """Who asserts an entry: a run of a job, a job itself (declared), or a dataset (declared)."""

    run: bytes
    job: Named | None
    declared: bytes | None

    @property
    def job_id(self) -> bytes:
        """Give the id of the job that is meant, if any."""
        return self.job.id if self.job else NOBODY

    @property
    def evidence(self) -> str:
        """Name the evidence of the edges: what a run did, or what a definition declares."""
        return "declared" if self.declared else "explicit"


def state_job_lineage(say: Statements, facet: Lineage, who: Asserter) -> None:
    """State every entry of a job's explicit lineage."""
    for entry in [*(facet.entries or ()), *(facet.lineage or ())]:
        if entry.type.upper() == "JOB":
            _state_job_target(say, entry, who)
        elif entry.namespace and entry.name:
            target = say.mention(entry.namespace, entry.name)
            _state_dataset_target(say, target, entry.inputs or [], entry.fields or {}, who)
        else:
            say.notes.append("a lineage entry names no dataset: ignored")


def state_dataset_lineage(say: Statements, facet: Lineage, target: Named, who: Asserter) -> None:
    """State the explicit lineage of a dataset."""
    _state_dataset_target(say, target, facet.inputs or [], facet.fields or {}, who)


def _state_dataset_target(
    say: Statements,
    target: Named,
    inputs: list[LineageSource],
    fields: dict[str, LineageField],
    who: Asserter,
) -> None:
    elements = source_elements(fields, inputs)
    sources = [*inputs, *(source for field in fields.values() for source in field.inputs)]
    for namespace, name in sorted(
        set(source_datasets(elements)) | {pair for s in sources if (pair := _dataset_name(s))}
    ):
        named = say.mention(namespace, name)
        _edge(say, "DERIVES", ("dataset", named.id), ("dataset", target.id), who)
    for source in sources:
        if (job := _source_job(say, source, who)) is not None:
            _edge(say, "PRODUCES", ("job", job), ("dataset", target.id), who)
    set_id = state_columns(say, elements, who.job_id, who.run, target.id)
    if who.declared is None:
        say.rows.append(RunLineage(say.org, target.id, who.job_id, who.run, True))
        say.rows.append(RunExplicit(say.org, target.id, who.job_id, who.run, set_id))
    else:
        say.rows.append(RunLineage(say.org, target.id, who.job_id, NOBODY, False, who.declared, set_id))


def _state_job_target(say: Statements, entry: LineageEntry, who: Asserter) -> None:
    target = say.job(entry.namespace, entry.name).id if entry.namespace and entry.name else who.job_id
    for source in entry.inputs or ():
        if (pair := _dataset_name(source)) is not None:
            _edge(say, "CONSUMES", ("dataset", say.mention(*pair).id), ("job", target), who)
        elif (job := _source_job(say, source, who)) is not None:
            _edge(say, "DERIVES", ("job", job), ("job", target), who)


def _dataset_name(source: LineageSource) -> tuple[str, str] | None:
    if source.type.upper() == "DATASET" and source.namespace and source.name:
        return source.namespace, source.name
    return None


def _source_job(say: Statements, source: LineageSource, who: Asserter) -> bytes | None:
    if source.type.upper() != "JOB":
        return None
    if source.namespace and source.name:
        return say.job(source.namespace, source.name).id
    return who.job.id if who.job else None


def _edge(say: Statements, role: str, source: tuple[str, bytes], target: tuple[str, bytes], who: Asserter) -> None:
    say.edge(role, source, target, who.job_id, who.evidence, declared_lineage=who.declared)
