"""Where the columns of a result come from, and how two things that are done to a value become one."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["DIRECT", "INDIRECT"]


class Source(NamedTuple):
    """A column of a view, and what is made of it; the subtypes are those of OpenLineage's columnLineage facet."""

    view: str
    column: str
    type: Kind
    subtype: str
    masking: bool


Sources = frozenset[Source]


class Traced(NamedTuple):
    """The columns of a result with their sources, what influences all of it, and the views that it was made of."""

    columns: dict[str, tuple[Source, ...]]
    whole: tuple[Source, ...]
    #: The views themselves: a result of `count(*)` has no column as its source, and is made of a view nevertheless.
    reads: frozenset[str] = frozenset()


class Done(NamedTuple):
    """What is done to a value on its way."""

    type: Kind
    subtype: str
    masking: bool = False


IDENTITY = Done("DIRECT", "IDENTITY")
TRANSFORMATION = Done("DIRECT", "TRANSFORMATION")
AGGREGATION = Done("DIRECT", "AGGREGATION")
CONDITIONAL = Done("INDIRECT", "CONDITIONAL")
WINDOW = Done("INDIRECT", "WINDOW")
JOIN = Done("INDIRECT", "JOIN")
FILTER = Done("INDIRECT", "FILTER")
GROUP_BY = Done("INDIRECT", "GROUP_BY")
SORT = Done("INDIRECT", "SORT")

_STRENGTH = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}


def then(first: Done, second: Done) -> Done:
    """Say what two things are together: what is indirect stays so, as it was last; of direct ones the stronger."""
    masking = first.masking or second.masking
    indirect = next((done for done in (second, first) if done.type == "INDIRECT"), None)
    stronger = indirect or max(first, second, key=lambda done: _STRENGTH[done.subtype])
    return Done(stronger.type, stronger.subtype, masking)


def through(sources: Iterable[Source], done: Done) -> Sources:
    """Tell what sources become by what is done to a value that was made of them."""
    return frozenset(
        Source(one.view, one.column, *then(Done(one.type, one.subtype, one.masking), done)) for one in sources
    )
