"""Whatever somebody writes: it is read, or refused in one line of ours."""

import contextlib

from hypothesis import example, given
from hypothesis import strategies as st

from mappers.errors import InvalidSql
from mappers.sql.lineage import missing_columns, trace_columns
from mappers.sql.parser import referenced_views
from tests.mappers.sql.test_lineage import PROBLEMS, SCHEMAS, TRACED, WHOLE

_QUERIES = [sql for sql, _ in (*TRACED, *WHOLE, *PROBLEMS)]
_STRANGE = (
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
_WORDS = sorted({word for sql in _QUERIES for word in sql.split()} | set(_STRANGE))


@st.composite
def _changed(draw: st.DrawFn) -> str:
    """Change a few words of a query."""
    words = draw(st.sampled_from(_QUERIES)).split()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(words) - 1))
        words[at : at + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=2))
    return " ".join(words)


@given(st.one_of(_changed(), st.text(max_size=40)))
@example("SELECT t.z FROM arr[0] t, e.col nope")
@example("SELECT * FROM UNNEST(arr), u")
@example("SELECT * FROM t JOIN u LATERAL (id)")
@example("SELECT * -> 0.5 FROM t")
@example("SELECT `\x1b[4m\n` FROM t")
@example("SELECT 1 FROM t JOIN u USING ({{ x }})")
def test_no_text_breaks_it(sql: str) -> None:
    for read in (
        referenced_views,
        lambda text: trace_columns(text, SCHEMAS),
        lambda text: trace_columns(text, {}),
        lambda text: missing_columns(text, SCHEMAS),
    ):
        try:
            read(sql)
        except InvalidSql as error:
            said = str(error)
            assert said.startswith("line ")
            assert said.isprintable()


def test_what_is_traced_is_read() -> None:
    for sql in _QUERIES:
        with contextlib.suppress(InvalidSql):
            traced = trace_columns(sql, SCHEMAS)
            named = {
                source.view for sources in (*traced.columns.values(), traced.dataset_level) for source in sources
            }
            assert named <= traced.views == referenced_views(sql)
