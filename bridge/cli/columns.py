"""The columns behind a walk: beneath each dataset that was made, where its columns come from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.cut import tell_cut
from bridge.cli.escape import escape

if TYPE_CHECKING:
    from bridge.catalogue.lineage import ColumnLineageAnswer, HopAnswer, LineageAnswer
    from bridge.catalogue.things import ColumnOf

_WHOLE = "(whole dataset)"


def draw_columns(walk: "LineageAnswer") -> Iterator[str]:
    """Give a section for each target, in the order of the walk, its columns sorted by name."""
    if not walk.columns:
        yield "no column lineage is known between these datasets"
    for target in dict.fromkeys(edge.target for edge in walk.edges):
        section = {
            (hop.target.column or "", _column(hop.source), _how(hop))
            for hop in walk.columns
            if hop.target.id == target.id
        }
        if section:
            yield ""
            yield escape(f"columns of {target.namespace} {target.name}")
            yield from (
                escape(f"  {column or _WHOLE}  <- {source}  {how}") for column, source, how in sorted(section)
            )


def draw_hops(walk: "ColumnLineageAnswer") -> Iterator[str]:
    """Give a line for each hop, level by level, with the job that does it."""
    if not walk.hops:
        yield "no column lineage is known from here"
    for hop in walk.hops:
        job = f"   [{hop.job.namespace} {hop.job.name}]" if hop.job else ""
        yield escape(f"{_column(hop.target)}  <- {_column(hop.source)}  {_how(hop)}{job}")
    yield from tell_cut(walk.cut)


def _column(of: "ColumnOf") -> str:
    return f"{of.namespace} {of.name}" + (f".{of.column}" if of.column else f" {_WHOLE}")


def _how(hop: "HopAnswer") -> str:
    done = "/".join(part for part in (hop.type, hop.subtype) if part)
    return f"{done} [masked]" if hop.masking else done
