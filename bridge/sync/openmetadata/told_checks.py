"""Compares the test cases that were made with those that a server still has: one list for each table."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor

from bridge.sync.checks import read_checks
from bridge.sync.item import Item, Outcome, Remote
from bridge.sync.openmetadata.workbench import NOT_FOUND, Workbench
from bridge.sync.target import Compared, Difference
from mappers.errors import TargetRefused

_AT_ONCE = 500


class ToldChecks:
    """Says which test cases are gone; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(self, at: Workbench, pool: Executor) -> None:
        self._at = at
        self._pool = pool

    def slices(self) -> Iterator[Compared]:
        """Compare all test cases; whatever people wrote into them is no difference."""
        linked = self._at.items.linked("check")
        for i in range(0, len(linked), _AT_ONCE):
            items = self._at.items.of("check", [key for _, key in linked[i : i + _AT_ONCE]])
            left = {key: item for key, item in items.items() if item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED)}
            of = self._tables(left)
            asked = dict(zip(of, self._pool.map(self._cases, of), strict=True))
            found = [
                Difference("check", key, remote.name, what)
                for table, keys in of.items()
                for key, remote in keys.items()
                if (what := _what(remote, asked[table]))
            ]
            yield Compared("check", sum(map(len, of.values())), found)

    def _tables(self, items: Mapping[bytes, Item]) -> dict[str, dict[bytes, Remote]]:
        """Give the test cases by the tables that they are of."""
        checks = read_checks(self._at.db, self._at.org, items)
        datasets = self._at.items.of("dataset", {one.dataset for one in checks.values() if one.dataset})
        of: dict[str, dict[bytes, Remote]] = {}
        for key, check in checks.items():
            dataset, remote = datasets.get(check.dataset or b""), items[key].remote
            if dataset and dataset.remote and remote:
                of.setdefault(dataset.remote.name, {})[key] = remote
        return of

    def _cases(self, table: str) -> dict[str, str] | None:
        """Give the ids of the test cases of a table by their names; None when the table is not there."""
        try:
            return {str(one["fullyQualifiedName"]): str(one["id"]) for one in self._at.client.cases(table)}
        except TargetRefused as error:
            if error.status == NOT_FOUND:
                return None
            raise


def _what(remote: Remote, there: Mapping[str, str] | None) -> str | None:
    if there is None:
        return None  # its table is told of by itself
    if remote.name not in there:
        return "is not there"
    return None if there[remote.name] == remote.id else "is another one of the same name"
