"""Tables of the search index and its queue of stale entries."""

import sqlalchemy as sa

from bridge.store.tables.columns import TEXT, id_column, metadata, org_column

#: Search entries of identity groups and jobs; computed from other tables and never exported.
search_entry = sa.Table(
    "search_entry",
    metadata,
    sa.Column("entry", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    org_column(),
    sa.Column("kind", TEXT, nullable=False),
    id_column("id", nullable=False),
    id_column("sort_key", nullable=False),
    sa.Column("hit_json", TEXT, nullable=False),
    sa.Column("words", TEXT, nullable=False),
)
sa.Index("ux_search_entry__id", search_entry.c.id, search_entry.c.org_id, unique=True)
sa.Index("ix_search_entry__sort_key", search_entry.c.org_id, search_entry.c.sort_key)

#: Full-text index of each database.
_FULL_TEXT_INDEX: tuple[tuple[str, str], ...] = (
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
for _dialect, _statement in _FULL_TEXT_INDEX:
    _ddl = sa.DDL(_statement).execute_if(dialect=_dialect)  # type: ignore[no-untyped-call]
    sa.event.listen(search_entry, "after_create", _ddl)

#: Datasets and jobs that are to be indexed, queued by the triggers of `bridge/store/search/triggers.py`.
search_stale = sa.Table(
    "search_stale",
    metadata,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    org_column(),
    id_column("id", nullable=False),
)
