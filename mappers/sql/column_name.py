"""The names that Spark gives to columns that nobody named."""

from collections.abc import Callable
from typing import Any

from sqlglot import expressions as exp

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.And: "AND", exp.Or: "OR", exp.EQ: "=",
    exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.NullSafeEQ: "<=>",
}  # fmt: skip
_SPELLED: dict[type[exp.Expression], Callable[[Any], str]] = {
    exp.Case: lambda node: f"CASE {' '.join(_branches(node))} END",
    exp.Column: lambda node: node.name,
    exp.Identifier: lambda node: node.name,
    exp.Literal: lambda node: node.name,
    exp.Dot: lambda node: f"{_owner(node)}{node.expression.name}",
    exp.Paren: lambda node: column_name(node.this),
    exp.Null: lambda _: "NULL",
    exp.Boolean: lambda node: str(node.this).lower(),
    exp.NEQ: lambda node: f"(NOT ({column_name(node.this)} = {column_name(node.expression)}))",
    exp.Neg: lambda node: f"(- {column_name(node.this)})",
    exp.Not: lambda node: f"(NOT {column_name(node.this)})",
    exp.Star: lambda _: "1",
    exp.Is: lambda node: f"({column_name(node.this)} IS {column_name(node.expression)})",
    exp.In: lambda node: f"({column_name(node.this)} IN ({', '.join(map(column_name, node.expressions))}))",
    exp.Like: lambda node: f"{column_name(node.this)} LIKE {column_name(node.expression)}",
    exp.Between: lambda node: f"between({', '.join(map(column_name, _arguments(node)))})",
    exp.Bracket: lambda node: f"{column_name(node.this)}[{', '.join(map(column_name, node.expressions))}]",
    exp.DPipe: lambda node: f"concat({column_name(node.this)}, {column_name(node.expression)})",
    exp.If: lambda node: f"(IF({', '.join(map(column_name, _arguments(node)))}))",
    exp.Distinct: lambda node: f"DISTINCT {', '.join(map(column_name, node.expressions))}",
}
_NOT_CALLS = (exp.Cast, exp.Exists)


def column_name(node: exp.Expression) -> str:
    """Name a column as Spark does; no more than a guess for functions that have several names."""
    if spelled := _SPELLED.get(type(node)):
        return spelled(node)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Column | exp.Dot):
        return column_name(node.this)
    if operator := _OPERATORS.get(type(node)):
        return f"({column_name(node.this)} {operator} {column_name(node.expression)})"
    if isinstance(node, exp.Func) and not isinstance(node, _NOT_CALLS):
        return f"{_function(node)}({', '.join(map(column_name, _arguments(node)))})"
    return node.sql(dialect="spark")


def _branches(node: exp.Case) -> list[str]:
    chosen = [column_name(node.this)] if node.this else []
    branches = node.args.get("ifs") or ()
    chosen += [f"WHEN {column_name(one.this)} THEN {column_name(one.args['true'])}" for one in branches]
    default = node.args.get("default")
    return [*chosen, f"ELSE {column_name(default)}"] if default else chosen


def _owner(node: exp.Dot) -> str:
    """Name what a field is of, but for a column: a field of one is called by its own name alone."""
    of = node
    while isinstance(of.this, exp.Dot):
        of = of.this
    return "" if isinstance(of.this, exp.Column) else f"{column_name(node.this)}."


def _function(node: exp.Func) -> str:
    return node.name if isinstance(node, exp.Anonymous) else node.sql(dialect="spark").partition("(")[0].lower()


def _arguments(node: exp.Expression) -> list[exp.Expression]:
    keys = ("expressions",) if isinstance(node, exp.Anonymous) else node.arg_types
    said = (node.args.get(key) for key in keys)
    flat = (one for value in said for one in (value if isinstance(value, list) else [value]))
    return [one for one in flat if isinstance(one, exp.Expression)]
