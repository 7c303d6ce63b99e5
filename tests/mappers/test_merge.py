"""The reducer: what was asked for once is not what it knows for ever."""

from mappers.canonical.facts import Namespace
from mappers.canonical.merge import Reducer


def test_rows_that_are_added_later_are_among_those_given_later() -> None:
    reducer = Reducer()
    reducer.add([Namespace("o", b"2", "two", 5)])
    assert reducer.rows(Namespace) == [Namespace("o", b"2", "two", 5)]
    reducer.add([Namespace("o", b"1", "one", 1), Namespace("o", b"2", "two", 3)])
    assert reducer.rows(Namespace) == [Namespace("o", b"1", "one", 1), Namespace("o", b"2", "two", 3)]
