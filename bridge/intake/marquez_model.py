"""What a Marquez server's lists say and its log lacks: datasets and jobs without runs, tags, descriptions, owners."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from bridge.intake.reading import Reader
from bridge.intake.source import Report
from bridge.intake.taking import grouped, take_events
from bridge.store.database import Database
from bridge.store.writer import Writer
from connectors.marquez.client import Entity, Marquez
from mappers.canonical.identity import NOBODY
from mappers.marquez.model import Known, dataset_said, job_said, own_name
from mappers.openlineage.statements import name_dataset, name_job

_AT_ONCE = 100
_FACETS = "SELECT owner_id, name FROM facet WHERE org_id = ?1 AND owner_id {among} AND about_id = ?2"
_TOUCHED = """
SELECT DISTINCT dataset_id FROM ol_run_input WHERE org_id = ?1 AND dataset_id {among}
"""
_WRITTEN = "SELECT DISTINCT dataset_id FROM ol_run_output WHERE org_id = ?1 AND dataset_id {among}"
_RAN = "SELECT DISTINCT job_id FROM ol_run WHERE org_id = ?1 AND job_id {among}"
_DESCRIBED = """
SELECT {id}, CASE WHEN description IS NULL THEN 0 ELSE 1 END,
  CASE WHEN coalesce(owner_team, owner_email) IS NULL THEN 0 ELSE 1 END
FROM {table} WHERE org_id = ?1 AND {id} {{among}}
"""


class MarquezModel:
    """Takes what the lists of a server say, as events that are known to be made from lists."""

    def __init__(self, client: Marquez, reader: Reader, writer: Writer, db: Database, org: str) -> None:
        self._client = client
        self._reader = reader
        self._writer = writer
        self._db = db
        self._org = org
        #: What these events are from.
        self.name = f"marquez-lists:{client.url}"

    def once(self) -> Report:
        """Take what is not known yet."""
        report = Report()
        for namespace in self._client.namespaces():
            name, owner = str(namespace["name"]), namespace.get("ownerName")
            report = report.plus(self._take(self._datasets(name)))
            report = report.plus(self._take(self._jobs(name, owner)))
        return report

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._db.close()

    def _take(self, events: Iterable[Entity]) -> Report:
        report = Report()
        for some in grouped(events, _AT_ONCE):
            payloads = [msgspec.json.encode(one) for one in some]
            refused = take_events(payloads, self._reader, self._writer, self.name)
            report = report.plus(Report(len(payloads) - len(refused), len(refused)))
        return report

    def _datasets(self, namespace: str) -> Iterator[Entity]:
        for some in grouped(self._client.datasets(namespace), _AT_ONCE):
            ids = [name_dataset(self._org, one["namespace"], one["name"]).id for one in some]
            touched = self._among(_TOUCHED, ids) | self._among(_WRITTEN, ids)
            known = self._known(ids, touched, "ol_dataset", "dataset_id")
            for one, id_ in zip(some, ids, strict=True):
                if event := dataset_said(one, known[id_]):
                    yield event

    def _jobs(self, namespace: str, owner: str | None) -> Iterator[Entity]:
        for some in grouped(self._client.jobs(namespace), _AT_ONCE):
            ids = [name_job(self._org, one["namespace"], own_name(one)).id for one in some]
            known = self._known(ids, self._among(_RAN, ids), "ol_job", "job_id")
            for one, id_ in zip(some, ids, strict=True):
                if event := job_said(one, owner, known[id_]):
                    yield event

    def _known(self, ids: Sequence[bytes], with_runs: set[bytes], table: str, key: str) -> dict[bytes, Known]:
        facets: dict[bytes, set[str]] = {id_: set() for id_ in ids}
        for owner, name in self._db.among(_FACETS, sorted(set(ids)), self._org, NOBODY):
            facets[bytes(owner)].add(name)
        said = _DESCRIBED.format(table=table, id=key)
        for id_, described, owned in self._db.among(said, sorted(set(ids)), self._org):
            facets[bytes(id_)] |= {"documentation"} if described else set()
            facets[bytes(id_)] |= {"ownership"} if owned else set()
        return {id_: Known(id_ in with_runs, frozenset(found)) for id_, found in facets.items()}

    def _among(self, sql: str, ids: Sequence[bytes]) -> set[bytes]:
        return {bytes(one) for (one,) in self._db.among(sql, sorted(set(ids)), self._org)}
