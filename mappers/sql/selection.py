"""One SELECT: its columns with their sources, and what influences all of them."""

from collections.abc import Iterator

from sqlglot import expressions as exp

from mappers.sql.column_name import column_name
from mappers.sql.expression import Queries, sources_of, starred
from mappers.sql.from_clause import FromClause
from mappers.sql.functions import aggregates, generated_names, makes_rows
from mappers.sql.query import own_children
from mappers.sql.relation import NO_SOURCES, Cell, Relation, opened
from mappers.sql.scope import Scope, without
from mappers.sql.source import FILTER, GROUP_BY, SORT, Done, Sources, through

_SORTS = ("order", "sort", "cluster")


class Selection:
    """Reads one SELECT."""

    def __init__(self, queries: Queries, schemas: dict[str, list[str]], node: exp.Expression, around: Scope) -> None:
        self._queries = queries
        self._node = node
        self._scope = Scope(around.ctes, around.outer)
        self._from = FromClause(queries, schemas, self._scope)
        self._open: list[frozenset[str] | None] = []

    def relation(self) -> Relation:
        """Read it, in the order in which Spark gives its names their meaning."""
        node, scope = self._node, self._scope
        if clause := node.args.get("from_"):
            self._from.add(clause.this)
        self._from.join_all(node)
        scope.windows = {one.name.lower(): one for one in node.args.get("windows") or ()}
        whole = self._from.whole | self._clause("where", FILTER)
        for item in node.expressions:
            scope.outputs += self._columns(item)
        whole |= self._grouped()
        scope.outputs_first = True
        whole |= self._chosen()
        whole |= sorted_by(node, scope, self._queries)
        if node.args.get("distinct"):
            whole |= everything(scope.outputs, GROUP_BY)
        return Relation(tuple(scope.outputs), whole, opened(*self._open))

    def _clause(self, name: str, done: Done) -> Sources:
        clause = self._node.args.get(name)
        return sources_of(clause, self._scope, self._queries, done) if clause else NO_SOURCES

    def _chosen(self) -> Sources:
        """Read HAVING: there a name that rows are grouped by means the column, another one first an output."""
        scope, outputs = self._scope, self._scope.outputs
        group = self._node.args.get("group")
        keys = (key.name for key in group.expressions if isinstance(key, exp.Column)) if group else ()
        scope.outputs = without(outputs, (key for key in keys if any(cell.is_called(key) for cell in scope.row)))
        found = self._clause("having", FILTER)
        scope.outputs = outputs
        return found | self._clause("qualify", FILTER)

    def _columns(self, item: exp.Expression) -> list[Cell]:
        """List the columns that one entry of the select list makes."""
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            cells, unknown = starred(item, self._scope, self._queries)
            self._open.append(unknown)
            star = item if isinstance(item, exp.Star) else item.this
            return without(cells, (one.name for one in star.args.get("except_") or ()))
        sources = sources_of(item, self._scope, self._queries)
        if isinstance(item, exp.Alias):
            return [Cell(item.alias, sources)]
        return [Cell(name, sources) for name in self._names(item)]

    def _names(self, item: exp.Expression) -> list[str]:
        if isinstance(item, exp.Aliases):
            return [one.name for one in item.expressions]
        if isinstance(item, exp.QueryTransform):
            schema = item.args.get("schema")
            return [one.name for one in schema.expressions] if schema else ["key", "value"]
        if makes_rows(item):
            names = generated_names(item)
            if names is None:
                self._open.append(frozenset())
            return names or []
        return [column_name(item)]

    def _grouped(self) -> Sources:
        """Read GROUP BY: columns, names or places of the select list, or all of it that is no aggregate."""
        group = self._node.args.get("group")
        if group is None:
            return NO_SOURCES
        if group.args.get("all"):
            plain = (item for item in self._node.expressions if not aggregates(item))
            return NO_SOURCES.union(*(sources_of(item, self._scope, self._queries, GROUP_BY) for item in plain))
        return by_place(own_children(group), self._scope, self._queries, GROUP_BY)


def sorted_by(node: exp.Expression, scope: Scope, queries: Queries) -> Sources:
    """List what rows are sorted by."""
    keys = (one.this for key in _SORTS if node.args.get(key) for one in node.args[key].expressions)
    return by_place(keys, scope, queries, SORT)


def by_place(keys: Iterator[exp.Expression], scope: Scope, queries: Queries, done: Done) -> Sources:
    """Read the keys of a grouping or a sorting: a number means a column of the select list, ALL means all."""
    found = NO_SOURCES
    for key in keys:
        if isinstance(key, exp.Literal) and not key.is_string:
            place = int(key.name) if key.name.isdigit() else 0
            found |= everything(scope.outputs[max(place - 1, 0) : place], done)
        elif isinstance(key, exp.Var) and key.name.upper() == "ALL":
            found |= everything(scope.outputs, done)
        else:
            found |= sources_of(key, scope, queries, done)
    return found


def everything(cells: list[Cell], done: Done) -> Sources:
    """Say that something is done to all of these columns."""
    return NO_SOURCES.union(*(through(cell.sources, done) for cell in cells))


def select(queries: Queries, schemas: dict[str, list[str]], node: exp.Expression, around: Scope) -> Relation:
    """Read one SELECT."""
    return Selection(queries, schemas, node, around).relation()
