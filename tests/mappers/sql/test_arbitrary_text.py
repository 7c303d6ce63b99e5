"""Any text is parsed, or rejected with a message of one line."""

import contextlib

from hypothesis import example, given
from hypothesis import strategies as st

from mappers.errors import InvalidSql
from mappers.sql.lineage import missing_columns, trace_columns
from mappers.sql.parser import referenced_views
from tests.mappers.sql.test_lineage import COLUMNS, DATASET_LEVEL, PROBLEMS, SCHEMAS

_QUERIES = [sql for sql, _ in (*COLUMNS, *DATASET_LEVEL, *PROBLEMS)]
_FRAGMENTS = (
    "LATERAL",
    "UNNEST(arr)",
    "*",
    "'",
    "`",
    "/*",
    "->",
    "::int",
    "[0]",
    "${x}",
    ":p",
    "?",
    "|> SELECT a",
    "\x1b[4m",
)
_WORDS = sorted({word for sql in _QUERIES for word in sql.split()} | set(_FRAGMENTS))


@st.composite
def _mutated_query(draw: st.DrawFn) -> str:
    """Replace a few words of a query."""
    words = draw(st.sampled_from(_QUERIES)).split()
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(0, len(words) - 1))
        words[index : index + draw(st.integers(0, 1))] = draw(
            st.lists(st.sampled_from(_WORDS), min_size=1, max_size=2)
        )
    return " ".join(words)


@given(st.one_of(_mutated_query(), st.text(max_size=40)))
@example("SELECT t.z FROM arr[0] t, e.col nope")
@example("SELECT * FROM UNNEST(arr), u")
@example("SELECT * FROM t JOIN u LATERAL (id)")
@example("SELECT * -> 0.5 FROM t")
@example("SELECT `\x1b[4m\n` FROM t")
@example("SELECT 1 FROM t JOIN u USING ({{ x }})")
def test_any_text_is_parsed_or_rejected(sql: str) -> None:
    for analyze in (
        referenced_views,
        lambda text: trace_columns(text, SCHEMAS),
        lambda text: trace_columns(text, {}),
        lambda text: missing_columns(text, SCHEMAS),
    ):
        try:
            analyze(sql)
        except InvalidSql as error:
            message = str(error)
            assert message.startswith("line ")
            assert message.isprintable()


def test_views_of_sources_are_referenced_views() -> None:
    for sql in _QUERIES:
        with contextlib.suppress(InvalidSql):
            lineage = trace_columns(sql, SCHEMAS)
            source_views = {
                source.view for sources in (*lineage.columns.values(), lineage.dataset_level) for source in sources
            }
            assert source_views <= lineage.views == referenced_views(sql)
