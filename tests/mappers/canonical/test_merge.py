"""The reducer returns rows that were added after an earlier read."""

from mappers.canonical.merge import Reducer
from mappers.canonical.rows import NamespaceRow


def test_rows_added_after_a_read_are_returned() -> None:
    reducer = Reducer()
    reducer.add([NamespaceRow("o", b"2", "two", 5)])
    assert reducer.rows(NamespaceRow) == [NamespaceRow("o", b"2", "two", 5)]
    reducer.add([NamespaceRow("o", b"1", "one", 1), NamespaceRow("o", b"2", "two", 3)])
    assert reducer.rows(NamespaceRow) == [NamespaceRow("o", b"1", "one", 1), NamespaceRow("o", b"2", "two", 3)]
