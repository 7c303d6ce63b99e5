"""Rows turned into columns, and columns into rows."""

from sqlglot import expressions as exp

from mappers.sql.expression import Queries, sources_of
from mappers.sql.relation import NO_SOURCES, Cell, Relation
from mappers.sql.scope import Scope, without
from mappers.sql.source import CONDITIONAL, GROUP_BY, TRANSFORMATION, through


def pivoted(pivot: exp.Expression, scope: Scope, relation: Relation, queries: Queries) -> Relation:
    """Say what PIVOT or UNPIVOT makes of a relation, which is all that the scope holds."""
    if pivot.args.get("unpivot"):
        return _unpivoted(pivot, scope, relation, queries)
    said = [*pivot.expressions, *(field.this for field in pivot.args.get("fields") or ())]
    values = frozenset().union(*(sources_of(one, scope, queries) for one in pivot.expressions))
    chosen = frozenset().union(
        *(sources_of(field.this, scope, queries, CONDITIONAL) for field in pivot.args.get("fields") or ())
    )
    rest = without(relation.cells, _columns(said))
    grouped = NO_SOURCES.union(*(through(cell.sources, GROUP_BY) for cell in rest))
    new = [Cell(one.name, values | chosen) for one in pivot.args.get("columns") or ()]
    return Relation((*rest, *new), relation.whole | grouped, relation.open)


def _unpivoted(pivot: exp.Expression, scope: Scope, relation: Relation, queries: Queries) -> Relation:
    """Each of the columns that are listed becomes a row: a name, and a value of any of them."""
    fields = pivot.args.get("fields") or ()
    listed = [one for field in fields for one in field.expressions]
    values = frozenset().union(*(sources_of(one, scope, queries, TRANSFORMATION) for one in listed))
    rest = without(relation.cells, _columns(listed))
    names = [Cell(field.this.name, NO_SOURCES) for field in fields]
    new = [Cell(name.name, values) for one in pivot.expressions for name in one.find_all(exp.Identifier)]
    return Relation((*rest, *names, *new), relation.whole, relation.open)


def _columns(expressions: list[exp.Expression]) -> set[str]:
    return {column.name for one in expressions for column in one.find_all(exp.Column)}
