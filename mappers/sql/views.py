"""The views that a query reads."""

from sqlglot import expressions as exp

from mappers.errors import BadSql
from mappers.sql.query import own_children, read_query


def views_read(sql: str) -> frozenset[str]:
    """List the views that a query reads, in lower case; raises BadSql where the text is not one query."""
    query = read_query(sql)
    try:
        return views_of(query)
    except RecursionError:
        raise BadSql("line 1, column 1: the query is nested too deeply to be read") from None


def views_of(query: exp.Expression) -> frozenset[str]:
    """List the views that a query reads, in lower case, without what its WITH clauses name."""
    found: set[str] = set()
    waiting: list[tuple[exp.Expression, frozenset[str]]] = [(query, frozenset())]
    while waiting:
        node, named = waiting.pop()
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for cte in clause.expressions:
                within = named | {cte.alias.lower()} if clause.recursive else named
                waiting.append((cte.this, within))
                named |= {cte.alias.lower()}
        if isinstance(node, exp.Table):
            name = view_name(node)
            if name and (node.db or name not in named):
                found.add(name)
            found |= _given_tables(node.this)
        waiting += [(child, named) for child in own_children(node) if child is not clause]
    return frozenset(found)


def view_name(table: exp.Table) -> str | None:
    """Name the view that is read, dotted where it is qualified; None for a function that gives rows."""
    if isinstance(table.this, exp.Func) and table.this.name.upper() == "IDENTIFIER":
        raise BadSql("line 1, column 1: IDENTIFIER() hides which view is read: name the view")
    if not isinstance(table.this, exp.Identifier):
        return None
    return ".".join(part.name for part in table.parts).lower()


def _given_tables(function: exp.Expression) -> set[str]:
    """List the views that a function of a FROM clause is given as TABLE(...)."""
    given = (one for one in function.args.get("expressions") or () if isinstance(one, exp.Anonymous))
    columns = (one.expressions[0] for one in given if one.name.upper() == "TABLE" and one.expressions)
    return {".".join(part.name for part in one.parts).lower() for one in columns if isinstance(one, exp.Column)}
