"""What an edge says of its columns."""

from typing import Any

import pytest

from mappers.openmetadata.edges import ColumnLine, Details, End, details, united

RAW = End("lake.d.s.raw", {"id": ("id",), "mail": ("mail",), "a.b": ("a.b",), "s.x": ("s", "x")})
CLEAN = End("lake.d.s.clean", {"id": ("id",), "who": ("who",)})


def entry(to: str, function: str, *sources: str) -> dict[str, Any]:
    return {
        "fromColumns": [f"lake.d.s.raw.{s}" for s in sources],
        "toColumn": f"lake.d.s.clean.{to}",
        "function": function,
    }


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([ColumnLine("id", "id", "DIRECT", "IDENTITY")], Details([entry("id", "IDENTITY", "id")], None, [])),
        (
            [ColumnLine("mail", "who", "DIRECT", "TRANSFORMATION", True, "sha256(mail)"), ColumnLine("id", "who", "INDIRECT", "CONDITIONAL")],
            Details([entry("who", "INDIRECT/CONDITIONAL; TRANSFORMATION (masked): sha256(mail)", "id", "mail")], None, []),
        ),
        ([ColumnLine("a.b", "id", "DIRECT"), ColumnLine("s.x", "id", "DIRECT")], Details([entry("id", "DIRECT", '"a.b"', "s.x")], None, [])),
        ([ColumnLine("id", "", "INDIRECT", "JOIN"), ColumnLine("", "", "DIRECT")], Details([], "DIRECT\nINDIRECT/JOIN on id", [])),
        ([ColumnLine("gone", "id", "DIRECT"), ColumnLine("id", "ID", "DIRECT")], Details([], None, ["ID", "gone"])),
        ([], Details([], None, [])),
    ],
)  # fmt: skip
def test_lines_become_entries(lines: list[ColumnLine], expected: Details) -> None:
    assert details(RAW, CLEAN, lines) == expected
    assert details(RAW, CLEAN, lines[::-1]) == expected


def test_what_another_producer_says_stays() -> None:
    theirs = [entry("id", "their words", "mail"), entry("who", "", "mail")]
    mine = [entry("id", "IDENTITY", "id")]
    assert united(mine, theirs) == [entry("id", "their words", "id", "mail"), entry("who", "", "mail")]
    assert united(united(mine, theirs), theirs) == united(mine, theirs)
