"""Desired entities: tables, containers, topics and pipelines for datasets and jobs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.governance_facets import GOVERNANCE, read_facets
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.canonical.datasets import (
    CanonicalDataset,
    read_asset_only,
    read_datasets,
    read_predecessors,
    read_without_complete_run,
)
from bridge.sync.canonical.jobs import CanonicalJob, read_jobs
from bridge.sync.canonical.lineage import read_origins
from bridge.sync.openmetadata.context import OpenMetadataContext, OpenMetadataOptions
from bridge.sync.sync_item import Completed, ItemRecord, Outcome, SyncItem, fingerprint
from mappers.canonical_json import JsonObject
from mappers.naming import storage_path
from mappers.openmetadata.columns import NestedColumns
from mappers.openmetadata.descriptions import escape_description, generated_description
from mappers.openmetadata.entity_requests import DatasetContent, EntityRequest, dataset_page, dataset_requests
from mappers.openmetadata.locations import (
    EntityLocation,
    ServiceLayout,
    endpoint_url,
    find_mapping,
    is_case_insensitive,
    locate_dataset,
)
from mappers.openmetadata.pipelines import PipelineContent, PipelineTask, locate_job, pipeline_requests


class EntityRecord(ItemRecord, frozen=True):
    """Last push of an entity."""

    #: Full name and collection of an entity whose creation may have succeeded.
    creating: str | None = msgspec.field(default=None, name="making")
    creating_in: str | None = msgspec.field(default=None, name="making_in")
    #: Description as sent; a different one was written by a user.
    description: str | None = None
    #: Descriptions that a push may have written.
    attempted_descriptions: tuple[str, ...] = ()
    #: Display name as sent.
    display_name: str | None = None
    #: Ids of the owners as sent; different ones were set by a user.
    owners: tuple[str, ...] = ()
    #: Version of the columns that this bridge pushed, or the columns of a foreign entity.
    shape: str | None = None
    columns: tuple[tuple[str, ...], ...] = ()
    #: Names of a pipeline's tasks, to which run statuses may refer.
    tasks: tuple[str, ...] = ()

    @property
    def own_descriptions(self) -> frozenset[str]:
        """Descriptions that this bridge wrote or may have written."""
        return frozenset(filter(None, [*self.attempted_descriptions, self.description]))

    @property
    def columns_version(self) -> list[Any]:
        """Version of the remote columns; edges are pushed again when it changes, because they then lose columns."""
        return [self.shape, self.columns or None]


class EntityCandidate(NamedTuple):
    """A possible location of an entity, with the requests that create it."""

    parents: tuple[EntityRequest, ...]
    own: EntityRequest
    #: Whether it is in the service that only this bridge uses.
    in_own_service: bool
    #: Whether the system ignores the case of names.
    case_insensitive: bool = False

    @property
    def collection(self) -> str:
        return self.own.collection


class DesiredEntity(NamedTuple):
    """A desired entity; the first candidate is preferred unless the entity already exists at another candidate."""

    item: SyncItem
    candidates: tuple[EntityCandidate, ...]
    fingerprint: bytes
    #: Notes for the operator, for example about skipped columns.
    notes: tuple[str, ...] = ()
    #: Keys of all items of the same identity group.
    member_keys: frozenset[bytes] = frozenset()
    #: Names of teams, and email addresses; unknown ones are left out.
    owners: tuple[str, ...] = ()
    #: Item of the dataset that was renamed to this one, or that became its alias.
    predecessor: SyncItem | None = None

    @property
    def request(self) -> JsonObject:
        return self.preferred.own.body

    @property
    def preferred(self) -> EntityCandidate:
        return self.candidates[0]

    def unresolved(self, reason: str) -> Completed:
        return self.item.complete(Outcome.UNRESOLVED, reason, fingerprint=self.fingerprint)


def desired_datasets(ctx: OpenMetadataContext, items: Sequence[SyncItem]) -> Iterator[DesiredEntity | Completed]:
    """Return the desired entity of each dataset, or a completed item with the reason for its absence."""
    db, org, options = ctx.db, ctx.org, ctx.options
    keys = [item.key for item in items]
    datasets = _with_generated_descriptions(db, org, options, read_datasets(db, org, keys))
    # a creation whose result is unknown may have succeeded
    new = [item.key for item in items if item.remote is None and not item.read_record(EntityRecord).creating]
    asset_only = read_asset_only(db, org, new)
    predecessors = _find_predecessors(ctx, {key: datasets[key] for key in new if key in datasets})
    without_complete_run = read_without_complete_run(db, org, new) if options.register_on_completion else set()
    for item in items:
        if item.key not in datasets:
            yield item.complete(Outcome.UNWANTED, "it is an alias of another dataset")
        elif datasets[item.key].is_dropped:
            yield item.complete(Outcome.UNWANTED, "dropped or renamed, and not written since")
        elif item.key in asset_only:
            yield item.complete(
                Outcome.WAITING, "not seen in any event yet: only an asset file names it, without columns"
            )
        elif item.key in without_complete_run:
            yield item.complete(Outcome.WAITING, "no complete run has read or written it yet")
        else:
            desired = desired_dataset(item, datasets[item.key], options)
            yield desired._replace(predecessor=predecessors.get(item.key))


def _find_predecessors(ctx: OpenMetadataContext, datasets: Mapping[bytes, CanonicalDataset]) -> dict[bytes, SyncItem]:
    """Return the items with entities of datasets that were renamed to these datasets, or that are their aliases."""
    renamed = read_predecessors(ctx.db, ctx.org, datasets)
    related = {
        key: [*filter(None, [renamed.get(key)]), *sorted(dataset.member_ids - {key})]
        for key, dataset in datasets.items()
    }
    items = ctx.items.get("dataset", {other for others in related.values() for other in others})
    with_entity = {key: item for key, item in items.items() if item.remote}
    return {
        key: with_entity[predecessors[0]]
        for key, others in related.items()
        if (predecessors := [other for other in others if other in with_entity])
    }


def _with_generated_descriptions(
    db: Database, org: str, options: OpenMetadataOptions, datasets: dict[bytes, CanonicalDataset]
) -> dict[bytes, CanonicalDataset]:
    """Describe datasets without a description by their writers and sources.

    Descriptions from asset files are left out, because governance pushes them.
    """
    facets = read_facets(db, org, datasets, GOVERNANCE) if options.sync_governance_metadata else {}
    described_by_asset = {
        key for key, facet in facets.items() if facet.get("description") and facet.get("syncEnabled") is not False
    }
    described = described_by_asset | {key for key, dataset in datasets.items() if dataset.description}
    origins = read_origins(db, org, options.folding, datasets.keys() - described)
    descriptions = {
        key: generated_description(datasets[key].format, *origin) for key, origin in origins.items()
    } | dict.fromkeys(described_by_asset)
    return {
        key: dataset._replace(description=descriptions.get(key, dataset.description))
        for key, dataset in datasets.items()
    }


def desired_dataset(item: SyncItem, dataset: CanonicalDataset, options: OpenMetadataOptions) -> DesiredEntity:
    """Return the desired entity. Its candidates are its mapped names, preferred name first, then our own service."""
    preferred_name = (dataset.namespace, dataset.name)
    mapped_names = [
        (namespace, name)
        for namespace, name in (preferred_name, *dataset.aliases)
        if find_mapping(options.layout.mappings, namespace)
    ]
    own_layout = options.layout._replace(mappings=())
    page = dataset_page(options.public_url, *preferred_name) if options.public_url else None
    candidates_with_columns = [
        _candidate(_locate(options.layout, name, item, options), name, dataset, page, in_own_service=False)
        for name in mapped_names
    ]
    if not candidates_with_columns or options.unresolved == "own_service":
        own_location = _locate(own_layout, preferred_name, item, options)
        candidate, columns = _candidate(own_location, preferred_name, dataset, page, in_own_service=True)
        candidates_with_columns.append((_with_service_description(candidate, options.service_description), columns))
    candidates = tuple(candidate for candidate, _ in candidates_with_columns)
    omitted_columns = {} if options.update_on_schema_change or item.remote is None else {"columns": None}
    requests = [candidate.own for candidate in candidates]
    content = [(request.collection, request.fqn, request.body | omitted_columns) for request in requests]
    _, preferred_columns = candidates_with_columns[0]
    notes = tuple(
        f"column {column} is skipped: another column has the same name" for column in preferred_columns.skipped
    )
    content_fingerprint = fingerprint([content, options.create, options.unresolved])
    return DesiredEntity(item, candidates, content_fingerprint, notes, dataset.member_ids)


def _locate(
    layout: ServiceLayout, name: tuple[str, str], item: SyncItem, options: OpenMetadataOptions
) -> EntityLocation:
    """Return the location of a dataset.

    An entity that an earlier release of lineage-bridge created stays where it is, unless `relocate` is set.
    """
    location = locate_dataset(layout, *name)
    if item.remote is None or item.remote.name == location.fqn or options.relocate:
        return location
    flat_location = locate_dataset(layout._replace(folders_as_schemas=False), *name)
    return flat_location if flat_location.fqn == item.remote.name else location


def _candidate(
    location: EntityLocation,
    name: tuple[str, str],
    dataset: CanonicalDataset,
    page: str | None,
    *,
    in_own_service: bool,
) -> tuple[EntityCandidate, NestedColumns]:
    namespace, _ = name
    requests = dataset_requests(location, _content(name, dataset, page))
    case_insensitive = is_case_insensitive(namespace)
    candidate = EntityCandidate(tuple(requests.parents), requests.entity, in_own_service, case_insensitive)
    return candidate, requests.columns


def _with_service_description(candidate: EntityCandidate, description: str) -> EntityCandidate:
    service, *other_parents = candidate.parents
    described = {"description": escape_description(description)} if description else {}
    return candidate._replace(parents=(service._replace(body=service.body | described), *other_parents))


def _content(name: tuple[str, str], dataset: CanonicalDataset, page: str | None) -> DatasetContent:
    return DatasetContent(
        name[1],
        dataset.description,
        dataset.format,
        dataset.columns,
        storage_path(*name) or endpoint_url(*name),
        page,
    )


def desired_pipelines(ctx: OpenMetadataContext, items: Sequence[SyncItem]) -> Iterator[DesiredEntity | Completed]:
    """Return the desired pipeline of each logical job. Items of other jobs name that job as their reason."""
    db, org, options = ctx.db, ctx.org, ctx.options
    jobs = read_jobs(db, org, options.folding, [item.key for item in items])
    names = LineageGraph(db, org).job_names(set().union(*jobs.represented_by.values()))
    for item in items:
        if item.key in jobs.logical:
            yield _desired_pipeline(item, jobs.logical[item.key], options)
        else:
            job_names = sorted(names[job].name for job in jobs.represented_by.get(item.key, ()))
            reason = f"it is shown as {', '.join(job_names)}" if job_names else "it is not a job"
            yield item.complete(Outcome.UNWANTED, reason)


def _desired_pipeline(item: SyncItem, job: CanonicalJob, options: OpenMetadataOptions) -> DesiredEntity:
    location = locate_job(options.layout, job.namespace, job.name, job.integration)
    tasks = tuple(
        PipelineTask(task.name, task.sql, task.downstream, task.type, task.description) for task in job.tasks
    )
    content = PipelineContent(job.name, job.description, job.source_url, tasks, job.schedule)
    service, own = pipeline_requests(location, content)
    in_own_service = find_mapping(options.layout.mappings, job.namespace) is None
    candidate = EntityCandidate((service,), own, in_own_service)
    content_fingerprint = fingerprint([own.fqn, own.body, options.create, *filter(None, [job.owners])])
    return DesiredEntity(item, (candidate,), content_fingerprint, owners=job.owners)
