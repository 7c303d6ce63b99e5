"""Imports metadata that a Marquez server returns only in its lists of datasets and jobs."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from bridge.chunks import chunked
from bridge.intake.batch import write_events
from bridge.intake.event_reader import EventReader
from bridge.intake.source import IntakeReport
from bridge.store.database import Database
from bridge.store.writer import Writer
from connectors.marquez.client import MarquezClient
from mappers.canonical.identity import NO_ID
from mappers.canonical_json import JsonObject
from mappers.marquez.metadata import (
    StoredMetadata,
    dataset_event_from_list,
    is_alias,
    job_event_from_list,
    possible_job_names,
)
from mappers.openlineage.names import canonical_dataset_name, canonical_job_name, repair_symlink

_BATCH_SIZE = 100
_FACETS = "SELECT owner_id, name FROM facet WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2"
#: Considers all names of the identity group, because the server lists a dataset under each of them.
_DATASETS_OF_RUNS = """
SELECT DISTINCT d.dataset_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
JOIN {table} x ON x.org_id = m.org_id AND x.dataset_id = m.dataset_id
WHERE d.org_id = ?1 AND d.dataset_id {{ids}}
"""
_DATASETS_READ = _DATASETS_OF_RUNS.format(table="ol_run_input")
_DATASETS_WRITTEN = _DATASETS_OF_RUNS.format(table="ol_run_output")
_IDENTITY_GROUP = """
SELECT d.dataset_id, m.dataset_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""
_JOBS = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id {ids}"
_DESCRIPTIONS_AND_OWNERS = """
SELECT {id}, CASE WHEN description IS NULL THEN 0 ELSE 1 END,
  CASE WHEN coalesce(owner_team, owner_email) IS NULL THEN 0 ELSE 1 END
FROM {table} WHERE org_id = ?1 AND {id} {{ids}}
"""


class MarquezMetadataSource:
    """Imports the dataset and job lists of a server as events, which are marked by their source name."""

    def __init__(self, client: MarquezClient, reader: EventReader, writer: Writer, db: Database, org: str) -> None:
        self._client = client
        self._reader = reader
        self._writer = writer
        self._db = db
        self._org = org
        #: Source name of these events.
        self.name = f"marquez-lists:{client.url}"

    def poll(self) -> IntakeReport:
        """Import metadata that the store lacks."""
        report = IntakeReport()
        for namespace in self._client.list_namespaces():
            name = str(namespace["name"])
            owner = namespace.get("ownerName")
            report = report.add(self._write_events(self._dataset_events(name)))
            report = report.add(self._write_events(self._job_events(name, owner)))
        return report

    def close(self) -> None:
        self._client.close()
        self._db.close()

    def _write_events(self, events: Iterable[JsonObject]) -> IntakeReport:
        report = IntakeReport()
        for batch in chunked(events, _BATCH_SIZE):
            payloads = [msgspec.json.encode(event) for event in batch]
            reasons_by_index = write_events(payloads, self._reader, self._writer, self.name)
            report = report.add(IntakeReport(len(payloads) - len(reasons_by_index), len(reasons_by_index)))
        return report

    def _dataset_events(self, namespace: str) -> Iterator[JsonObject]:
        """Yield an event for each listed dataset about which the store lacks metadata."""
        for batch in chunked(self._client.list_datasets(namespace), _BATCH_SIZE):
            ids = [self._dataset_id(dataset) for dataset in batch]
            ids_with_events = self._select_ids(_DATASETS_READ, ids) | self._select_ids(_DATASETS_WRITTEN, ids)
            groups = {id_: {id_} for id_ in ids}
            for id_, member in self._db.fetch_for_ids(_IDENTITY_GROUP, sorted(set(ids)), self._org):
                groups[bytes(id_)].add(bytes(member))
            stored_metadata = self._load_stored_metadata(groups, ids_with_events, "ol_dataset", "dataset_id")
            for dataset, id_ in zip(batch, ids, strict=True):
                if self._is_listed_twice(dataset, stored_metadata[id_]):
                    continue
                if event := dataset_event_from_list(dataset, stored_metadata[id_]):
                    yield event

    def _dataset_id(self, dataset: JsonObject) -> bytes:
        """Return the id of a listed dataset. Aliases come from the Spark listener and are repaired as in events."""
        namespace, name = str(dataset["namespace"]), str(dataset["name"])
        if is_alias(dataset):
            namespace = repair_symlink(namespace, name)
        return canonical_dataset_name(self._org, namespace, name).id

    def _is_listed_twice(self, dataset: JsonObject, stored_metadata: StoredMetadata) -> bool:
        """Return True for an alias that a run reported: Marquez also lists the dataset under its own name."""
        if stored_metadata.has_events or not is_alias(dataset):
            return False
        return not self._client.is_created_by_hand(str(dataset["namespace"]), str(dataset["name"]))

    def _job_events(self, namespace: str, owner: str | None) -> Iterator[JsonObject]:
        """Yield an event for each listed job about which the store lacks metadata."""
        for batch in chunked(self._client.list_jobs(namespace), _BATCH_SIZE):
            candidates_by_job = [self._possible_names_and_ids(job) for job in batch]
            ids = {id_ for candidates in candidates_by_job for _, id_ in candidates}
            ids_with_events = self._select_ids(_JOBS, ids)
            stored_metadata = self._load_stored_metadata(
                {id_: {id_} for id_ in ids}, ids_with_events, "ol_job", "job_id"
            )
            for listed_job, candidates in zip(batch, candidates_by_job, strict=True):
                known_candidates = [(name, id_) for name, id_ in candidates if id_ in ids_with_events]
                (name, id_), *_ = known_candidates or candidates
                job = listed_job
                if id_ not in ids_with_events:
                    # A list shows the inputs and outputs of the latest run; a single job shows the declared ones.
                    job = self._client.get_job(namespace, str(listed_job["name"])) or listed_job
                if event := job_event_from_list(job, name, owner, stored_metadata[id_]):
                    yield event

    def _possible_names_and_ids(self, job: JsonObject) -> list[tuple[str, bytes]]:
        return [(name, canonical_job_name(self._org, job["namespace"], name).id) for name in possible_job_names(job)]

    def _load_stored_metadata(
        self, groups: Mapping[bytes, set[bytes]], ids_with_events: set[bytes], table: str, key: str
    ) -> dict[bytes, StoredMetadata]:
        """Load the stored metadata of datasets or jobs, each merged over its identity group."""
        all_ids = sorted(set().union(*groups.values()))
        facets: dict[bytes, set[str]] = {id_: set() for id_ in all_ids}
        for owner, name in self._db.fetch_for_ids(_FACETS, all_ids, self._org, NO_ID):
            facets[bytes(owner)].add(name)
        query = _DESCRIPTIONS_AND_OWNERS.format(table=table, id=key)
        for id_, has_description, has_owner in self._db.fetch_for_ids(query, all_ids, self._org):
            if has_description:
                facets[bytes(id_)].add("documentation")
            if has_owner:
                facets[bytes(id_)].add("ownership")
        return {
            id_: StoredMetadata(id_ in ids_with_events, frozenset().union(*(facets[member] for member in members)))
            for id_, members in groups.items()
        }

    def _select_ids(self, sql: str, ids: Collection[bytes]) -> set[bytes]:
        return {bytes(id_) for (id_,) in self._db.fetch_for_ids(sql, sorted(set(ids)), self._org)}
