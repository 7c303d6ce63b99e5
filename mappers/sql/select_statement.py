"""Column lineage of one SELECT."""

from collections.abc import Iterable

from sqlglot import expressions as exp

from mappers.sql.column_source import (
    FILTER,
    GROUP_BY,
    SORT,
    ColumnSources,
    ColumnTransformation,
    apply_transformation,
)
from mappers.sql.expression import SubqueryAnalyzer, expand_star, find_sources
from mappers.sql.from_clause import FromClause
from mappers.sql.parser import child_nodes
from mappers.sql.scope import NO_SOURCES, Relation, RelationColumn, Scope, exclude_columns, merge_incomplete_views
from mappers.sql.spark_functions import column_name, contains_aggregate, generated_names, generates_rows

_SORT_CLAUSES = ("order", "sort", "cluster")


class SelectStatement:
    """Analyzes the column lineage of one SELECT, clause by clause."""

    def __init__(
        self, analyzer: SubqueryAnalyzer, schemas: dict[str, list[str]], node: exp.Expression, context: Scope
    ) -> None:
        self._analyzer = analyzer
        self._node = node
        self._scope = Scope(context.ctes, context.outer)
        self._from = FromClause(analyzer, schemas, self._scope)
        self._incomplete_views: list[frozenset[str] | None] = []

    def analyze(self) -> Relation:
        """Analyze the SELECT in the order in which Spark resolves names."""
        node, scope = self._node, self._scope
        if clause := node.args.get("from_"):
            self._from.add(clause.this)
        self._from.join_all(node)
        scope.windows = {window.name.lower(): window for window in node.args.get("windows") or ()}
        dataset_level = self._from.dataset_level | self._clause_sources("where", FILTER)
        for item in node.expressions:
            scope.outputs += self._output_columns(item)
        dataset_level |= self._group_by_sources()
        scope.outputs_first = True
        dataset_level |= self._having_sources()
        dataset_level |= sort_sources(node, scope, self._analyzer)
        if node.args.get("distinct"):
            dataset_level |= transform_all(scope.outputs, GROUP_BY)
        return Relation(tuple(scope.outputs), dataset_level, merge_incomplete_views(*self._incomplete_views))

    def _clause_sources(self, name: str, transformation: ColumnTransformation) -> ColumnSources:
        clause = self._node.args.get(name)
        return find_sources(clause, self._scope, self._analyzer, transformation) if clause else NO_SOURCES

    def _having_sources(self) -> ColumnSources:
        """Find the sources of HAVING and QUALIFY.

        In HAVING, the name of a grouping column refers to that column. Any other name refers to the column with this
        name in the select list, if there is one.
        """
        scope, outputs = self._scope, self._scope.outputs
        group = self._node.args.get("group")
        group_keys = [key.name for key in group.expressions if isinstance(key, exp.Column)] if group else []
        grouping_columns = [name for name in group_keys if any(column.matches(name) for column in scope.row)]
        scope.outputs = exclude_columns(outputs, grouping_columns)
        sources = self._clause_sources("having", FILTER)
        scope.outputs = outputs
        return sources | self._clause_sources("qualify", FILTER)

    def _output_columns(self, item: exp.Expression) -> list[RelationColumn]:
        """Return the columns of one item in the select list; records the views that `*` cannot expand."""
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            columns, incomplete_views = expand_star(item, self._scope, self._analyzer)
            self._incomplete_views.append(incomplete_views)
            star = item if isinstance(item, exp.Star) else item.this
            return exclude_columns(columns, (identifier.name for identifier in star.args.get("except_") or ()))
        sources = find_sources(item, self._scope, self._analyzer)
        if isinstance(item, exp.Alias):
            return [RelationColumn(item.alias, sources)]
        return [RelationColumn(name, sources) for name in self._output_names(item)]

    def _output_names(self, item: exp.Expression) -> list[str]:
        """Return the names of the columns that an item creates if it has no alias or several aliases."""
        if isinstance(item, exp.Aliases):
            return [identifier.name for identifier in item.expressions]
        if isinstance(item, exp.QueryTransform):
            schema = item.args.get("schema")
            return [definition.name for definition in schema.expressions] if schema else ["key", "value"]
        if generates_rows(item):
            names = generated_names(item)
            if names is None:
                self._incomplete_views.append(frozenset())
            return names or []
        return [column_name(item)]

    def _group_by_sources(self) -> ColumnSources:
        """Find the sources of GROUP BY; ALL stands for the items of the select list without an aggregate."""
        group = self._node.args.get("group")
        if group is None:
            return NO_SOURCES
        if group.args.get("all"):
            items = (item for item in self._node.expressions if not contains_aggregate(item))
            return NO_SOURCES.union(*(find_sources(item, self._scope, self._analyzer, GROUP_BY) for item in items))
        return key_sources(child_nodes(group), self._scope, self._analyzer, GROUP_BY)


def sort_sources(node: exp.Expression, scope: Scope, analyzer: SubqueryAnalyzer) -> ColumnSources:
    clauses = [clause for name in _SORT_CLAUSES if (clause := node.args.get(name))]
    keys = [ordered.this for clause in clauses for ordered in clause.expressions]
    return key_sources(keys, scope, analyzer, SORT)


def key_sources(
    keys: Iterable[exp.Expression], scope: Scope, analyzer: SubqueryAnalyzer, transformation: ColumnTransformation
) -> ColumnSources:
    """Find the sources of grouping or sort keys.

    A number refers to a position in the select list, and ALL refers to the whole list.
    """
    sources = NO_SOURCES
    for key in keys:
        if isinstance(key, exp.Literal) and not key.is_string:
            position = int(key.name) if key.name.isdigit() else 0
            sources |= transform_all(scope.outputs[max(position - 1, 0) : position], transformation)
        elif isinstance(key, exp.Var) and key.name.upper() == "ALL":
            sources |= transform_all(scope.outputs, transformation)
        else:
            sources |= find_sources(key, scope, analyzer, transformation)
    return sources


def transform_all(columns: list[RelationColumn], transformation: ColumnTransformation) -> ColumnSources:
    return NO_SOURCES.union(*(apply_transformation(column.sources, transformation) for column in columns))


def analyze_select(
    analyzer: SubqueryAnalyzer, schemas: dict[str, list[str]], node: exp.Expression, context: Scope
) -> Relation:
    return SelectStatement(analyzer, schemas, node, context).analyze()
