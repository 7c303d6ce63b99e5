"""Source columns, their transformations, and lineage across several steps."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

Kind = Literal["DIRECT", "INDIRECT"]


class ColumnSource(NamedTuple):
    """A column of a view, and what is made of it; the subtypes are those of OpenLineage's columnLineage facet."""

    view: str
    column: str
    type: Kind
    subtype: str
    masking: bool


ColumnSources = frozenset[ColumnSource]


class QueryLineage(NamedTuple):
    """The columns of a result with their sources, what influences all of it, and the views that it was made of."""

    columns: dict[str, tuple[ColumnSource, ...]]
    dataset_level: tuple[ColumnSource, ...]
    #: The views themselves: a result of `count(*)` has no column as its source, and is made of a view nevertheless.
    views: frozenset[str] = frozenset()


class ColumnTransformation(NamedTuple):
    """What is done to a value on its way."""

    type: Kind
    subtype: str
    masking: bool = False


IDENTITY = ColumnTransformation("DIRECT", "IDENTITY")
TRANSFORMATION = ColumnTransformation("DIRECT", "TRANSFORMATION")
AGGREGATION = ColumnTransformation("DIRECT", "AGGREGATION")
CONDITIONAL = ColumnTransformation("INDIRECT", "CONDITIONAL")
WINDOW = ColumnTransformation("INDIRECT", "WINDOW")
JOIN = ColumnTransformation("INDIRECT", "JOIN")
FILTER = ColumnTransformation("INDIRECT", "FILTER")
GROUP_BY = ColumnTransformation("INDIRECT", "GROUP_BY")
SORT = ColumnTransformation("INDIRECT", "SORT")

_STRENGTH = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}


def combine(first: ColumnTransformation, second: ColumnTransformation) -> ColumnTransformation:
    """Say what two things are together: what is indirect stays so, as it was last; of direct ones the stronger."""
    masking = first.masking or second.masking
    indirect = next((done for done in (second, first) if done.type == "INDIRECT"), None)
    stronger = indirect or max(first, second, key=lambda done: _STRENGTH[done.subtype])
    return ColumnTransformation(stronger.type, stronger.subtype, masking)


def apply_transformation(sources: Iterable[ColumnSource], done: ColumnTransformation) -> ColumnSources:
    """Tell what sources become by what is done to a value that was made of them."""
    return frozenset(
        ColumnSource(one.view, one.column, *combine(ColumnTransformation(one.type, one.subtype, one.masking), done))
        for one in sources
    )


def compose(steps: Sequence[tuple[str, QueryLineage]], result: str, inputs: Collection[str]) -> QueryLineage:
    """Say which columns of the inputs the columns of a step come from; KeyError if no step is called so.

    Steps come in the order in which they run; case does not matter in names of views and columns. What a step takes
    from a view that is neither an input nor a step before it has no sources.
    """
    given = frozenset(name.lower() for name in inputs)
    known: dict[str, QueryLineage] = {}
    for name, traced in steps:
        known[name.lower()] = _down(traced, known, given)
    return known[result.lower()]


def _down(traced: QueryLineage, known: dict[str, QueryLineage], inputs: frozenset[str]) -> QueryLineage:
    columns = {name: _listed(_beneath(sources, known, inputs)) for name, sources in traced.columns.items()}
    whole = _beneath(traced.dataset_level, known, inputs)
    views = traced.views | {source.view for sources in traced.columns.values() for source in sources}
    views |= {source.view for source in traced.dataset_level}
    steps = [known[view] for view in views if view in known]
    whole = whole.union(*(step.dataset_level for step in steps))
    reads = frozenset(view for view in views if view not in known and view in inputs)
    return QueryLineage(columns, _listed(whole), reads.union(*(step.views for step in steps)))


def _beneath(
    sources: Iterable[ColumnSource], known: dict[str, QueryLineage], inputs: frozenset[str]
) -> ColumnSources:
    found: set[ColumnSource] = set()
    for source in sources:
        step = known.get(source.view)
        if step is not None:
            done = ColumnTransformation(source.type, source.subtype, source.masking)
            found |= apply_transformation(_column(step, source.column), done)
        elif source.view in inputs:
            found.add(source)
    return frozenset(found)


def _column(step: QueryLineage, name: str) -> tuple[ColumnSource, ...]:
    exact = step.columns.get(name)
    if exact is not None:
        return exact
    return next((sources for column, sources in step.columns.items() if column.lower() == name.lower()), ())


def _listed(sources: ColumnSources) -> tuple[ColumnSource, ...]:
    return tuple(sorted(sources))
