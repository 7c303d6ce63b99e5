"""The columns behind a walk: beneath each dataset that was made, where its columns come from."""

from collections.abc import Iterator

from bridge.cli.escape import escape
from bridge.store.columns import ColumnLine
from bridge.store.graph import Graph
from bridge.store.walk import Walk

_WHOLE = "(whole dataset)"


def draw_columns(graph: Graph, walk: Walk, lines: list[ColumnLine]) -> Iterator[str]:
    """Give a section for each target, in the order of the walk, its columns sorted by name."""
    if not lines:
        yield "no column lineage is known between these datasets"
    for target in dict.fromkeys(edge.target for edge in walk.edges):
        section = sorted(
            (line.target_field, _source(graph, line), _how(line)) for line in lines if line.target == target
        )
        if section:
            named = graph.dataset(target)
            yield ""
            yield escape(f"columns of {named.namespace} {named.name}")
            yield from (escape(f"  {column or _WHOLE}  <- {source}  {how}") for column, source, how in section)


def _source(graph: Graph, line: ColumnLine) -> str:
    named = graph.dataset(line.source)
    return f"{named.namespace} {named.name}" + (f".{line.source_field}" if line.source_field else f" {_WHOLE}")


def _how(line: ColumnLine) -> str:
    kind = "/".join(part for part in (line.kind, line.subtype) if part)
    return f"{kind} [masked]" if line.masking else kind
