"""What an edge says of its columns."""

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


def entry(to: str, function: str, *sources: str) -> dict[str, Any]:
    return {
        "fromColumns": [f"lake.d.s.raw.{s}" for s in sources],
        "toColumn": f"lake.d.s.clean.{to}",
        "function": function,
    }


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([ColumnEdge("id", "id", "DIRECT", "IDENTITY")], LineageDetails([entry("id", "IDENTITY", "id")], None, [])),
        (
            [ColumnEdge("mail", "who", "DIRECT", "TRANSFORMATION", True, "sha256(mail)"), ColumnEdge("id", "who", "INDIRECT", "CONDITIONAL")],
            LineageDetails([entry("who", "INDIRECT/CONDITIONAL; TRANSFORMATION (masked): sha256(mail)", "id", "mail")], None, []),
        ),
        ([ColumnEdge("a.b", "id", "DIRECT"), ColumnEdge("s.x", "id", "DIRECT")], LineageDetails([entry("id", "DIRECT", '"a.b"', "s.x")], None, [])),
        ([ColumnEdge("id", "", "INDIRECT", "JOIN"), ColumnEdge("", "", "DIRECT")], LineageDetails([], "DIRECT\nINDIRECT/JOIN on id", [])),
        ([ColumnEdge("gone", "id", "DIRECT"), ColumnEdge("id", "ID", "DIRECT")], LineageDetails([], None, ["ID", "gone"])),
        ([], LineageDetails([], None, [])),
    ],
)  # fmt: skip
def test_lines_become_entries(lines: list[ColumnEdge], expected: LineageDetails) -> None:
    assert lineage_details(RAW, CLEAN, lines) == expected
    assert lineage_details(RAW, CLEAN, lines[::-1]) == expected


def test_what_another_producer_says_stays() -> None:
    theirs = [entry("id", "their words", "mail"), entry("who", "", "mail")]
    mine = [entry("id", "IDENTITY", "id")]
    assert merge_column_details(mine, theirs) == [entry("id", "their words", "id", "mail"), entry("who", "", "mail")]
    assert merge_column_details(merge_column_details(mine, theirs), theirs) == merge_column_details(mine, theirs)
