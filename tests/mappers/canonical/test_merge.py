"""The reducer: what was asked for once is not what it knows for ever."""

from mappers.canonical.merge import Reducer
from mappers.canonical.rows import NamespaceRow


def test_rows_that_are_added_later_are_among_those_given_later() -> None:
    reducer = Reducer()
    reducer.add([NamespaceRow("o", b"2", "two", 5)])
    assert reducer.rows(NamespaceRow) == [NamespaceRow("o", b"2", "two", 5)]
    reducer.add([NamespaceRow("o", b"1", "one", 1), NamespaceRow("o", b"2", "two", 3)])
    assert reducer.rows(NamespaceRow) == [NamespaceRow("o", b"1", "one", 1), NamespaceRow("o", b"2", "two", 3)]
