"""Desired entities: tables, containers, topics and pipelines for datasets and jobs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.canonical.datasets import CanonicalDataset, read_asset_only, read_datasets, read_without_complete_run
from bridge.sync.canonical.jobs import CanonicalJob, read_jobs
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Completed, Outcome, SyncItem, fingerprint
from mappers.naming import storage_path
from mappers.openmetadata.columns import ColumnRow, NestedColumns
from mappers.openmetadata.descriptions import escape_description
from mappers.openmetadata.entity_requests import DatasetContent, EntityRequest, dataset_requests
from mappers.openmetadata.locations import ServiceLayout, find_mapping, is_case_insensitive, locate_dataset
from mappers.openmetadata.pipelines import PipelineContent, PipelineTask, locate_job, pipeline_requests


class EntityCandidate(NamedTuple):
    """One place where an entity may lie, with all that makes it stand there."""

    parents: tuple[EntityRequest, ...]
    own: EntityRequest
    #: Whether it lies in the service where everything is ours.
    in_own_service: bool
    #: Whether its system takes names in any case for the same.
    case_insensitive: bool = False

    @property
    def collection(self) -> str:
        """Name the kind of entity."""
        return self.own.collection


class DesiredEntity(NamedTuple):
    """An entity that shall be there, at the first of these places unless it is found at another."""

    item: SyncItem
    choices: tuple[EntityCandidate, ...]
    fingerprint: bytes
    #: Names of columns that could not be taken, and what else is to be told of it.
    notes: tuple[str, ...] = ()
    #: The keys of items that are this thing, or were before they became one.
    members: frozenset[bytes] = frozenset()

    @property
    def preferred(self) -> EntityCandidate:
        """Give the place that is preferred."""
        return self.choices[0]

    def unresolved(self, reason: str) -> Completed:
        """Settle it as one that has no place, or several."""
        return self.item.complete(Outcome.UNRESOLVED, reason, fingerprint=self.fingerprint)


def desired_datasets(
    db: Database, org: str, rules: OpenMetadataOptions, items: Sequence[SyncItem]
) -> Iterator[DesiredEntity | Completed]:
    """Say what datasets shall be, or why they shall not be."""
    stored = read_datasets(db, org, [item.key for item in items])
    # what was about to be made when nobody came back to tell may be there already
    new = [item.key for item in items if item.remote is None and "making" not in item.record]
    unseen = read_asset_only(db, org, new)
    unfinished = read_without_complete_run(db, org, new) if rules.register_on_completion else set()
    for item in items:
        if item.key not in stored:
            yield item.complete(Outcome.UNWANTED, "it has become another name of a dataset")
        elif stored[item.key].is_dropped:
            yield item.complete(Outcome.UNWANTED, "it was dropped or renamed, and not written since")
        elif item.key in unseen:
            yield item.complete(
                Outcome.WAITING, "nobody has seen it yet: an asset file names it, without its columns"
            )
        elif item.key in unfinished:
            yield item.complete(Outcome.WAITING, "no run that reads or writes it is complete")
        else:
            yield want_dataset(item, stored[item.key], rules)


def want_dataset(item: SyncItem, stored: CanonicalDataset, rules: OpenMetadataOptions) -> DesiredEntity:
    """Say what a dataset shall be: its preferred name first, mapped names before those that nothing maps."""
    names = [(stored.namespace, stored.name), *stored.aliases]
    mapped = [name for name in names if find_mapping(rules.layout.mappings, name[0])]
    home = ServiceLayout((), rules.layout.service, rules.layout.files_as)
    made = [_choice(rules.layout, name, stored, is_home=False) for name in mapped]
    if not made or rules.unresolved == "own_service":
        own, columns = _choice(home, names[0], stored, is_home=True)
        made.append((_described_home(own, rules.service_description), columns))
    choices = [choice for choice, _ in made]
    kept = {} if rules.update_on_schema_change or item.remote is None else {"columns": None}
    said = [(one.own.collection, one.own.fqn, one.own.body | kept) for one in choices]
    left_out = made[0][1].skipped
    notes = tuple(f"the column {name} cannot be told: another one is called so" for name in left_out)
    mark = fingerprint([said, rules.create, rules.unresolved])
    return DesiredEntity(item, tuple(choices), mark, notes, stored.member_ids)


def _choice(
    layout: ServiceLayout, name: tuple[str, str], stored: CanonicalDataset, *, is_home: bool
) -> tuple[EntityCandidate, NestedColumns]:
    made = dataset_requests(locate_dataset(layout, *name), _described(name, stored))
    return EntityCandidate(tuple(made.parents), made.own, is_home, is_case_insensitive(name[0])), made.columns


def _described_home(choice: EntityCandidate, description: str) -> EntityCandidate:
    """Say what our own service is for."""
    service, *others = choice.parents
    told = {"description": escape_description(description)} if description else {}
    return choice._replace(parents=(service._replace(body=service.body | told), *others))


def _described(name: tuple[str, str], stored: CanonicalDataset) -> DatasetContent:
    return DatasetContent(
        name[1],
        stored.description,
        stored.format,
        tuple(ColumnRow(*column) for column in stored.columns),
        storage_path(*name),
    )


def desired_pipelines(
    db: Database, org: str, rules: OpenMetadataOptions, items: Sequence[SyncItem]
) -> Iterator[DesiredEntity | Completed]:
    """Say what pipelines jobs shall be, or under which others they are shown."""
    found = read_jobs(db, org, rules.folding, [item.key for item in items])
    names = LineageGraph(db, org).job_names({above for others in found.shown_as.values() for above in others})
    for item in items:
        if item.key in found.logical:
            yield _wanted(item, found.logical[item.key], rules)
        else:
            above = sorted(names[job].name for job in found.shown_as.get(item.key, ()))
            yield item.complete(
                Outcome.UNWANTED, f"it is shown under {', '.join(above)}" if above else "it is no job"
            )


def _wanted(item: SyncItem, stored: CanonicalJob, rules: OpenMetadataOptions) -> DesiredEntity:
    place = locate_job(rules.layout, stored.namespace, stored.name, stored.integration)
    tasks = tuple(PipelineTask(task.name, task.sql, ()) for task in stored.tasks)
    service, own = pipeline_requests(
        place, PipelineContent(stored.name, stored.description, stored.source_url, tasks)
    )
    is_home = find_mapping(rules.layout.mappings, stored.namespace) is None
    choice = EntityCandidate((service,), own, is_home)
    return DesiredEntity(item, (choice,), fingerprint([own.fqn, own.body, rules.create]))
