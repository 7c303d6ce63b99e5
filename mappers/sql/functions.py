"""What Spark's functions do to the columns that they are given."""

from sqlglot import expressions as exp

from mappers.sql.source import AGGREGATION, TRANSFORMATION, Done

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


def done_by(function: exp.Expression) -> Done:
    """Say what a function or an operator does to the values that it is given."""
    if isinstance(function, exp.Count):
        # The listener holds that nobody reads values from their number.
        return AGGREGATION._replace(masking=True)
    if isinstance(function, _MASKING_TYPES) or _name(function) in _MASKING:
        return TRANSFORMATION._replace(masking=True)
    aggregates = isinstance(function, exp.AggFunc) and not isinstance(function, _PICKS)
    return AGGREGATION if aggregates or _name(function) in _AGGREGATES else TRANSFORMATION


def aggregates(expression: exp.Expression) -> bool:
    """Tell whether there is an aggregate in an expression."""
    return any(done_by(one).subtype == AGGREGATION.subtype for one in expression.find_all(exp.Func))


def generated_names(function: exp.Expression) -> list[str] | None:
    """Name the columns of a function that makes rows; None where it makes none or the names are in the data."""
    return _ROWS.get(_name(function))


def makes_rows(function: exp.Expression) -> bool:
    """Tell whether a function makes rows of each that it is given."""
    return _name(function) in _ROWS


def _name(function: exp.Expression) -> str:
    """Name a function; those that keep empty rows make the same columns as those that leave them out."""
    name = function.name.lower() if isinstance(function, exp.Anonymous) else function.key
    return name.lstrip("_").removesuffix("outer").rstrip("_")
