"""Views that a query references, and texts that are not a query."""

import pytest

from mappers.errors import InvalidSql
from mappers.sql.parser import referenced_views


@pytest.mark.parametrize(
    ("sql", "views"),
    [
        ("SELECT 1", ""),
        ("VALUES (1, 2)", ""),
        ("SELECT a FROM t", "t"),
        ("FROM t SELECT a", "t"),
        ("((SELECT a FROM t))", "t"),
        ("SELECT a FROM t;", "t"),
        ("SELECT `A` FROM `Trades` x JOIN TRADES y", "trades"),
        ("SELECT a FROM `odd name`", "odd name"),
        ("SELECT a FROM db.T, cat.db.u", "db.t cat.db.u"),
        ("SELECT a FROM t UNION SELECT b FROM u EXCEPT SELECT c FROM v", "t u v"),
        ("SELECT a FROM t WHERE b IN (SELECT c FROM u) AND EXISTS (SELECT 1 FROM v)", "t u v"),
        ("SELECT (SELECT max(c) FROM u) FROM t", "t u"),
        ("SELECT a FROM t ORDER BY (SELECT 1 FROM u)", "t u"),
        ("SELECT a FROM (t JOIN u) LEFT JOIN (SELECT b FROM v)", "t u v"),
        ("SELECT a FROM t, LATERAL (SELECT b FROM u)", "t u"),
        ("SELECT a FROM t LATERAL VIEW explode(b) e AS c", "t"),
        ("SELECT * FROM range(3), explode(array(1))", ""),
        ("SELECT * FROM VALUES (1) AS v(a)", ""),
        ("SELECT * FROM my_function(TABLE(t), 1)", "t"),
        ("SELECT /*+ BROADCAST(u) */ a FROM t", "t"),
        ("SELECT a FROM t -- JOIN u\n/* JOIN v */", "t"),
        ("SELECT 'FROM u' FROM t", "t"),
        ("SELECT a FROM t VERSION AS OF 3", "t"),
        ("SELECT a FROM t WHERE d = :day", "t"),
        # Names of WITH are not views; before its definition, a name refers to a view.
        ("WITH c AS (SELECT a FROM t) SELECT * FROM c", "t"),
        ("WITH t AS (SELECT a FROM t) SELECT * FROM T", "t"),
        ("WITH t AS (SELECT 1), u AS (SELECT * FROM t) SELECT * FROM u", ""),
        ("WITH c AS (SELECT * FROM d), d AS (SELECT 1) SELECT * FROM c", "d"),
        ("WITH c AS (SELECT 1) SELECT * FROM (WITH d AS (SELECT * FROM c) SELECT * FROM d), d", "d"),
        ("WITH c AS (SELECT 1) SELECT * FROM db.c", "db.c"),
        ("WITH RECURSIVE r(n) AS (SELECT a FROM t UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", "t"),
        ("SELECT a FROM " + " UNION ALL SELECT a FROM ".join(["t"] * 500), "t"),
        ("SELECT " + " + ".join(["a"] * 5000) + " FROM t", "t"),
    ],
)
def test_referenced_views(sql: str, views: str) -> None:
    expected = {"odd name"} if views == "odd name" else set(views.split())
    assert referenced_views(sql) == expected


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "line 1, column 1: the query is empty"),
        ("-- nothing", "line 1, column 1: the query is empty"),
        ("SELECT", "line 1, column 1: the select list is empty"),
        ("DROP TABLE t", "line 1, column 1: DROP cannot start a query: a step must be a single SELECT"),
        ("\n  CREATE VIEW v AS SELECT 1", "line 2, column 3: CREATE cannot start a query: a step must be a single SELECT"),
        ("INSERT INTO t SELECT 1", "line 1, column 1: INSERT cannot start a query: a step must be a single SELECT"),
        ("WITH c AS (SELECT 1) INSERT INTO t SELECT * FROM c", "line 1, column 1: INSERT is not a query: a step must be a single SELECT"),
        ("EXPLAIN SELECT 1", "line 1, column 1: EXPLAIN cannot start a query: a step must be a single SELECT"),
        ("SELECT a INTO b FROM t", "line 1, column 1: SELECT INTO writes a table: a step can only read"),
        ("SELECT 1;\nDROP TABLE t", "line 2, column 1: this is a second statement: a step must be a single SELECT"),
        ("SELECT a FROM IDENTIFIER('t')", "line 1, column 1: IDENTIFIER() hides which view is read: name the view"),
        ("SELECT a FROM t WHERE d = {{ day }}", "line 1, column 27: double braces are template syntax, not SQL: write parameters as :name"),
        ("SELECT * -> 0.5 FROM t", "line 1, column 1: the query cannot be parsed"),
        ("SELECT a b\n  cde FROM t", "line 2, column 3: unexpected cde"),
        ("SELECT a FROM t WHERE (b = 1", "line 1, column 28: expecting ) near 1"),
        ("SELECT a\nFROM", "line 2, column 1: expected table name near FROM"),
        ("SELECT 'x", "line 1, column 9: a quote, a name or a comment is not closed"),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "line 1, column 1: the query is nested too deeply"),
    ],
)  # fmt: skip
def test_other_texts_are_rejected_with_a_position(sql: str, message: str) -> None:
    with pytest.raises(InvalidSql) as raised:
        referenced_views(sql)
    assert str(raised.value) == message
