"""Column lineage of queries; expected rows were decided by hand, names of columns by running Spark."""

import pytest

from mappers.errors import InvalidSql
from mappers.sql.lineage import missing_columns, trace_columns
from tests.mappers.sql.formatting import format_columns, format_sources

SCHEMAS = {"t": ["id", "a", "b", "arr", "m", "s"], "u": ["id", "x", "y"], "Trades": ["account_id", "Day"]}

COLUMNS: list[tuple[str, dict[str, str]]] = [
    ("SELECT a, b AS c FROM t", {"a": "t.a", "c": "t.b"}),
    ("SELECT t.a, T.B FROM t", {"a": "t.a", "B": "t.b"}),
    ("SELECT `x`.`a` FROM t AS x", {"a": "t.a"}),
    ("SELECT ACCOUNT_ID, day + 1 AS n FROM TRADES", {"ACCOUNT_ID": "trades.account_id", "n": "trades.Day T"}),
    ("SELECT * FROM u", {"id": "u.id", "x": "u.x", "y": "u.y"}),
    ("SELECT * EXCEPT (id, x), 1 AS one FROM u", {"y": "u.y", "one": ""}),
    ("SELECT u.*, a FROM t, u", {"id": "u.id", "x": "u.x", "y": "u.y", "a": "t.a"}),
    ("SELECT s.f.g, t.s.f AS h, arr[0] AS i FROM t", {"g": "t.s T", "h": "t.s T", "i": "t.arr T"}),
    ("SELECT a + b, a FROM t", {"(a + b)": "t.a T, t.b T", "a": "t.a"}),
    ("SELECT cast(a AS string), upper(b), 'x', 1 FROM t", {"a": "t.a T", "upper(b)": "t.b T", "x": "", "1": ""}),
    ("SELECT a + 1 AS n, n * b AS m FROM t", {"n": "t.a T", "m": "t.a T, t.b T"}),
    ("SELECT my_own(a, b) AS n FROM t", {"n": "t.a T, t.b T"}),
    ("SELECT transform(arr, x -> x + a) AS n FROM t", {"n": "t.a T, t.arr T"}),
    ("SELECT struct(*) AS n FROM u", {"n": "u.id T, u.x T, u.y T"}),
    ("SELECT current_date, current_user AS who FROM t", {"current_date()": "", "who": ""}),
    # Aggregates and masking functions.
    ("SELECT sum(a), count(*) FROM t", {"sum(a)": "t.a A", "count(1)": ""}),
    ("SELECT max(a + b) + 1 AS n, count(DISTINCT a) AS m FROM t", {"n": "t.a A, t.b A", "m": "t.a A*"}),
    ("SELECT try_sum(a) AS n, collect_list(b) AS m FROM t", {"n": "t.a A", "m": "t.b A"}),
    ("SELECT sum(a) FILTER (WHERE b > 1) AS n FROM t", {"n": "t.a A, t.b IF"}),
    ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS n FROM t", {"n": "t.a A"}),
    ("SELECT sha2(string(a), 256) AS n, md5(string(b)) AS m FROM t", {"n": "t.a T*", "m": "t.b T*"}),
    ("SELECT sha1(string(a)) AS n, hash(b) AS m, xxhash64(a) AS o FROM t", {"n": "t.a T*", "m": "t.b T*", "o": "t.a T*"}),
    ("SELECT crc32(string(a)) AS n, mask(string(b)) AS m FROM t", {"n": "t.a T*", "m": "t.b T*"}),
    ("SELECT max(md5(string(a))) AS n FROM t", {"n": "t.a A*"}),
    # Conditions.
    ("SELECT CASE WHEN a > 1 THEN b ELSE id END AS n FROM t", {"n": "t.a IF, t.b T, t.id T"}),
    ("SELECT CASE a WHEN b THEN 1 END AS n FROM t", {"n": "t.a IF, t.b IF"}),
    ("SELECT if(a > 1, b, 0) AS n, nvl2(a, b, id) AS m FROM t", {"n": "t.a IF, t.b T", "m": "t.a IF, t.b T, t.id T"}),
    ("SELECT coalesce(a, b) AS n FROM t", {"n": "t.a IF, t.a T, t.b IF, t.b T"}),
    ("SELECT nullif(a, b) AS n FROM t", {"n": "t.a IF, t.a T, t.b IF"}),
    ("SELECT row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM t", {"n": "t.a WINDOW, t.b WINDOW"}),
    ("SELECT lag(a) OVER w AS n FROM t WINDOW w AS (ORDER BY b)", {"n": "t.a T, t.b WINDOW"}),
    ("SELECT sum(a) OVER (PARTITION BY b) AS n FROM t", {"n": "t.a A, t.b WINDOW"}),
    # Joins: Spark decides which side a shared column comes from.
    ("SELECT * FROM t JOIN u USING (id)", {"id": "t.id", "a": "t.a", "b": "t.b", "arr": "t.arr", "m": "t.m", "s": "t.s", "x": "u.x", "y": "u.y"}),
    ("SELECT id, u.id AS other FROM t LEFT JOIN u USING (id)", {"id": "t.id", "other": "u.id"}),
    ("SELECT id FROM t RIGHT JOIN u USING (id)", {"id": "u.id"}),
    ("SELECT id FROM t FULL JOIN u USING (id)", {"id": "t.id T, u.id T"}),
    ("SELECT id, x FROM t NATURAL JOIN u", {"id": "t.id", "x": "u.x"}),
    ("SELECT id, a FROM t LEFT SEMI JOIN u USING (id)", {"id": "t.id", "a": "t.a"}),
    ("SELECT a, x FROM (t JOIN u ON t.id = u.id)", {"a": "t.a", "x": "u.x"}),
    # Subqueries.
    ("SELECT n FROM (SELECT a + 1 AS n FROM t) q", {"n": "t.a T"}),
    ("SELECT sum(n) AS m FROM (SELECT md5(string(a)) AS n FROM t)", {"m": "t.a A*"}),
    ("SELECT (SELECT max(x) FROM u) AS n FROM t", {"n": "u.x A"}),
    ("SELECT (SELECT max(x) FROM u WHERE u.id = t.id) AS n FROM t", {"n": "t.id FILTER, u.id FILTER, u.x A"}),
    ("WITH c AS (SELECT a FROM t), d AS (SELECT a + 1 AS n FROM c) SELECT n FROM d", {"n": "t.a T"}),
    ("WITH t AS (SELECT x AS a FROM u) SELECT a FROM t", {"a": "u.x"}),
    ("WITH c(n) AS (SELECT a FROM t) SELECT n FROM c", {"n": "t.a"}),
    ("WITH RECURSIVE r(n) AS (SELECT a FROM t UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", {"n": "t.a, t.a T"}),
    ("SELECT a FROM t UNION ALL SELECT x FROM u", {"a": "t.a, u.x"}),
    ("SELECT a FROM t EXCEPT SELECT x FROM u", {"a": "t.a"}),
    ("SELECT p FROM VALUES (1, 2) AS v(p, q)", {"p": ""}),
    ("VALUES (1, 2)", {"col1": "", "col2": ""}),
    # Generator functions.
    ("SELECT a, n FROM t LATERAL VIEW explode(arr) e AS n", {"a": "t.a", "n": "t.arr T"}),
    ("SELECT e.col FROM t LATERAL VIEW OUTER explode(arr) e", {"col": "t.arr T"}),
    ("SELECT k, v FROM t LATERAL VIEW explode(m) e AS k, v", {"k": "t.m T", "v": "t.m T"}),
    ("SELECT explode(arr), a FROM t", {"col": "t.arr T", "a": "t.a"}),
    ("SELECT posexplode(arr) FROM t", {"pos": "t.arr T", "col": "t.arr T"}),
    ("SELECT explode(m) AS (k, v) FROM t", {"k": "t.m T", "v": "t.m T"}),
    ("SELECT n FROM t, LATERAL (SELECT t.a + x AS n FROM u)", {"n": "t.a T, u.x T"}),
    ("SELECT id FROM range(3)", {"id": ""}),
    ("SELECT * FROM u PIVOT (sum(x) FOR y IN (1 AS one, 2 AS two))", {"id": "u.id", "one": "u.x A, u.y IF", "two": "u.x A, u.y IF"}),
    ("SELECT * FROM u UNPIVOT (v FOR n IN (x, y))", {"id": "u.id", "n": "", "v": "u.x T, u.y T"}),
    # Views without a schema have every column that is requested; other columns are unknown.
    ("SELECT z, q.w FROM nope q", {"z": "nope.z", "w": "nope.w"}),
    ("SELECT a, z FROM t, nope", {"a": "t.a", "z": "nope.z"}),
    ("SELECT z FROM nope, nix", {"z": ""}),
    ("SELECT * FROM nope, u", {"id": "u.id", "x": "u.x", "y": "u.y"}),
    ("SELECT z FROM (SELECT s.* FROM t)", {"z": ""}),
]  # fmt: skip
DATASET_LEVEL: list[tuple[str, str]] = [
    ("SELECT a FROM t", ""),
    ("SELECT a FROM t WHERE b > 1 AND id IS NULL", "t.b FILTER, t.id FILTER"),
    ("SELECT a FROM t WHERE md5(string(b)) = 'x'", "t.b FILTER*"),
    ("SELECT 1 FROM t JOIN u ON t.a = u.x", "t.a JOIN, u.x JOIN"),
    ("SELECT 1 FROM t JOIN u USING (id)", "t.id JOIN, u.id JOIN"),
    ("SELECT 1 FROM t LEFT ANTI JOIN u ON t.a = u.x", "t.a JOIN, u.x JOIN"),
    ("SELECT max(b) FROM t GROUP BY a", "t.a GROUP"),
    ("SELECT a + 1 AS n, max(b) FROM t GROUP BY n", "t.a GROUP"),
    ("SELECT a, max(b) FROM t GROUP BY 1", "t.a GROUP"),
    ("SELECT a, try_sum(b) FROM t GROUP BY ALL", "t.a GROUP"),
    ("SELECT max(a) FROM t GROUP BY CUBE (a, b)", "t.a GROUP, t.b GROUP"),
    ("SELECT max(b) AS n FROM t GROUP BY a HAVING n > 1", "t.a GROUP, t.b FILTER"),
    ("SELECT max(b) AS id FROM t GROUP BY a HAVING id > 1", "t.a GROUP, t.b FILTER"),
    ("SELECT max(b) AS a FROM t GROUP BY a HAVING a > 1", "t.a FILTER, t.a GROUP"),
    ("SELECT max(b) AS a FROM t GROUP BY a ORDER BY a", "t.a GROUP, t.b SORT"),
    ("SELECT a AS id, id AS n FROM t ORDER BY id", "t.a SORT"),
    ("SELECT a FROM t ORDER BY b", "t.b SORT"),
    ("SELECT a, b FROM t ORDER BY 2", "t.b SORT"),
    ("SELECT a, b FROM t ORDER BY ALL", "t.a SORT, t.b SORT"),
    ("SELECT a FROM t UNION ALL SELECT x FROM u ORDER BY a", "t.a SORT, u.x SORT"),
    ("SELECT DISTINCT a FROM t", "t.a GROUP"),
    ("SELECT a FROM t UNION SELECT x FROM u", "t.a GROUP, u.x GROUP"),
    ("SELECT a FROM t EXCEPT SELECT x FROM u", "t.a FILTER, u.x FILTER"),
    ("SELECT a FROM t WHERE a IN (SELECT x FROM u WHERE y > 1)", "t.a FILTER, u.x FILTER, u.y FILTER"),
    ("SELECT a FROM t WHERE EXISTS (SELECT y FROM u WHERE u.id = t.id)", "t.id FILTER, u.id FILTER"),
    ("SELECT n FROM (SELECT a AS n, b FROM t WHERE b > 1) WHERE n > 1", "t.a FILTER, t.b FILTER"),
    ("WITH c AS (SELECT a FROM t WHERE b > 1) SELECT count(*) FROM c", "t.b FILTER"),
]  # fmt: skip
PROBLEMS: list[tuple[str, list[str]]] = [
    ("SELECT aa FROM t", ["line 1, column 8: there is no column aa in t; the nearest is a"]),
    ("SELECT ACOUNT_ID\nFROM trades", ["line 1, column 8: there is no column ACOUNT_ID in trades; the nearest is account_id"]),
    ("SELECT z,\n  u.z FROM t, u", [
        "line 1, column 8: there is no column z in t, u; the nearest is y",
        "line 2, column 3: there is no column z in u; the nearest is y",
    ]),
    ("SELECT 1 FROM t q WHERE t.a > 1 ORDER BY z", [
        "line 1, column 25: there is no column t.a in q; the nearest is a",
        "line 1, column 42: there is no column z in q; the nearest is s",
    ]),
    ("SELECT id FROM t JOIN u ON t.id = u.id", ["line 1, column 8: column id is ambiguous: it is in t and in u"]),
    ("SELECT z FROM (SELECT x FROM u)", ["line 1, column 8: there is no column z in a subquery; the nearest is x"]),
    ("SELECT b FROM t LEFT SEMI JOIN u ON t.id = u.id WHERE x > 1", ["line 1, column 55: there is no column x in t; the nearest is s"]),
    ("SELECT a AS n FROM t WHERE n > 1", ["line 1, column 28: there is no column n in t; the nearest is s"]),
    ("SELECT 1 FROM t JOIN u USING (a)", ["line 1, column 22: column a is not on both sides of the join"]),
    ("SELECT q.* FROM t", ["line 1, column 8: there is no view q to expand * from"]),
    ("SELECT a FROM t UNION ALL SELECT x, y FROM u", ["line 1, column 8: UNION of 1 and 2 columns"]),
    ("SELECT z", ["line 1, column 8: there is no column z in no view"]),
    # Not checked: possible columns of a view without a schema.
    ("SELECT z FROM t, nope", []),
    ("SELECT t.z FROM t, nope", ["line 1, column 8: there is no column z in t; the nearest is s"]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "columns"), COLUMNS)
def test_column_sources(sql: str, columns: dict[str, str]) -> None:
    lineage = trace_columns(sql, SCHEMAS)
    assert format_columns(lineage) == columns
    assert list(lineage.columns) == list(columns)
    assert missing_columns(sql, SCHEMAS) == []


@pytest.mark.parametrize(("sql", "expected"), DATASET_LEVEL)
def test_dataset_level_sources(sql: str, expected: str) -> None:
    assert format_sources(trace_columns(sql, SCHEMAS).dataset_level) == expected


@pytest.mark.parametrize(("sql", "problems"), PROBLEMS)
def test_missing_columns_are_reported_together(sql: str, problems: list[str]) -> None:
    assert missing_columns(sql, SCHEMAS) == problems
    if problems:
        with pytest.raises(InvalidSql) as raised:
            trace_columns(sql, SCHEMAS)
        assert str(raised.value) == problems[0]


def test_views_without_source_columns_are_listed() -> None:
    assert trace_columns("SELECT count(*) FROM t", SCHEMAS).views == {"t"}


def test_long_chains_do_not_recurse_deeply() -> None:
    unions = trace_columns(" UNION ALL ".join(["SELECT a FROM t"] * 500), SCHEMAS)
    assert format_sources(unions.columns["a"]) == "t.a"
    sums = trace_columns(f"SELECT {' + '.join(['a'] * 3000)} AS n FROM t", SCHEMAS)
    assert format_sources(sums.columns["n"]) == "t.a T"
