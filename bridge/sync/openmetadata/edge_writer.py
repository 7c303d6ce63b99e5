"""Writes, merges and deletes single edges; keeps content from other producers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bridge.sync.edge_store import EdgeRecord
from bridge.sync.sync_item import ItemRecord, RemoteReference, fingerprint
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.lineage_details import entry_key, merge_column_details

CONTENT_KEYS = ("columnsLineage", "sqlQuery", "description", "pipeline", "source")
_COLUMN_ENTRY_KEYS = ("fromColumns", "toColumn", "function")


def normalize(edge: JsonObject | None) -> JsonObject | None:
    """Return the content of a remote edge in a form that can be compared."""
    if edge is None:
        return None
    lineage_details = edge.get("lineageDetails") or edge
    content = {key: lineage_details[key] for key in CONTENT_KEYS if lineage_details.get(key)}
    if "pipeline" in content:
        content["pipeline"] = {key: content["pipeline"][key] for key in ("id", "type") if key in content["pipeline"]}
    if "columnsLineage" in content:
        entries = [
            {key: entry[key] for key in _COLUMN_ENTRY_KEYS if entry.get(key)} for entry in content["columnsLineage"]
        ]
        content["columnsLineage"] = sorted(entries, key=entry_key)
    return content


def content_hash(content: JsonObject) -> str:
    return fingerprint(content).hex()


def changed_at(edge: JsonObject | None) -> int | None:
    """Return the server time of an edge's last change in milliseconds; None on older servers."""
    at = ((edge or {}).get("lineageDetails") or edge or {}).get("updatedAt")
    return int(at) if at else None


_SOURCE = "OpenLineage"


#: Maximum number of earlier contents in a record.
_MAX_EARLIER = 10


class DeletedEdge(NamedTuple):
    """A deleted edge without foreign content, and the time of its last change.

    If the time is unknown, for example because another user deleted the edge first, `earlier_hashes` identify the
    contents of the edge.
    """

    source: RemoteReference
    target: RemoteReference
    at: int | None
    earlier_hashes: Sequence[str]

    @property
    def endpoint_ids(self) -> tuple[str, str]:
        return self.source.id, self.target.id

    def is_restored(self, client: OpenMetadataClient) -> bool:
        """True if the edge exists again with its old content."""
        remote = client.get_edge(*self.endpoint_ids)
        content, at = normalize(remote), changed_at(remote)
        if content is None:
            return False
        if at is not None and self.at is not None:
            return at <= self.at
        return content_hash(content) in self.earlier_hashes

    def delete_if_restored(self, client: OpenMetadataClient) -> None:
        if self.is_restored(client):
            client.delete_edge((self.source.type, self.source.id), (self.target.type, self.target.id))


class LineageRecord(ItemRecord, frozen=True):
    """Latest deleted edges into an entity."""

    deleted: tuple[DeletedEdge, ...] = msgspec.field(default=(), name="removed")


class DesiredEdge(NamedTuple):
    """An edge to write, with its content."""

    target_key: bytes
    source_key: bytes
    target: RemoteReference
    source: RemoteReference
    job: bytes | None
    content: JsonObject
    fingerprint: bytes
    notes: tuple[str, ...] = ()

    def with_intent(self, record: EdgeRecord | None) -> EdgeRecord:
        """Return the record to store before the edge is written."""
        matching_record = record if record and record.connects(self.source, self.target) else None
        own_hashes = _own_hashes(record)
        if matching_record is None:
            return self.to_record(b"", created_by_us=True, content=self.content)._replace(earlier_hashes=own_hashes)
        attempted = [content for content in matching_record.attempted if content != self.content][-_MAX_EARLIER:]
        return self.to_record(
            b"", matching_record.created_by_us, matching_record.content, [*attempted, self.content]
        )._replace(earlier_hashes=own_hashes)

    def to_record(
        self,
        content_fingerprint: bytes,
        created_by_us: bool,
        content: JsonObject,
        attempted: Sequence[JsonObject] = (),
    ) -> EdgeRecord:
        return EdgeRecord(
            self.target_key,
            self.source_key,
            self.target,
            self.source,
            self.job,
            content_fingerprint,
            created_by_us,
            content,
            attempted,
        )

    def is_written(self, record: EdgeRecord | None) -> bool:
        return record is not None and record.fingerprint == self.fingerprint


class WrittenEdge(NamedTuple):
    """A written edge, and notes on what the server dropped."""

    record: EdgeRecord
    notes: tuple[str, ...]


def edge_content(
    columns: list[JsonObject], sql: str | None, description: str | None, pipeline: RemoteReference | None
) -> JsonObject:
    """Build the content of an edge in the format of OpenMetadata."""
    content: JsonObject = {"source": _SOURCE}
    if columns:
        content["columnsLineage"] = columns
    if sql:
        content["sqlQuery"] = sql
    if description:
        content["description"] = description
    if pipeline:
        content["pipeline"] = {"id": pipeline.id, "type": pipeline.type}
    return content


def write_edges(
    client: OpenMetadataClient, edges: Sequence[tuple[DesiredEdge, EdgeRecord | None]]
) -> tuple[list[WrittenEdge], LineageBridgeError | None]:
    """Write edges into one entity in order, and keep content from other producers.

    Stops at the first edge that cannot be written. Returns the edges that were written, and the error, if any.
    """
    remotes = _read_edges(client, [desired for desired, _ in edges])
    merged_edges: list[_MergedEdge] = []
    failure: LineageBridgeError | None = None
    for desired, record in edges:
        merged = _merge(desired, record, remotes.get(desired.source.id))
        try:
            if merged.is_changed:
                client.put_edge(
                    (desired.source.type, desired.source.id), (desired.target.type, desired.target.id), merged.content
                )
        except LineageBridgeError as error:
            failure = error
            break
        merged_edges.append(merged)
    # edges with columns are read back, because the server silently drops unknown columns
    with_columns = [edge.desired for edge in merged_edges if edge.is_changed and "columnsLineage" in edge.content]
    stored = _read_edges(client, with_columns) if with_columns else {}
    read_back = {desired.source.id: stored.get(desired.source.id, {}) for desired in with_columns}
    return [edge.to_written(read_back.get(edge.desired.source.id, edge.content)) for edge in merged_edges], failure


def _read_edges(client: OpenMetadataClient, edges: Sequence[DesiredEdge]) -> dict[str, JsonObject]:
    """Return existing edges by source id; several edges into one entity are read in one request."""
    if len(edges) == 1:
        edge = client.get_edge(edges[0].source.id, edges[0].target.id)
        stored = {edges[0].source.id: edge} if edge is not None else {}
    else:
        stored = client.upstream_edges(edges[0].target.type, edges[0].target.id)
    return {source_id: normalize(edge) or {} for source_id, edge in stored.items()}


class _MergedEdge(NamedTuple):
    """An edge with the content to store, which may include content from other producers."""

    desired: DesiredEdge
    record: EdgeRecord | None
    content: JsonObject
    created_by_us: bool
    is_changed: bool

    def to_written(self, remote: JsonObject) -> WrittenEdge:
        """Return the edge after it was written; `remote` is its content on the server."""
        remote_hash = content_hash(remote)
        own_hashes = _own_hashes(self.record) if self.created_by_us else []
        record = self.desired.to_record(self.desired.fingerprint, self.created_by_us, self.desired.content)._replace(
            content_hash=remote_hash, earlier_hashes=[hash_ for hash_ in own_hashes if hash_ != remote_hash]
        )
        return WrittenEdge(record, (*self.desired.notes, *_notes_on_dropped_columns(self.content, remote)))


def _merge(desired: DesiredEdge, record: EdgeRecord | None, remote: JsonObject | None) -> _MergedEdge:
    """Determine the content to store for an edge."""
    matching_record = record if record and record.connects(desired.source, desired.target) else None
    created_by_us = remote is None or (matching_record is not None and matching_record.created_by_us)
    content = desired.content
    if remote is not None and content_hash(remote) in _own_hashes(record):
        created_by_us = True  # only this bridge has written it
    elif remote is not None and not _is_unchanged_remotely(remote, matching_record):
        content = _merge_contents(desired.content, remote, matching_record.content if matching_record else {})
        created_by_us = False
    return _MergedEdge(desired, record, content, created_by_us, content != remote)


def _own_hashes(record: EdgeRecord | None) -> list[str]:
    """Return hashes of contents that only this bridge wrote, even if the endpoints of the edge have changed since."""
    if record is None or not record.created_by_us:
        return []
    hashes = [*record.earlier_hashes]
    if record.content_hash is not None:
        hashes.append(record.content_hash)
    return hashes[-_MAX_EARLIER:]


def is_unchanged(client: OpenMetadataClient, record: EdgeRecord) -> bool:
    """True if an edge has not changed since it was last read. Edges that are being written are not read."""
    if record.content_hash is None:
        return True
    remote = normalize(client.get_edge(record.source.id, record.target.id))
    return remote is not None and content_hash(remote) == record.content_hash


def remove_edge(client: OpenMetadataClient, record: EdgeRecord) -> DeletedEdge | None:
    """Delete an edge or, if it also has content from other producers, only the content of this bridge.

    Returns the edge if it was deleted.
    """
    edge = client.get_edge(record.source.id, record.target.id)
    remote = normalize(edge)
    deleted = DeletedEdge(record.source, record.target, changed_at(edge), _own_hashes(record))
    if remote is None:
        return deleted if deleted.earlier_hashes else None
    endpoints = (record.source.type, record.source.id), (record.target.type, record.target.id)
    if record.created_by_us and (
        _is_unchanged_remotely(remote, record) or content_hash(remote) in record.earlier_hashes
    ):
        client.delete_edge(*endpoints)
        return deleted
    remaining = _foreign_content(remote, record.content)
    if remaining != remote:
        client.put_edge(*endpoints, remaining)
    return None


def _is_unchanged_remotely(remote: JsonObject, record: EdgeRecord | None) -> bool:
    """True if an edge contains only content of the last write or of an attempted write."""
    return record is not None and any(
        _contains_only(remote, content) for content in (record.content, *record.attempted)
    )


def _contains_only(remote: JsonObject, content: dict[str, Any]) -> bool:
    """True if an edge has no content other than `content`; columns that the server dropped may be missing."""
    own_sources = _source_columns(content)
    columns_match = all(
        set(entry["fromColumns"]) <= own_sources.get(entry_key(entry), set())
        for entry in remote.get("columnsLineage", ())
    )
    # the server drops the SQL with a column that the edge refers to
    return columns_match and all(
        remote.get(key) in (content.get(key), None) for key in CONTENT_KEYS if key != "columnsLineage"
    )


def _merge_contents(ours: JsonObject, remote: JsonObject, previous: dict[str, Any]) -> JsonObject:
    """Merge our desired content with content from other producers; `previous` is the content that we wrote last."""
    foreign = _foreign_content(remote, previous)
    columns = merge_column_details(ours.get("columnsLineage", ()), foreign.get("columnsLineage", ()))
    return {**ours, **foreign} | ({"columnsLineage": columns} if columns else {})


def _foreign_content(remote: JsonObject, our_content: dict[str, Any]) -> JsonObject:
    """Return the content of a remote edge without the content that this bridge wrote."""
    own_sources = _source_columns(our_content)
    columns = []
    for entry in remote.get("columnsLineage", ()):
        sources = [source for source in entry["fromColumns"] if source not in own_sources.get(entry_key(entry), ())]
        if sources or entry_key(entry) not in own_sources:
            columns.append(entry | {"fromColumns": sources})
    foreign = {
        key: value for key, value in remote.items() if key != "columnsLineage" and value != our_content.get(key)
    }
    return foreign | ({"columnsLineage": columns} if columns else {})


def _source_columns(content: Mapping[str, Any]) -> dict[tuple[str, str], set[str]]:
    """Return source columns by target column and function."""
    return {entry_key(entry): set(entry["fromColumns"]) for entry in content.get("columnsLineage", ())}


def _notes_on_dropped_columns(sent: JsonObject, remote: JsonObject) -> list[str]:
    stored_sources = _source_columns(remote)
    stored_targets = {entry["toColumn"] for entry in remote.get("columnsLineage", ())}
    dropped: set[str] = set()
    for entry in sent.get("columnsLineage", ()):
        if entry["toColumn"] in stored_targets:
            dropped |= set(entry["fromColumns"]) - stored_sources.get(entry_key(entry), set())
        else:
            dropped.add(entry["toColumn"])
    return [f"OpenMetadata does not know column {name}" for name in sorted(dropped)]
