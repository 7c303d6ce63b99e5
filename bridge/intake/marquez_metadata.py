"""Imports metadata that only the lists of a Marquez server hold."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from bridge.intake.batch import chunked, write_events
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
from mappers.openlineage.names import canonical_dataset_name, canonical_job_name

_AT_ONCE = 100
_FACETS = "SELECT owner_id, name FROM facet WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2"
#: Under any of its names: the server lists a dataset under each.
_TOUCHED = """
SELECT DISTINCT d.dataset_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
JOIN {table} x ON x.org_id = m.org_id AND x.dataset_id = m.dataset_id
WHERE d.org_id = ?1 AND d.dataset_id {{ids}}
"""
_READ, _WRITTEN = _TOUCHED.format(table="ol_run_input"), _TOUCHED.format(table="ol_run_output")
_OF_OTHER_NAMES = """
SELECT d.dataset_id, m.dataset_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""
_JOBS = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id {ids}"
_DESCRIBED = """
SELECT {id}, CASE WHEN description IS NULL THEN 0 ELSE 1 END,
  CASE WHEN coalesce(owner_team, owner_email) IS NULL THEN 0 ELSE 1 END
FROM {table} WHERE org_id = ?1 AND {id} {{ids}}
"""


class MarquezMetadataSource:
    """Takes what the lists of a server say, as events that are known to be made from lists."""

    def __init__(self, client: MarquezClient, reader: EventReader, writer: Writer, db: Database, org: str) -> None:
        self._client = client
        self._reader = reader
        self._writer = writer
        self._db = db
        self._org = org
        #: What these events are from.
        self.name = f"marquez-lists:{client.url}"

    def poll(self) -> IntakeReport:
        """Take what is not known yet."""
        report = IntakeReport()
        for namespace in self._client.list_namespaces():
            name, owner = str(namespace["name"]), namespace.get("ownerName")
            report = report.add(self._take(self._datasets(name)))
            report = report.add(self._take(self._jobs(name, owner)))
        return report

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._db.close()

    def _take(self, events: Iterable[JsonObject]) -> IntakeReport:
        report = IntakeReport()
        for some in chunked(events, _AT_ONCE):
            payloads = [msgspec.json.encode(one) for one in some]
            refused = write_events(payloads, self._reader, self._writer, self.name)
            report = report.add(IntakeReport(len(payloads) - len(refused), len(refused)))
        return report

    def _datasets(self, namespace: str) -> Iterator[JsonObject]:
        for some in chunked(self._client.list_datasets(namespace), _AT_ONCE):
            ids = [canonical_dataset_name(self._org, one["namespace"], one["name"]).id for one in some]
            touched = self._among(_READ, ids) | self._among(_WRITTEN, ids)
            of = {id_: {id_} for id_ in ids}
            for id_, member in self._db.fetch_for_ids(_OF_OTHER_NAMES, sorted(set(ids)), self._org):
                of[bytes(id_)].add(bytes(member))
            known = self._stored_metadata(of, touched, "ol_dataset", "dataset_id")
            for one, id_ in zip(some, ids, strict=True):
                if not self._is_shown_twice(one, known[id_]) and (event := dataset_event_from_list(one, known[id_])):
                    yield event

    def _is_shown_twice(self, dataset: JsonObject, known: StoredMetadata) -> bool:
        """Tell whether a dataset is listed under its own name, too: a symlink of a run gave it this one."""
        if known.has_events or not is_alias(dataset):
            return False
        return self._client.is_written_by_run(str(dataset["namespace"]), str(dataset["name"]))

    def _jobs(self, namespace: str, owner: str | None) -> Iterator[JsonObject]:
        for some in chunked(self._client.list_jobs(namespace), _AT_ONCE):
            named = [
                [(name, canonical_job_name(self._org, one["namespace"], name).id) for name in possible_job_names(one)]
                for one in some
            ]
            ids = {id_ for names in named for _, id_ in names}
            told = self._among(_JOBS, ids)
            known = self._stored_metadata({id_: {id_} for id_ in ids}, told, "ol_job", "job_id")
            for one, names in zip(some, named, strict=True):
                name, id_ = next(((name, id_) for name, id_ in names if id_ in told), names[0])
                # A list shows what the newest run read and wrote; what is declared is shown of one job alone.
                job = one if id_ in told else self._client.get_job(namespace, str(one["name"])) or one
                if event := job_event_from_list(job, name, owner, known[id_]):
                    yield event

    def _stored_metadata(
        self, of: Mapping[bytes, set[bytes]], told: set[bytes], table: str, key: str
    ) -> dict[bytes, StoredMetadata]:
        """Say what is known of things, each given with all that it is known as."""
        everybody = sorted(set().union(*of.values()))
        facets: dict[bytes, set[str]] = {id_: set() for id_ in everybody}
        for owner, name in self._db.fetch_for_ids(_FACETS, everybody, self._org, NO_ID):
            facets[bytes(owner)].add(name)
        said = _DESCRIBED.format(table=table, id=key)
        for id_, described, owned in self._db.fetch_for_ids(said, everybody, self._org):
            facets[bytes(id_)] |= {"documentation"} if described else set()
            facets[bytes(id_)] |= {"ownership"} if owned else set()
        return {
            id_: StoredMetadata(id_ in told, frozenset().union(*(facets[member] for member in members)))
            for id_, members in of.items()
        }

    def _among(self, sql: str, ids: Collection[bytes]) -> set[bytes]:
        return {bytes(one) for (one,) in self._db.fetch_for_ids(sql, sorted(set(ids)), self._org)}
