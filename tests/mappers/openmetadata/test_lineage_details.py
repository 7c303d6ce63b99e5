"""Column lineage of an edge."""

from typing import Any

import pytest

from mappers.openmetadata.lineage_details import (
    ColumnEdge,
    EdgeEndpoint,
    LineageDetails,
    lineage_details,
    merge_column_details,
)

RAW = EdgeEndpoint("lake.d.s.raw", {"id": ("id",), "mail": ("mail",), "a.b": ("a.b",), "s.x": ("s", "x")})
CLEAN = EdgeEndpoint("lake.d.s.clean", {"id": ("id",), "who": ("who",)})


def entry(target: str, function: str, *sources: str) -> dict[str, Any]:
    return {
        "fromColumns": [f"lake.d.s.raw.{source}" for source in sources],
        "toColumn": f"lake.d.s.clean.{target}",
        "function": function,
    }


@pytest.mark.parametrize(
    ("column_edges", "expected"),
    [
        ([ColumnEdge("id", "id", "DIRECT", "IDENTITY")], LineageDetails([entry("id", "IDENTITY", "id")], None, [])),
        (
            [ColumnEdge("mail", "who", "DIRECT", "TRANSFORMATION", True, "sha256(mail)"), ColumnEdge("id", "who", "INDIRECT", "CONDITIONAL")],
            LineageDetails(
                [entry("who", "INDIRECT/CONDITIONAL", "id"), entry("who", "TRANSFORMATION (masked): sha256(mail)", "mail")], None, []
            ),
        ),
        ([ColumnEdge("a.b", "id", "DIRECT"), ColumnEdge("s.x", "id", "DIRECT")], LineageDetails([entry("id", "DIRECT", '"a.b"', "s.x")], None, [])),
        ([ColumnEdge("id", "", "INDIRECT", "JOIN"), ColumnEdge("", "", "DIRECT")], LineageDetails([], "DIRECT\nINDIRECT/JOIN on id", [])),
        ([ColumnEdge("gone", "id", "DIRECT"), ColumnEdge("id", "ID", "DIRECT")], LineageDetails([], None, ["ID", "gone"])),
        ([], LineageDetails([], None, [])),
    ],
)  # fmt: skip
def test_column_edges_become_entries(column_edges: list[ColumnEdge], expected: LineageDetails) -> None:
    assert lineage_details(RAW, CLEAN, column_edges) == expected
    assert lineage_details(RAW, CLEAN, column_edges[::-1]) == expected


def test_entries_of_another_producer_are_kept() -> None:
    remote = [entry("id", "their words", "mail"), entry("who", "", "mail")]
    own = [entry("id", "IDENTITY", "id")]
    assert merge_column_details(own, remote) == [
        entry("id", "IDENTITY", "id"),
        entry("id", "their words", "mail"),
        entry("who", "", "mail"),
    ]
    assert merge_column_details(merge_column_details(own, remote), remote) == merge_column_details(own, remote)
