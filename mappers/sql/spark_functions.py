"""Spark SQL functions: transformation type, generated and default column names."""

from collections.abc import Callable
from typing import Any

from sqlglot import expressions as exp

from mappers.sql.column_source import AGGREGATION, TRANSFORMATION, ColumnTransformation

#: From what these give, nobody reads what they were given; the same ones that the Spark listener takes for such.
_MASKING = frozenset({"crc32", "hash", "mask", "xxhash64"})
_MASKING_TYPES = (exp.SHA, exp.SHA2, exp.MD5, exp.MD5Digest)
#: Aggregates that have no type of their own in the parser.
_AGGREGATES = frozenset(
    {
        "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg", "hll_union_agg", "mean", "product",
        "schema_of_variant_agg", "some", "std", "theta_sketch_agg", "try_avg", "try_sum",
    }
)  # fmt: skip
#: What the parser takes for aggregates, and only picks a row of a window.
_PICKS = (exp.Lag, exp.Lead, exp.NthValue, exp.FirstValue, exp.LastValue)
_ROWS = {
    "explode": ["col"],
    "posexplode": ["pos", "col"],
    "range": ["id"],
    "inline": None,
    "json_tuple": None,
    "stack": None,
    "variant_explode": ["pos", "key", "value"],
}


def function_transformation(function: exp.Expression) -> ColumnTransformation:
    """Say what a function or an operator does to the values that it is given."""
    if isinstance(function, exp.Count):
        # The listener holds that nobody reads values from their number.
        return AGGREGATION._replace(masking=True)
    if isinstance(function, _MASKING_TYPES) or _name(function) in _MASKING:
        return TRANSFORMATION._replace(masking=True)
    aggregates = isinstance(function, exp.AggFunc) and not isinstance(function, _PICKS)
    return AGGREGATION if aggregates or _name(function) in _AGGREGATES else TRANSFORMATION


def contains_aggregate(expression: exp.Expression) -> bool:
    """Tell whether there is an aggregate in an expression."""
    return any(function_transformation(one).subtype == AGGREGATION.subtype for one in expression.find_all(exp.Func))


def generated_names(function: exp.Expression) -> list[str] | None:
    """Name the columns of a function that makes rows; None where it makes none or the names are in the data."""
    return _ROWS.get(_name(function))


def generates_rows(function: exp.Expression) -> bool:
    """Tell whether a function makes rows of each that it is given."""
    return _name(function) in _ROWS


def _name(function: exp.Expression) -> str:
    """Name a function; those that keep empty rows make the same columns as those that leave them out."""
    name = function.name.lower() if isinstance(function, exp.Anonymous) else function.key
    return name.lstrip("_").removesuffix("outer").rstrip("_")


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
