"""Source columns, their transformations, and lineage across several steps."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

Kind = Literal["DIRECT", "INDIRECT"]


class ColumnSource(NamedTuple):
    """A column of a view and its transformation, with the subtypes of the OpenLineage columnLineage facet."""

    view: str
    column: str
    type: Kind
    subtype: str
    masking: bool

    @property
    def transformation(self) -> "ColumnTransformation":
        return ColumnTransformation(self.type, self.subtype, self.masking)


ColumnSources = frozenset[ColumnSource]


class QueryLineage(NamedTuple):
    """Sources of each result column, sources that affect all columns, and the views that are read."""

    columns: dict[str, tuple[ColumnSource, ...]]
    dataset_level: tuple[ColumnSource, ...]
    #: Listed separately, because `count(*)` reads a view but has no source column.
    views: frozenset[str] = frozenset()


class ColumnTransformation(NamedTuple):
    """A transformation of a value, with the types of the OpenLineage columnLineage facet."""

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
    """Combine two successive transformations: the last indirect one wins; of two direct ones, the stronger wins."""
    if second.type == "INDIRECT":
        winner = second
    elif first.type == "INDIRECT":
        winner = first
    else:
        winner = max(first, second, key=lambda transformation: _STRENGTH[transformation.subtype])
    return winner._replace(masking=first.masking or second.masking)


def apply_transformation(sources: Iterable[ColumnSource], transformation: ColumnTransformation) -> ColumnSources:
    """Return the sources of a value after a transformation."""
    return frozenset(
        ColumnSource(
            source.view,
            source.column,
            *combine(source.transformation, transformation),
        )
        for source in sources
    )


def compose_lineage(steps: Sequence[tuple[str, QueryLineage]], result: str, inputs: Collection[str]) -> QueryLineage:
    """Trace the columns of the step `result` back to columns of the inputs; raises KeyError for an unknown step.

    Steps are in execution order; names of views and columns are case-insensitive. Columns of a view that is neither
    an input nor an earlier step have no sources.
    """
    input_names = frozenset(name.lower() for name in inputs)
    resolved_steps: dict[str, QueryLineage] = {}
    for name, lineage in steps:
        resolved_steps[name.lower()] = _inline_intermediate_views(lineage, resolved_steps, input_names)
    return resolved_steps[result.lower()]


def _inline_intermediate_views(
    lineage: QueryLineage, resolved_steps: dict[str, QueryLineage], inputs: frozenset[str]
) -> QueryLineage:
    """Replace columns of earlier steps with the input columns that they are derived from."""
    columns = {
        name: tuple(sorted(_inline_sources(sources, resolved_steps, inputs)))
        for name, sources in lineage.columns.items()
    }
    read_views = lineage.views | {source.view for sources in lineage.columns.values() for source in sources}
    read_views |= {source.view for source in lineage.dataset_level}
    read_steps = [resolved_steps[view] for view in read_views if view in resolved_steps]
    dataset_level = _inline_sources(lineage.dataset_level, resolved_steps, inputs)
    dataset_level = dataset_level.union(*(step.dataset_level for step in read_steps))
    input_views = frozenset(view for view in read_views if view in inputs and view not in resolved_steps)
    input_views = input_views.union(*(step.views for step in read_steps))
    return QueryLineage(columns, tuple(sorted(dataset_level)), input_views)


def _inline_sources(
    sources: Iterable[ColumnSource], resolved_steps: dict[str, QueryLineage], inputs: frozenset[str]
) -> ColumnSources:
    """Replace sources in earlier steps with their own sources, and drop unknown views."""
    input_sources: set[ColumnSource] = set()
    for source in sources:
        step = resolved_steps.get(source.view)
        if step is not None:
            input_sources |= apply_transformation(_column_sources(step, source.column), source.transformation)
        elif source.view in inputs:
            input_sources.add(source)
    return frozenset(input_sources)


def _column_sources(step: QueryLineage, name: str) -> tuple[ColumnSource, ...]:
    if name in step.columns:
        return step.columns[name]
    return next((sources for column, sources in step.columns.items() if column.lower() == name.lower()), ())
