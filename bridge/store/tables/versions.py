"""Tables of dataset versions: publications, pins, invalidations and definitions."""

import sqlalchemy as sa

from bridge.store.tables.columns import TEXT, id_column, metadata, org_column, org_key

#: Publication history of datasets: version, actor, time and reason. The last entry is the published version.
#: Entries of one publication share `began`, the number of its first entry; `follows` is the previous entry.
publication = sa.Table(
    "publication",
    metadata,
    org_column(),
    sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
    sa.Column("began", sa.BigInteger, nullable=False),
    id_column("dataset_id", nullable=False),
    id_column("version_id", nullable=False),
    sa.Column("version_tag", TEXT, nullable=False),
    sa.Column("follows", sa.BigInteger),
    sa.Column("how", TEXT, nullable=False),
    sa.Column("moved_by", TEXT, nullable=False),
    sa.Column("moved_at", sa.BigInteger, nullable=False),
    sa.Column("reason", TEXT),
    org_key("number"),
)
sa.Index("ix_publication__dataset_id", publication.c.dataset_id, publication.c.number, publication.c.org_id)
sa.Index("ix_publication__began", publication.c.began, publication.c.org_id)
# Two entries that follow the same one would fork the history: the index makes that impossible for any writer.
sa.Index(
    "ux_publication__follows",
    publication.c.follows,
    publication.c.org_id,
    unique=True,
    sqlite_where=publication.c.follows.is_not(None),
    postgresql_where=publication.c.follows.is_not(None),
)

#: Named pins, which retain versions until they expire.
pin = sa.Table(
    "pin",
    metadata,
    org_column(),
    sa.Column("name", TEXT, nullable=False),
    id_column("version_id", nullable=False),
    id_column("dataset_id", nullable=False),
    sa.Column("version_tag", TEXT, nullable=False),
    sa.Column("pinned_by", TEXT, nullable=False),
    sa.Column("pinned_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("reason", TEXT),
    org_key("name", "version_id"),
)
sa.Index("ix_pin__dataset_id", pin.c.dataset_id, pin.c.org_id)

#: Invalid versions and partitions; an empty partition stands for the whole version.
version_invalid = sa.Table(
    "version_invalid",
    metadata,
    org_column(),
    id_column("version_id", nullable=False),
    sa.Column("partition_key", TEXT, nullable=False),
    id_column("dataset_id", nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("marked_by", TEXT, nullable=False),
    sa.Column("marked_at", sa.BigInteger, nullable=False),
    sa.Column("lifted_by", TEXT),
    sa.Column("lifted_at", sa.BigInteger),
    org_key("version_id", "partition_key"),
)
sa.Index("ix_version_invalid__dataset_id", version_invalid.c.dataset_id, version_invalid.c.org_id)

#: Custom metadata of datasets; metadata of versions is a column of `dataset_version`.
dataset_metadata = sa.Table(
    "dataset_metadata",
    metadata,
    org_column(),
    id_column("dataset_id", nullable=False),
    sa.Column("metadata_json", TEXT, nullable=False),
    sa.Column("set_by", TEXT, nullable=False),
    sa.Column("set_at", sa.BigInteger, nullable=False),
    org_key("dataset_id"),
)

#: Definitions of processes and DAGs, one row per content; one of them is active.
process_definition = sa.Table(
    "process_definition",
    metadata,
    org_column(),
    id_column("process_id", nullable=False),
    id_column("content_hash", nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("namespace", TEXT, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("version", TEXT, nullable=False),
    sa.Column("definition_json", TEXT, nullable=False),
    sa.Column("registered_by", TEXT, nullable=False),
    sa.Column("registered_at", sa.BigInteger, nullable=False),
    sa.Column("is_active", sa.Boolean, nullable=False),
    org_key("process_id", "content_hash"),
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
