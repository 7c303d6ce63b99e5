"""What a FROM clause and its joins bring into a SELECT."""

from collections.abc import Iterable

from sqlglot import expressions as exp

from mappers.sql.expression import Queries, sources_of
from mappers.sql.functions import generated_names
from mappers.sql.pivot import pivoted
from mappers.sql.relation import NO_SOURCES, Cell, Relation, made, relation_of_view
from mappers.sql.scope import Scope, without
from mappers.sql.source import JOIN, TRANSFORMATION, Sources, through
from mappers.sql.views import view_name


class FromClause:
    """Fills a scope from a FROM clause, and collects what influences all that comes of it."""

    def __init__(self, queries: Queries, schemas: dict[str, list[str]], scope: Scope) -> None:
        self._queries = queries
        self._schemas = schemas
        self._scope = scope
        self.whole: Sources = NO_SOURCES

    def add(self, node: exp.Expression) -> None:
        """Take in a view, a query, a function that gives rows, or a join in parentheses, with all joined to it."""
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not alias:
            self.add(node.this)
        else:
            relation = self._pivoted(node, self._relation(node))
            columns = [one.name for one in alias.args.get("columns") or ()] if alias else []
            self._take(self._name(node), relation.renamed(columns))
        self.join_all(node)

    def join_all(self, node: exp.Expression) -> None:
        """Take in what is joined to a SELECT, a view or a query, and what is made of its rows."""
        for join in node.args.get("joins") or ():
            self._join(join)
        for lateral in node.args.get("laterals") or ():
            self.add(lateral)

    def _take(self, name: tuple[str, ...], relation: Relation) -> None:
        self._scope.add(name, relation)
        self.whole |= relation.whole

    @staticmethod
    def _name(node: exp.Expression) -> tuple[str, ...]:
        if node.alias:
            return (node.alias,)
        if isinstance(node, exp.Table):
            return tuple(part.name for part in node.parts) if view_name(node) else (node.this.name,)
        return ()

    def _relation(self, node: exp.Expression) -> Relation:
        match node:
            case exp.Table(this=exp.Identifier()):
                return self._view(node)
            case exp.Lateral(this=exp.Query()):
                return self._queries.relation(node.this, self._scope)
            case exp.Subquery(this=exp.Table()):
                return self._joined(node.this)
            case exp.Query() | exp.Values():
                return self._queries.relation(node, Scope(self._scope.ctes, self._scope.outer))
            case _:
                return self._made(node.this or node, node)

    def _view(self, node: exp.Table) -> Relation:
        name = view_name(node) or ""
        cte = None if node.db else self._scope.ctes.get(name)
        return cte or relation_of_view(name, self._schemas.get(name))

    def _joined(self, node: exp.Expression) -> Relation:
        """Read a join in parentheses that has a name of its own."""
        inner = Scope(self._scope.ctes, self._scope.outer)
        clause = FromClause(self._queries, self._schemas, inner)
        clause.add(node)
        return Relation(tuple(inner.row), clause.whole, inner.open())

    def _made(self, function: exp.Expression, node: exp.Expression) -> Relation:
        sources = sources_of(function, self._scope, self._queries, TRANSFORMATION)
        alias = node.args.get("alias")
        names = [one.name for one in alias.args.get("columns") or ()] if alias else []
        known = names or generated_names(function)
        return made(known, sources) if known else Relation((), open=frozenset())

    def _pivoted(self, node: exp.Expression, relation: Relation) -> Relation:
        for pivot in node.args.get("pivots") or ():
            inner = Scope(self._scope.ctes, self._scope.outer)
            inner.add(self._name(node), relation)
            relation = pivoted(pivot, inner, relation, self._queries)
        return relation

    def _join(self, node: exp.Join) -> None:
        scope = self._scope
        before, relations = list(scope.row), len(scope.relations)
        self.add(node.this)
        added = scope.row[len(before) :]
        if on := node.args.get("on"):
            self.whole |= sources_of(on, scope, self._queries, JOIN)
        shared = [one.name for one in node.args.get("using") or ()]
        if node.method == "NATURAL":
            shared = [cell.name for cell in before if any(cell.is_called(other.name) for other in added)]
        if shared:
            keys = [self._key(node, name, before, added) for name in shared]
            scope.row = [*keys, *without(before, shared), *without(added, shared)]
        if node.kind in {"SEMI", "ANTI"}:
            scope.row = before
            del scope.relations[relations:]

    def _key(self, node: exp.Join, name: str, before: Iterable[Cell], added: Iterable[Cell]) -> Cell:
        """Join by a column of both sides: of which the value is, the kind of the join says."""
        left, right = (next((cell for cell in side if cell.is_called(name)), None) for side in (before, added))
        for side in (left, right):
            if side is None and self._scope.open() is None:
                self._queries.problem(node, f"there is no column {name} on both sides of the join")
        found = [cell for cell in (left, right) if cell]
        self.whole |= frozenset().union(*(through(cell.sources, JOIN) for cell in found))
        if node.side == "FULL":
            both = NO_SOURCES.union(*(through(cell.sources, TRANSFORMATION) for cell in found))
            return Cell(left.name if left else name, both)
        kept = right if node.side == "RIGHT" else left
        return kept or Cell(name, NO_SOURCES)
