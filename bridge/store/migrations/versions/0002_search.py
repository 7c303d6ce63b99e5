"""Adds the search index."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables of the search index, and queue everything for indexing."""
    op.create_table(
        "search_entry",
        sa.Column("entry", COUNTER, autoincrement=True, nullable=False),
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("sort_key", sa.LargeBinary(), nullable=False),
        sa.Column("hit_json", TEXT, nullable=False),
        sa.Column("words", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("entry"),
    )
    op.create_index("ix_search_entry__sort_key", "search_entry", ["org_id", "sort_key"], unique=False)
    op.create_index("ux_search_entry__id", "search_entry", ["id", "org_id"], unique=True)
    _create_words()
    op.create_table(
        "search_stale",
        sa.Column("seq", COUNTER, autoincrement=True, nullable=False),
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("ix_dataset_registration__dataset_id", "dataset_registration", ["dataset_id", "org_id"], unique=False)
    op.execute("INSERT INTO search_stale (org_id, id) SELECT org_id, dataset_id FROM ol_dataset")
    op.execute("INSERT INTO search_stale (org_id, id) SELECT org_id, job_id FROM ol_job")


def _create_words() -> None:
    """Create the full-text index: a GIN index on PostgreSQL, a virtual table filled by triggers on SQLite."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE INDEX ix_search_entry__words ON search_entry"
            " USING gin (array_to_tsvector(string_to_array(words, ' '))) WITH (fastupdate = off)"
        )
        return
    op.execute(
        "CREATE VIRTUAL TABLE search_words USING fts5(words, content='search_entry', content_rowid='entry',"
        " detail=none, columnsize=0, tokenize='ascii')"
    )
    op.execute(
        "CREATE TRIGGER search_words_insert AFTER INSERT ON search_entry BEGIN"
        " INSERT INTO search_words (rowid, words) VALUES (NEW.entry, NEW.words); END"
    )
    op.execute(
        "CREATE TRIGGER search_words_delete AFTER DELETE ON search_entry BEGIN"
        " INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', OLD.entry, OLD.words); END"
    )
    op.execute(
        "CREATE TRIGGER search_words_update AFTER UPDATE OF words ON search_entry WHEN OLD.words <> NEW.words BEGIN"
        " INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', OLD.entry, OLD.words);"
        " INSERT INTO search_words (rowid, words) VALUES (NEW.entry, NEW.words); END"
    )
