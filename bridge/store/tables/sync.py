"""Tables of the reconciler: dirty marks, sync items, edges, workers and comparisons."""

import sqlalchemy as sa

from bridge.store.tables.columns import TEXT, id_column, metadata, org_column, org_key

dirty_mark = sa.Table(
    "dirty_mark",
    metadata,
    org_column(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    id_column("key", nullable=False),
    sa.Column("marked_at", sa.BigInteger, nullable=False),
    org_key("target", "kind", "key"),
    sqlite_with_rowid=False,
)

#: Sync targets; dirty marks are written for those that are enabled.
sync_target = sa.Table(
    "sync_target",
    metadata,
    org_column(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("enabled_at", sa.BigInteger),
    sa.Column("trouble", TEXT),
    sa.Column("trouble_at", sa.BigInteger),
    sa.Column("compared_at", sa.BigInteger),
    sa.Column("url", TEXT),
    sa.Column("rules", TEXT),
    sa.Column("events_at", sa.BigInteger),
    org_key("target"),
)

#: Worker leases with their ends; a worker without a lease has stopped.
sync_worker = sa.Table(
    "sync_worker",
    metadata,
    org_column(),
    sa.Column("target", TEXT, nullable=False),
    id_column("worker_id", nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    org_key("target", "worker_id"),
)

#: Sync items: what a target should contain, the outcome, and the worker that claimed it. `marked` is the number of
#: the last change, `settled` of the last completed change, and `doubted` of the last change that requires reading the
#: target itself.
sync_item = sa.Table(
    "sync_item",
    metadata,
    org_column(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    id_column("key", nullable=False),
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
    id_column("fingerprint"),
    id_column("fold"),
    sa.Column("remote_type", TEXT),
    sa.Column("remote_id", TEXT),
    sa.Column("remote_name", TEXT),
    sa.Column("ours", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("detail_json", TEXT),
    id_column("claim"),
    org_key("target", "kind", "key"),
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

#: Items that need attention.
NEEDS_ATTENTION_SQL = "outcome IN ('dead', 'unresolved')"
sa.Index(
    "ix_sync_item__troubled",
    sync_item.c.target,
    sync_item.c.kind,
    sync_item.c.key,
    sync_item.c.org_id,
    sqlite_where=sa.text(NEEDS_ATTENTION_SQL),
    postgresql_where=sa.text(NEEDS_ATTENTION_SQL),
)

#: Edges that were pushed to a target: the entities they connect, and the content that was sent.
sync_edge = sa.Table(
    "sync_edge",
    metadata,
    org_column(),
    sa.Column("target", TEXT, nullable=False),
    id_column("into_key", nullable=False),
    id_column("from_key", nullable=False),
    sa.Column("into_type", TEXT, nullable=False),
    sa.Column("into_id", TEXT, nullable=False),
    sa.Column("from_type", TEXT, nullable=False),
    sa.Column("from_id", TEXT, nullable=False),
    id_column("job_key"),
    id_column("fingerprint", nullable=False),
    sa.Column("ours", sa.Boolean, nullable=False),
    sa.Column("said_json", TEXT, nullable=False),
    org_key("target", "into_key", "from_key"),
)
sa.Index("ix_sync_edge__from_key", sync_edge.c.from_key, sync_edge.c.org_id)
sa.Index("ix_sync_edge__job_key", sync_edge.c.job_key, sync_edge.c.org_id)

#: Result of the last completed comparison with a target, by kind of item.
sync_comparison = sa.Table(
    "sync_comparison",
    metadata,
    org_column(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("wanted", sa.BigInteger, nullable=False),
    sa.Column("lacking", sa.BigInteger, nullable=False),
    sa.Column("looked_at", sa.BigInteger, nullable=False),
    sa.Column("differing", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger, nullable=False),
    org_key("target", "kind"),
)

#: Number of requests to a target by hour.
sync_call = sa.Table(
    "sync_call",
    metadata,
    org_column(),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("hour", sa.BigInteger, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("failed", sa.BigInteger, nullable=False),
    org_key("target", "hour", "kind"),
)
