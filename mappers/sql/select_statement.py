"""Column lineage of one SELECT."""

from collections.abc import Iterator

from sqlglot import expressions as exp

from mappers.sql.column_source import (
    FILTER,
    GROUP_BY,
    SORT,
    ColumnSources,
    ColumnTransformation,
    apply_transformation,
)
from mappers.sql.expression import SubqueryReader, expand_star, find_sources
from mappers.sql.from_clause import FromClause
from mappers.sql.parser import child_nodes
from mappers.sql.scope import NO_SOURCES, Relation, RelationColumn, Scope, exclude_columns, merge_incomplete_views
from mappers.sql.spark_functions import column_name, contains_aggregate, generated_names, generates_rows

_SORTS = ("order", "sort", "cluster")


class SelectStatement:
    """Reads one SELECT."""

    def __init__(
        self, queries: SubqueryReader, schemas: dict[str, list[str]], node: exp.Expression, around: Scope
    ) -> None:
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
        whole |= sort_sources(node, scope, self._queries)
        if node.args.get("distinct"):
            whole |= apply_to_all(scope.outputs, GROUP_BY)
        return Relation(tuple(scope.outputs), whole, merge_incomplete_views(*self._open))

    def _clause(self, name: str, done: ColumnTransformation) -> ColumnSources:
        clause = self._node.args.get(name)
        return find_sources(clause, self._scope, self._queries, done) if clause else NO_SOURCES

    def _chosen(self) -> ColumnSources:
        """Read HAVING: there a name that rows are grouped by means the column, another one first an output."""
        scope, outputs = self._scope, self._scope.outputs
        group = self._node.args.get("group")
        keys = (key.name for key in group.expressions if isinstance(key, exp.Column)) if group else ()
        scope.outputs = exclude_columns(
            outputs, (key for key in keys if any(cell.matches(key) for cell in scope.row))
        )
        found = self._clause("having", FILTER)
        scope.outputs = outputs
        return found | self._clause("qualify", FILTER)

    def _columns(self, item: exp.Expression) -> list[RelationColumn]:
        """List the columns that one entry of the select list makes."""
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            cells, unknown = expand_star(item, self._scope, self._queries)
            self._open.append(unknown)
            star = item if isinstance(item, exp.Star) else item.this
            return exclude_columns(cells, (one.name for one in star.args.get("except_") or ()))
        sources = find_sources(item, self._scope, self._queries)
        if isinstance(item, exp.Alias):
            return [RelationColumn(item.alias, sources)]
        return [RelationColumn(name, sources) for name in self._names(item)]

    def _names(self, item: exp.Expression) -> list[str]:
        if isinstance(item, exp.Aliases):
            return [one.name for one in item.expressions]
        if isinstance(item, exp.QueryTransform):
            schema = item.args.get("schema")
            return [one.name for one in schema.expressions] if schema else ["key", "value"]
        if generates_rows(item):
            names = generated_names(item)
            if names is None:
                self._open.append(frozenset())
            return names or []
        return [column_name(item)]

    def _grouped(self) -> ColumnSources:
        """Read GROUP BY: columns, names or places of the select list, or all of it that is no aggregate."""
        group = self._node.args.get("group")
        if group is None:
            return NO_SOURCES
        if group.args.get("all"):
            plain = (item for item in self._node.expressions if not contains_aggregate(item))
            return NO_SOURCES.union(*(find_sources(item, self._scope, self._queries, GROUP_BY) for item in plain))
        return grouping_sources(child_nodes(group), self._scope, self._queries, GROUP_BY)


def sort_sources(node: exp.Expression, scope: Scope, queries: SubqueryReader) -> ColumnSources:
    """List what rows are sorted by."""
    keys = (one.this for key in _SORTS if node.args.get(key) for one in node.args[key].expressions)
    return grouping_sources(keys, scope, queries, SORT)


def grouping_sources(
    keys: Iterator[exp.Expression], scope: Scope, queries: SubqueryReader, done: ColumnTransformation
) -> ColumnSources:
    """Read the keys of a grouping or a sorting: a number means a column of the select list, ALL means all."""
    found = NO_SOURCES
    for key in keys:
        if isinstance(key, exp.Literal) and not key.is_string:
            place = int(key.name) if key.name.isdigit() else 0
            found |= apply_to_all(scope.outputs[max(place - 1, 0) : place], done)
        elif isinstance(key, exp.Var) and key.name.upper() == "ALL":
            found |= apply_to_all(scope.outputs, done)
        else:
            found |= find_sources(key, scope, queries, done)
    return found


def apply_to_all(cells: list[RelationColumn], done: ColumnTransformation) -> ColumnSources:
    """Say that something is done to all of these columns."""
    return NO_SOURCES.union(*(apply_transformation(cell.sources, done) for cell in cells))


def select(queries: SubqueryReader, schemas: dict[str, list[str]], node: exp.Expression, around: Scope) -> Relation:
    """Read one SELECT."""
    return SelectStatement(queries, schemas, node, around).relation()
