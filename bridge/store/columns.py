"""Column lineage between datasets, as the newest runs show it."""

from collections.abc import Iterable
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.graph import Edge

_ACTIVE = """
SELECT DISTINCT t.class_id, c.target_field, s.class_id, c.source_field, c.transformation_type,
  c.transformation_subtype, c.masking
FROM ol_dataset t
JOIN column_lineage c ON c.org_id = t.org_id AND c.target_id = t.dataset_id AND c.is_active
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE t.org_id = ?1 AND t.class_id {among}
"""


class ColumnLine(NamedTuple):
    """One way in which a source column reaches a target column; an empty column means the whole dataset."""

    target: bytes
    target_field: str
    source: bytes
    source_field: str
    kind: str
    subtype: str
    masking: bool


def column_lines(db: Database, org: str, edges: Iterable[Edge]) -> list[ColumnLine]:
    """Give what is known of the columns along edges, whichever jobs made them."""
    wanted = {(edge.source, edge.target) for edge in edges}
    rows = db.among(_ACTIVE, sorted({target for _, target in wanted}), org)
    lines = {ColumnLine._make((*row[:-1], bool(row[-1]))) for row in rows}
    return [line for line in lines if (line.source, line.target) in wanted]
