"""Writes docs/vocabulary.md from the declarations of the vocabulary: `make docs`."""

from pathlib import Path
from typing import get_args

from mappers.canonical.merge import Row, merge_plan
from mappers.canonical.rows import TABLES

_HEAD = """# The vocabulary of the store

Made by `make docs` from `mappers/canonical/rows.py`: one table a class, one merge rule a column.

- **key**: identifies the row. Ids are the first 16 bytes of a BLAKE2b hash of (kind, org, names), marked as a
  version-8 UUID, so every process computes the same.
- **constant**: follows from the key.
- **least**, **greatest**: the minimum, the maximum of all statements.
- **register _x_**: replaced together, by the statement with the greatest (or least) order. An order is (rank, event
  time in microseconds, content hash); ranks are steward 50, output or DatasetEvent 40, JobEvent 30, input 20,
  mention 10.

Times are microseconds since 1970 in UTC. The catalogue views (`dataset`, `process`, `process_run`) and the views
`ol_dataset_field` and `ol_column_lineage` are computed from these tables and show names and ISO times instead.
How a run ended is read in `process_run`: `status`, `status_derived`, `error_message`, `last_activity_ts`.
"""


def render() -> str:
    """Give the whole page."""
    return "\n".join([_HEAD, *(_table(name, row_class) for name, row_class in TABLES.items())])


def _table(name: str, row_class: type[Row]) -> str:
    plan = merge_plan(row_class)
    rules = {}
    for register in plan.registers:
        word = "least" if register.minimum else "greatest"
        group = ", ".join(plan.names[i] for i in register.order)
        for i in register.columns:
            rules[i] = word if len(register.columns) == 1 else f"register by {word} ({group})"
    lines = [f"## {name}", "", row_class.__doc__ or "", "", "| column | type | merges as |", "|---|---|---|"]
    for i, (column, hint) in enumerate(zip(plan.names, plan.types, strict=True)):
        kinds = [kind.__name__ for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
        rule = "key" if i < plan.key_count else rules.get(i, "constant")
        lines.append(f"| {column} | {kinds[0]} | {rule} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    (Path(__file__).parent / "vocabulary.md").write_text(render(), encoding="utf-8")
