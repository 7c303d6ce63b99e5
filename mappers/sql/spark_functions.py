"""Spark SQL functions: their transformation types, and the names of the columns that they create."""

from collections.abc import Callable
from typing import Any

from sqlglot import expressions as exp

from mappers.sql.column_source import AGGREGATION, TRANSFORMATION, ColumnTransformation

#: Functions whose results do not reveal their arguments; the list is the same as in the Spark listener.
_MASKING = frozenset({"crc32", "hash", "mask", "xxhash64"})
_MASKING_TYPES = (exp.SHA, exp.SHA2, exp.MD5, exp.MD5Digest)
#: Aggregate functions that the parser does not know as such.
_AGGREGATES = frozenset(
    {
        "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg", "hll_union_agg", "mean", "product",
        "schema_of_variant_agg", "some", "std", "theta_sketch_agg", "try_avg", "try_sum",
    }
)  # fmt: skip
#: The parser treats these as aggregates, but they only pick a row of a window.
_ROW_PICKERS = (exp.Lag, exp.Lead, exp.NthValue, exp.FirstValue, exp.LastValue)
_GENERATED_COLUMNS = {
    "explode": ["col"],
    "posexplode": ["pos", "col"],
    "range": ["id"],
    "inline": None,
    "json_tuple": None,
    "stack": None,
    "variant_explode": ["pos", "key", "value"],
}


def function_transformation(function: exp.Expression) -> ColumnTransformation:
    """Return the transformation that a function or operator applies to its arguments."""
    if isinstance(function, exp.Count):
        # A count does not reveal values; the listener also reports it as masking.
        return AGGREGATION._replace(masking=True)
    if isinstance(function, _MASKING_TYPES) or _function_name(function) in _MASKING:
        return TRANSFORMATION._replace(masking=True)
    if _function_name(function) in _AGGREGATES:
        return AGGREGATION
    is_aggregate = isinstance(function, exp.AggFunc) and not isinstance(function, _ROW_PICKERS)
    return AGGREGATION if is_aggregate else TRANSFORMATION


def contains_aggregate(expression: exp.Expression) -> bool:
    return any(
        function_transformation(function).subtype == AGGREGATION.subtype for function in expression.find_all(exp.Func)
    )


def generated_names(function: exp.Expression) -> list[str] | None:
    """Return the names of generated columns, or None if they are unknown or the function generates no rows."""
    return _GENERATED_COLUMNS.get(_function_name(function))


def generates_rows(function: exp.Expression) -> bool:
    """Return whether a function generates rows, like `explode`."""
    return _function_name(function) in _GENERATED_COLUMNS


def _function_name(function: exp.Expression) -> str:
    """Return the name of a function without the suffix `outer`, which does not change the generated columns."""
    name = function.name.lower() if isinstance(function, exp.Anonymous) else function.key
    return name.lstrip("_").removesuffix("outer").rstrip("_")


_OPERATORS: dict[type[exp.Expression], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.And: "AND", exp.Or: "OR", exp.EQ: "=",
    exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.NullSafeEQ: "<=>",
}  # fmt: skip
_FORMATTERS: dict[type[exp.Expression], Callable[[Any], str]] = {
    exp.Case: lambda node: f"CASE {' '.join(_case_parts(node))} END",
    exp.Column: lambda node: node.name,
    exp.Identifier: lambda node: node.name,
    exp.Literal: lambda node: node.name,
    exp.Dot: lambda node: f"{_dot_prefix(node)}{node.expression.name}",
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
    """Return the name that Spark gives to a column; for functions with several names, the result is only a guess."""
    if format_node := _FORMATTERS.get(type(node)):
        return format_node(node)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Column | exp.Dot):
        return column_name(node.this)
    if operator := _OPERATORS.get(type(node)):
        return f"({column_name(node.this)} {operator} {column_name(node.expression)})"
    if isinstance(node, exp.Func) and not isinstance(node, _NOT_CALLS):
        return f"{_spark_function_name(node)}({', '.join(map(column_name, _arguments(node)))})"
    return node.sql(dialect="spark")


def _case_parts(node: exp.Case) -> list[str]:
    parts = [column_name(node.this)] if node.this else []
    branches = node.args.get("ifs") or ()
    parts += [f"WHEN {column_name(branch.this)} THEN {column_name(branch.args['true'])}" for branch in branches]
    default = node.args.get("default")
    return [*parts, f"ELSE {column_name(default)}"] if default else parts


def _dot_prefix(node: exp.Dot) -> str:
    """Return the prefix that Spark adds to the name of a field, which is empty if the field belongs to a column."""
    root = node
    while isinstance(root.this, exp.Dot):
        root = root.this
    return "" if isinstance(root.this, exp.Column) else f"{column_name(node.this)}."


def _spark_function_name(node: exp.Func) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name
    return node.sql(dialect="spark").partition("(")[0].lower()


def _arguments(node: exp.Expression) -> list[exp.Expression]:
    keys = ("expressions",) if isinstance(node, exp.Anonymous) else node.arg_types
    arguments: list[Any] = []
    for key in keys:
        value = node.args.get(key)
        arguments += value if isinstance(value, list) else [value]
    return [argument for argument in arguments if isinstance(argument, exp.Expression)]
