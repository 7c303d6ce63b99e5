"""Lineage across several steps."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.sql.column_source import QueryLineage, compose_lineage
from mappers.sql.lineage import trace_columns
from tests.mappers.sql.formatting import format_columns, format_sources

SCHEMAS = {"t": ["id", "a", "b"], "u": ["id", "x"]}


def compose_steps(*steps: str) -> QueryLineage:
    """Compose steps named one, two and three; like a runner, with the columns of the previous steps."""
    schemas, lineages = dict(SCHEMAS), []
    for name, sql in zip(("one", "two", "three"), steps, strict=False):
        lineages.append((name, trace_columns(sql, schemas)))
        schemas[name] = list(lineages[-1][1].columns)
    return compose_lineage(lineages, lineages[-1][0], SCHEMAS)


@pytest.mark.parametrize(
    ("steps", "columns", "dataset_level"),
    [
        (["SELECT a FROM t"], {"a": "t.a"}, ""),
        (["SELECT a FROM t", "SELECT a AS n FROM ONE"], {"n": "t.a"}, ""),
        (["SELECT a + 1 AS n FROM t", "SELECT N FROM one"], {"N": "t.a T"}, ""),
        (["SELECT sum(a) AS n FROM t", "SELECT n + 1 AS n FROM one"], {"n": "t.a A"}, ""),
        (["SELECT a + 1 AS n FROM t", "SELECT sum(n) AS n FROM one"], {"n": "t.a A"}, ""),
        (["SELECT md5(a) AS n FROM t", "SELECT max(n) AS n FROM one"], {"n": "t.a A*"}, ""),
        (["SELECT md5(a) AS n, b FROM t", "SELECT b FROM one WHERE n = 1"], {"b": "t.b"}, "t.a FILTER*"),
        (["SELECT if(a > 1, b, 0) AS n FROM t", "SELECT n + 1 AS n FROM one"], {"n": "t.a IF, t.b T"}, ""),
        (["SELECT a + 1 AS n FROM t", "SELECT if(n > 1, n, 0) AS n FROM one"], {"n": "t.a IF, t.a T"}, ""),
        (["SELECT a FROM t WHERE b > 1", "SELECT a FROM one"], {"a": "t.a"}, "t.b FILTER"),
        (["SELECT a FROM t WHERE b > 1", "SELECT count(*) AS n FROM one"], {"n": ""}, "t.b FILTER"),
        (["SELECT a FROM t WHERE b > 1", "SELECT x FROM u"], {"x": "u.x"}, ""),
        (["SELECT a, id FROM t", "SELECT x, id FROM u", "SELECT a, x FROM one JOIN two USING (id)"],
         {"a": "t.a", "x": "u.x"}, "t.id JOIN, u.id JOIN"),
        (["SELECT a FROM t", "SELECT a FROM one UNION ALL SELECT a + 1 FROM one", "SELECT a FROM two"],
         {"a": "t.a, t.a T"}, ""),
    ],
)  # fmt: skip
def test_chain_is_resolved_to_its_inputs(steps: list[str], columns: dict[str, str], dataset_level: str) -> None:
    result = compose_steps(*steps)
    assert format_columns(result) == columns
    assert format_sources(result.dataset_level) == dataset_level


def test_unknown_views_have_no_sources() -> None:
    steps = [("two", trace_columns("SELECT a, x FROM by_python, u", SCHEMAS))]
    result = compose_lineage(steps, "two", ["u"])
    assert format_columns(result) == {"a": "", "x": "u.x"}
    assert result.views == {"u"}


@pytest.mark.parametrize("result", ["u", "missing"])
def test_result_must_be_a_step(result: str) -> None:
    with pytest.raises(KeyError):
        compose_lineage([("one", trace_columns("SELECT a FROM t", SCHEMAS))], result, SCHEMAS)


_EXPRESSIONS = ("a", "b", "id", "a + b", "md5(a)", "if(a > 1, b, id)", "coalesce(a, b)", "upper(b)")
_QUERIES = st.builds(
    lambda expressions, suffix: (
        f"SELECT {', '.join(f'{expression} AS c{index}' for index, expression in enumerate(expressions))} FROM t{suffix}"
    ),
    st.lists(st.sampled_from(_EXPRESSIONS), min_size=1, max_size=4),
    st.sampled_from(["", " WHERE b > 1", " ORDER BY a", " WHERE a IN (SELECT x FROM u)"]),
)


@given(_QUERIES, st.integers(0, 3), st.integers(0, 3))
def test_identity_steps_do_not_change_lineage(sql: str, steps_before: int, steps_after: int) -> None:
    expected = trace_columns(sql, SCHEMAS)
    names = ["t", *(f"before{index}" for index in range(steps_before))]
    steps = [
        (name, trace_columns(f"SELECT * FROM {source}", {source: SCHEMAS["t"]})) for source, name in pairwise(names)
    ]
    renamed_sql = sql.replace("FROM t", f"FROM {names[-1]}")
    steps.append(("own", trace_columns(renamed_sql, {**SCHEMAS, names[-1]: SCHEMAS["t"]})))
    names = ["own", *(f"after{index}" for index in range(steps_after))]
    steps += [
        (name, trace_columns(f"SELECT * FROM {source}", {source: list(expected.columns)}))
        for source, name in pairwise(names)
    ]
    assert compose_lineage(steps, names[-1], SCHEMAS) == expected
