"""From steps to a chain of them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.sql.column_source import QueryLineage, compose
from mappers.sql.lineage import trace_columns
from tests.mappers.sql.quoting import columns_of, spelled

SCHEMAS = {"t": ["id", "a", "b"], "u": ["id", "x"]}


def composed(*steps: str) -> QueryLineage:
    """Compose steps that are called one, two and so on, as a runner does: with the columns of those before."""
    schemas, traced = dict(SCHEMAS), []
    for name, sql in zip(("one", "two", "three"), steps, strict=False):
        traced.append((name, trace_columns(sql, schemas)))
        schemas[name] = list(traced[-1][1].columns)
    return compose(traced, traced[-1][0], SCHEMAS)


@pytest.mark.parametrize(
    ("steps", "columns", "whole"),
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
def test_a_chain_is_told_down_to_its_inputs(steps: list[str], columns: dict[str, str], whole: str) -> None:
    result = composed(*steps)
    assert columns_of(result) == columns
    assert spelled(result.dataset_level) == whole


def test_what_is_neither_an_input_nor_a_step_has_no_sources() -> None:
    steps = [("two", trace_columns("SELECT a, x FROM by_python, u", SCHEMAS))]
    result = compose(steps, "two", ["u"])
    assert columns_of(result) == {"a": "", "x": "u.x"}
    assert result.views == {"u"}


@pytest.mark.parametrize("result", ["u", "nobody"])
def test_only_steps_have_a_lineage(result: str) -> None:
    with pytest.raises(KeyError):
        compose([("one", trace_columns("SELECT a FROM t", SCHEMAS))], result, SCHEMAS)


_EXPRESSIONS = ("a", "b", "id", "a + b", "md5(a)", "if(a > 1, b, id)", "coalesce(a, b)", "upper(b)")
_QUERIES = st.builds(
    lambda made, where: f"SELECT {', '.join(f'{one} AS c{at}' for at, one in enumerate(made))} FROM t{where}",
    st.lists(st.sampled_from(_EXPRESSIONS), min_size=1, max_size=4),
    st.sampled_from(["", " WHERE b > 1", " ORDER BY a", " WHERE a IN (SELECT x FROM u)"]),
)


@given(_QUERIES, st.integers(0, 3), st.integers(0, 3))
def test_steps_that_change_nothing_change_nothing(sql: str, before: int, after: int) -> None:
    alone = trace_columns(sql, SCHEMAS)
    names = ["t", *(f"before{at}" for at in range(before))]
    steps = [(name, trace_columns(f"SELECT * FROM {of}", {of: SCHEMAS["t"]})) for of, name in pairwise(names)]
    own = sql.replace("FROM t", f"FROM {names[-1]}")
    steps.append(("own", trace_columns(own, {**SCHEMAS, names[-1]: SCHEMAS["t"]})))
    names = ["own", *(f"after{at}" for at in range(after))]
    steps += [(name, trace_columns(f"SELECT * FROM {of}", {of: list(alone.columns)})) for of, name in pairwise(names)]
    assert compose(steps, names[-1], SCHEMAS) == alone
