"""The tables of the store, made from the declared vocabulary and completed with what it does not merge."""

from typing import Any

import sqlalchemy as sa

from mappers.canonical.facts import TABLES
from mappers.canonical.merge import Row, plain_type, plan_of

metadata = sa.MetaData()

#: Text compares by its bytes, in every store.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

_SQL_TYPES: dict[type, sa.types.TypeEngine[Any]] = {
    bytes: sa.LargeBinary(),
    str: TEXT,
    int: sa.BigInteger(),
    bool: sa.Boolean(),
}

#: Columns that are no statements: computed from them in the same transaction, or filled by later parts.
_COMPUTED: dict[str, list[sa.Column[Any]]] = {
    "ol_namespace": [
        sa.Column("description", TEXT),
        sa.Column("spec_version", TEXT, nullable=False, server_default="2-0-2"),
    ],
    "ol_dataset": [
        sa.Column("class_id", sa.LargeBinary, nullable=False),
        sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
    ],
    "dataset_version": [
        sa.Column("checksum", TEXT),
        sa.Column("metadata_json", TEXT),
    ],
    "column_lineage": [
        sa.Column("confidence_score", sa.Float, nullable=False, server_default=sa.text("1.0")),
        sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
    ],
}

#: What the values of a table must be like, whoever writes them.
_CHECKS: dict[str, str] = {
    "dataset_registration": "status IN ('PENDING', 'APPROVED', 'REJECTED')",
}

#: Rows too long to lie in an index: they are appended, and only their keys are sorted in.
_LONG_ROWS = frozenset({"dataset_schema"})

#: Names need no index: the id of a dataset or job is computed from its name.
_INDEXES: dict[str, list[tuple[str, ...]]] = {
    "ol_dataset": [("class_id",)],
    "dataset_symlink": [("alias_id",)],
    "dataset_succession": [("target_id",)],
    "ol_run": [("job_id", "started_at"), ("parent_run_id",)],
    "ol_run_input": [("dataset_id",)],
    "ol_run_output": [("dataset_id",)],
    "dataset_version": [("version_tag",), ("idempotency_key",)],
    "lineage_edge": [("target_id",)],
    "quality_check_def": [("dataset_id",), ("job_id",)],
    "quality_check_result": [("qdef_id",)],
    "dataset_registration": [("dataset_id",)],
}


def _key(*names: str) -> sa.PrimaryKeyConstraint:
    """Make the key of a table: within an organisation, which comes last because it tells so little.

    A planner without statistics believes that the first column of a key leads to few rows.
    """
    return sa.PrimaryKeyConstraint(*names, "org_id")


def _column(name: str, hint: Any) -> sa.Column[Any]:
    plain = plain_type(hint)
    return sa.Column(name, _SQL_TYPES[plain], nullable=plain is not hint)


def _fact_table(name: str, row_class: type[Row]) -> sa.Table:
    plan = plan_of(row_class)
    columns = [_column(column, hint) for column, hint in zip(plan.names, plan.types, strict=True)]
    key = _key(*plan.names[1 : plan.keys])
    checks = [sa.CheckConstraint(_CHECKS[name])] if name in _CHECKS else []
    with_rowid = name in _LONG_ROWS
    table = sa.Table(name, metadata, *columns, *_COMPUTED.get(name, ()), key, *checks, sqlite_with_rowid=with_rowid)
    for index in _INDEXES.get(name, ()):
        columns = [table.c[column] for column in index]
        given = columns[0].is_not(None) if columns[0].nullable else None
        label = f"ix_{name}__{'__'.join(index)}"
        sa.Index(label, *columns, table.c.org_id, sqlite_where=given, postgresql_where=given)
    return table


FACT_TABLES: dict[type[Row], sa.Table] = {
    row_class: _fact_table(name, row_class) for name, row_class in TABLES.items()
}


def _id(name: str, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.LargeBinary, **more)


def _org() -> sa.Column[Any]:
    return sa.Column("org_id", TEXT, nullable=False)


column_head = sa.Table(
    "column_head",
    metadata,
    _org(),
    _id("job_id", nullable=False),
    _id("target_id", nullable=False),
    _id("run_id", nullable=False),
    sa.Column("run_start", sa.BigInteger, nullable=False),
    _id("shown", nullable=False),
    _key("job_id", "target_id"),
    sqlite_with_rowid=False,
)
sa.Index("ix_column_head__run_id", column_head.c.run_id, column_head.c.org_id)

run_event = sa.Table(
    "run_event",
    metadata,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("org_id", TEXT, nullable=False),
    _id("event_hash", nullable=False),
    sa.Column("event_type", TEXT, nullable=False),
    sa.Column("event_time", sa.BigInteger, nullable=False),
    _id("run_id"),
    sa.Column("process_key", TEXT),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("historical", sa.Boolean, nullable=False),
    sa.Column("receipts", sa.BigInteger, nullable=False),
    sa.Column("notes_json", TEXT),
    sa.Column("failure", TEXT),
    _id("payload", nullable=False),
    sqlite_autoincrement=True,
)
# The time follows from the event as its hash does; before the hash it keeps new rows together.
sa.Index(
    "ux_run_event__event_time__event_hash",
    run_event.c.event_time,
    run_event.c.event_hash,
    run_event.c.org_id,
    unique=True,
)
sa.Index(
    "ix_run_event__failure",
    run_event.c.seq,
    run_event.c.org_id,
    sqlite_where=run_event.c.failure.is_not(None),
    postgresql_where=run_event.c.failure.is_not(None),
)

rejected_event = sa.Table(
    "rejected_event",
    metadata,
    _org(),
    _id("payload_hash", nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("path", TEXT, nullable=False),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("first_at", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),
    sa.Column("receipts", sa.BigInteger, nullable=False),
    sa.Column("payload_size", sa.BigInteger, nullable=False),
    _id("payload"),
    _key("payload_hash"),
)
sa.Index("ix_rejected_event__last_at", rejected_event.c.last_at, rejected_event.c.org_id)

dirty_mark = sa.Table(
    "dirty_mark",
    metadata,
    _org(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    _id("key", nullable=False),
    sa.Column("marked_at", sa.BigInteger, nullable=False),
    _key("target", "kind", "key"),
    sqlite_with_rowid=False,
)

#: The systems that are kept like the store; marks are made for those that are enabled.
sync_target = sa.Table(
    "sync_target",
    metadata,
    _org(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("enabled_at", sa.BigInteger),
    sa.Column("trouble", TEXT),
    sa.Column("trouble_at", sa.BigInteger),
    sa.Column("compared_at", sa.BigInteger),
    sa.Column("url", TEXT),
    sa.Column("rules", TEXT),
    sa.Column("events_at", sa.BigInteger),
    _key("target"),
)

#: Who works on items, and until when that is believed; whoever is not among them is dead.
sync_worker = sa.Table(
    "sync_worker",
    metadata,
    _org(),
    sa.Column("target", TEXT, nullable=False),
    _id("worker_id", nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    _key("target", "worker_id"),
)

#: Everything that a target shall have, what became of it, and who works on it. `marked` counts the changes to it;
#: `settled` says which of them was done with last, `doubted` which of them wants the target itself looked at.
sync_item = sa.Table(
    "sync_item",
    metadata,
    _org(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    _id("key", nullable=False),
    sa.Column("marked", sa.BigInteger, nullable=False),
    sa.Column("settled", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("doubted", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("due_at", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("refusals", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("outcome", TEXT),
    sa.Column("reason", TEXT),
    sa.Column("settled_at", sa.BigInteger),
    _id("fingerprint"),
    _id("fold"),
    sa.Column("remote_type", TEXT),
    sa.Column("remote_id", TEXT),
    sa.Column("remote_name", TEXT),
    sa.Column("ours", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("detail_json", TEXT),
    _id("claim"),
    _key("target", "kind", "key"),
)
_PENDING = sa.text("settled < marked")
sa.Index(
    "ix_sync_item__due_at",
    sync_item.c.target,
    sync_item.c.kind,
    sync_item.c.due_at,
    sync_item.c.org_id,
    sqlite_where=_PENDING,
    postgresql_where=_PENDING,
)
sa.Index(
    "ix_sync_item__remote_id",
    sync_item.c.remote_id,
    sync_item.c.org_id,
    sqlite_where=sync_item.c.remote_id.is_not(None),
    postgresql_where=sync_item.c.remote_id.is_not(None),
)

#: What a person must look at.
TROUBLED_SQL = "outcome IN ('dead', 'unresolved')"
sa.Index(
    "ix_sync_item__troubled",
    sync_item.c.target,
    sync_item.c.kind,
    sync_item.c.key,
    sync_item.c.org_id,
    sqlite_where=sa.text(TROUBLED_SQL),
    postgresql_where=sa.text(TROUBLED_SQL),
)

#: The edges that a target has of us: between which of its entities, and what we said of their columns.
sync_edge = sa.Table(
    "sync_edge",
    metadata,
    _org(),
    sa.Column("target", TEXT, nullable=False),
    _id("into_key", nullable=False),
    _id("from_key", nullable=False),
    sa.Column("into_type", TEXT, nullable=False),
    sa.Column("into_id", TEXT, nullable=False),
    sa.Column("from_type", TEXT, nullable=False),
    sa.Column("from_id", TEXT, nullable=False),
    _id("job_key"),
    _id("fingerprint", nullable=False),
    sa.Column("ours", sa.Boolean, nullable=False),
    sa.Column("said_json", TEXT, nullable=False),
    _key("target", "into_key", "from_key"),
)
sa.Index("ix_sync_edge__from_key", sync_edge.c.from_key, sync_edge.c.org_id)
sa.Index("ix_sync_edge__job_key", sync_edge.c.job_key, sync_edge.c.org_id)

#: What the last comparison of everything that came to its end found of each kind of things.
sync_comparison = sa.Table(
    "sync_comparison",
    metadata,
    _org(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("wanted", sa.BigInteger, nullable=False),
    sa.Column("lacking", sa.BigInteger, nullable=False),
    sa.Column("looked_at", sa.BigInteger, nullable=False),
    sa.Column("differing", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger, nullable=False),
    _key("target", "kind"),
)

#: How often a target was called, by the hour.
sync_call = sa.Table(
    "sync_call",
    metadata,
    _org(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("hour", sa.BigInteger, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("failed", sa.BigInteger, nullable=False),
    _key("target", "hour", "kind"),
)

for _name in ("contract", "governance"):  # few facets are these, and all of them are sought
    _these = sa.text(f"name = 'lineageBridge_{_name}'")
    sa.Index(
        f"ix_facet__{_name}",
        metadata.tables["facet"].c.owner_id,
        metadata.tables["facet"].c.org_id,
        sqlite_where=_these,
        postgresql_where=_these,
    )

#: What stewards wrote down, as it was last taken from their files, and what it waits for.
asset = sa.Table(
    "asset",
    metadata,
    _org(),
    _id("asset_id", nullable=False),
    sa.Column("namespace", TEXT, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("content_json", TEXT, nullable=False),
    sa.Column("waiting", TEXT),
    sa.Column("taken_at", sa.BigInteger, nullable=False),
    _key("asset_id"),
)

#: Which version of a dataset is the published one, since when, by whom and why: its last move is where it is now.
#: Moves of one publication share `began`, the number of its first; each follows the one that it moves on from.
publication = sa.Table(
    "publication",
    metadata,
    _org(),
    sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
    sa.Column("began", sa.BigInteger, nullable=False),
    _id("dataset_id", nullable=False),
    _id("version_id", nullable=False),
    sa.Column("version_tag", TEXT, nullable=False),
    sa.Column("follows", sa.BigInteger),
    sa.Column("how", TEXT, nullable=False),
    sa.Column("moved_by", TEXT, nullable=False),
    sa.Column("moved_at", sa.BigInteger, nullable=False),
    sa.Column("reason", TEXT),
    _key("number"),
)
sa.Index("ix_publication__dataset_id", publication.c.dataset_id, publication.c.number, publication.c.org_id)
sa.Index("ix_publication__began", publication.c.began, publication.c.org_id)
# Two moves that follow one would be a fork of the history: no writer can make it, whatever it believes.
sa.Index(
    "ux_publication__follows",
    publication.c.follows,
    publication.c.org_id,
    unique=True,
    sqlite_where=publication.c.follows.is_not(None),
    postgresql_where=publication.c.follows.is_not(None),
)

#: Versions that somebody wants kept and found by a name, until they expire.
pin = sa.Table(
    "pin",
    metadata,
    _org(),
    sa.Column("name", TEXT, nullable=False),
    _id("version_id", nullable=False),
    _id("dataset_id", nullable=False),
    sa.Column("version_tag", TEXT, nullable=False),
    sa.Column("pinned_by", TEXT, nullable=False),
    sa.Column("pinned_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("reason", TEXT),
    _key("name", "version_id"),
)
sa.Index("ix_pin__dataset_id", pin.c.dataset_id, pin.c.org_id)

#: Versions that nobody shall read, and partitions of them; an empty partition means all of the version.
version_invalid = sa.Table(
    "version_invalid",
    metadata,
    _org(),
    _id("version_id", nullable=False),
    sa.Column("partition_key", TEXT, nullable=False),
    _id("dataset_id", nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("marked_by", TEXT, nullable=False),
    sa.Column("marked_at", sa.BigInteger, nullable=False),
    sa.Column("lifted_by", TEXT),
    sa.Column("lifted_at", sa.BigInteger),
    _key("version_id", "partition_key"),
)
sa.Index("ix_version_invalid__dataset_id", version_invalid.c.dataset_id, version_invalid.c.org_id)

#: What anybody wants to remember of a dataset; that of a version is a column of `dataset_version`.
dataset_metadata = sa.Table(
    "dataset_metadata",
    metadata,
    _org(),
    _id("dataset_id", nullable=False),
    sa.Column("metadata_json", TEXT, nullable=False),
    sa.Column("set_by", TEXT, nullable=False),
    sa.Column("set_at", sa.BigInteger, nullable=False),
    _key("dataset_id"),
)

#: What processes and DAGs were defined as, once each content; one of them is in effect.
process_definition = sa.Table(
    "process_definition",
    metadata,
    _org(),
    _id("process_id", nullable=False),
    _id("content_hash", nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("namespace", TEXT, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("version", TEXT, nullable=False),
    sa.Column("definition_json", TEXT, nullable=False),
    sa.Column("registered_by", TEXT, nullable=False),
    sa.Column("registered_at", sa.BigInteger, nullable=False),
    sa.Column("is_active", sa.Boolean, nullable=False),
    _key("process_id", "content_hash"),
)
sa.Index(
    "ux_process_definition__version",
    process_definition.c.process_id,
    process_definition.c.version,
    process_definition.c.org_id,
    unique=True,
)
sa.Index(
    "ux_process_definition__active",
    process_definition.c.process_id,
    process_definition.c.org_id,
    unique=True,
    sqlite_where=sa.text("is_active"),
    postgresql_where=sa.text("is_active"),
)

ingest_position = sa.Table(
    "ingest_position",
    metadata,
    _org(),
    sa.Column("path", TEXT, nullable=False),
    _id("fingerprint", nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    _key("path"),
)

#: What came in, by source; every writer counts in rows of its own, so that none waits for another.
intake_ledger = sa.Table(
    "intake_ledger",
    metadata,
    _org(),
    sa.Column("source", TEXT, nullable=False),
    _id("writer_id", nullable=False),
    sa.Column("events", sa.BigInteger, nullable=False),
    sa.Column("rejected", sa.BigInteger, nullable=False),
    sa.Column("retried", sa.BigInteger, nullable=False),
    _key("source", "writer_id"),
    sqlite_with_rowid=False,
)

store_meta = sa.Table(
    "store_meta",
    metadata,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("value", TEXT, nullable=False),
)

ol_schema_version = sa.Table(
    "ol_schema_version",
    metadata,
    sa.Column("version_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("openlineage_spec_version", TEXT, nullable=False),
    sa.Column("schema_version", TEXT, nullable=False),
    sa.Column("applied_at", sa.BigInteger, nullable=False),
    sa.Column("description", TEXT),
)

sla = sa.Table(
    "sla",
    metadata,
    _org(),
    _id("sla_id", nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("description", TEXT),
    sa.Column("sla_window_sec", sa.BigInteger),
    sa.Column("escalation_json", TEXT),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    _key("sla_id"),
)

#: Datasets, each with all its names, and jobs as they are found; computed from the tables above, and never exported.
search_entry = sa.Table(
    "search_entry",
    metadata,
    sa.Column("entry", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    _org(),
    sa.Column("kind", TEXT, nullable=False),
    _id("id", nullable=False),
    _id("sort_key", nullable=False),
    sa.Column("hit_json", TEXT, nullable=False),
    sa.Column("words", TEXT, nullable=False),
)
sa.Index("ux_search_entry__id", search_entry.c.id, search_entry.c.org_id, unique=True)
sa.Index("ix_search_entry__sort_key", search_entry.c.org_id, search_entry.c.sort_key)

#: What each kind of store needs to look words up.
_WORDS: tuple[tuple[str, str], ...] = (
    (
        "sqlite",
        """
CREATE VIRTUAL TABLE search_words USING fts5(
  words, content='search_entry', content_rowid='entry', detail=none, columnsize=0, tokenize='ascii')
""",
    ),
    (
        "sqlite",
        """
CREATE TRIGGER search_words_insert AFTER INSERT ON search_entry BEGIN
  INSERT INTO search_words (rowid, words) VALUES (NEW.entry, NEW.words);
END
""",
    ),
    (
        "sqlite",
        """
CREATE TRIGGER search_words_delete AFTER DELETE ON search_entry BEGIN
  INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', OLD.entry, OLD.words);
END
""",
    ),
    (
        "sqlite",
        """
CREATE TRIGGER search_words_update AFTER UPDATE OF words ON search_entry WHEN OLD.words <> NEW.words BEGIN
  INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', OLD.entry, OLD.words);
  INSERT INTO search_words (rowid, words) VALUES (NEW.entry, NEW.words);
END
""",
    ),
    (
        "postgresql",
        """
CREATE INDEX ix_search_entry__words ON search_entry
USING gin (array_to_tsvector(string_to_array(words, ' '))) WITH (fastupdate = off)
""",
    ),
)
for _dialect, _statement in _WORDS:
    _made = sa.DDL(_statement).execute_if(dialect=_dialect)  # type: ignore[no-untyped-call]
    sa.event.listen(search_entry, "after_create", _made)

#: What the index has not seen yet: datasets and jobs, queued by the triggers of `bridge/store/staleness.py`.
search_stale = sa.Table(
    "search_stale",
    metadata,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    _org(),
    _id("id", nullable=False),
)
