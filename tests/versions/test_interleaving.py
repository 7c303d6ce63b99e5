"""Random publications and rollbacks: every history is a chain, and both datasets always have the same version."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from bridge.errors import StateConflict
from bridge.versions.publication import PublicationEntry, follow_chain
from bridge.versions.publisher import UNCHECKED, PublicationRequest
from bridge.versions.selector import parse_selector
from tests.stores import Store
from tests.versions.version_store import VersionStore, version

DATASETS = ("orders", "items")
NUMBERS = st.integers(1, 4)


class Interleaving(RuleBasedStateMachine):
    """Publishes version n of both datasets together, expecting a version observed earlier."""

    seen: Bundle[int | None] = Bundle("seen")

    @initialize(target=seen)
    def begin(self) -> None:
        self.store = Store()
        self.version_store = VersionStore(self.store)
        for offset, name in enumerate(DATASETS):
            self.version_store.write(*(version(name, f"{name}{n}", 10 * offset + n) for n in range(1, 5)))
        self.expected_layers: list[int] = []
        self.expected_history: list[int] = []
        return None  # noqa: PLR1711, RET501 - initial observation: nothing is published

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.db.close()

    @property
    def current(self) -> int | None:
        return self.expected_layers[-1] if self.expected_layers else None

    @rule(target=seen)
    def observe(self) -> int | None:
        return self.current

    @rule(number=NUMBERS, expected_number=seen)
    def publish(self, number: int, expected_number: int | None) -> None:
        expected: dict[str, Any] = {
            name: f"{name}{expected_number}" if expected_number else None for name in DATASETS
        }
        try:
            self.version_store.publish(expected=expected, **{name: f"{name}{number}" for name in DATASETS})
        except StateConflict:
            assert expected_number != self.current
            assert number != self.current
            return
        assert self.current in {expected_number, number}
        if number != self.current:
            self.expected_layers.append(number)
            self.expected_history.append(number)

    @rule(number=NUMBERS, first=st.sampled_from(DATASETS))
    def publish_with_one_wrong_expectation(self, number: int, first: str) -> None:
        """Nothing is published: one of the two datasets does not have the expected version."""
        other = DATASETS[1 - DATASETS.index(first)]
        if number == self.current:
            return
        expected = {first: UNCHECKED, other: f"{other}9"}
        try:
            self.version_store.publish(expected=expected, **{name: f"{name}{number}" for name in (first, other)})
        except StateConflict:
            return
        raise AssertionError("published although another version was expected")

    @rule(to=st.none() | NUMBERS)
    def roll_back(self, to: int | None) -> None:
        earlier = [n for n in self.expected_layers if n != self.current]
        possible = to in self.expected_history if to else bool(earlier)
        succeeded = False
        try:
            with self.version_store.registry.transaction():
                self._roll_back(to)
            succeeded = True
        except StateConflict:
            pass
        assert succeeded is possible
        target = to or (earlier[-1] if earlier else None)
        if succeeded and target != self.current and target is not None:
            self.expected_history.append(target)
            if target in self.expected_layers:
                while self.expected_layers[-1] != target:
                    self.expected_layers.pop()
            else:
                self.expected_layers.append(target)

    def _roll_back(self, to: int | None) -> None:
        requests = [
            PublicationRequest(self.version_store.id(name), parse_selector(f"{name}{to}") if to else None, UNCHECKED)
            for name in DATASETS
        ]
        self.version_store.registry.publisher.roll_back(requests, "bob", None)

    @invariant()
    def both_datasets_have_the_same_version(self) -> None:
        if not hasattr(self, "version_store"):
            return
        entries = [self.version_store.registry.publications.current(self.version_store.id(name)) for name in DATASETS]
        assert [entry and entry.tag for entry in entries] == [
            self.current and f"{name}{self.current}" for name in DATASETS
        ]
        assert len({entry and entry.publication for entry in entries}) == 1

    @invariant()
    def every_history_is_a_chain(self) -> None:
        if not hasattr(self, "version_store"):
            return
        for name in DATASETS:
            entries: list[PublicationEntry] = self.version_store.registry.publications.list_newest(
                self.version_store.id(name), 1_000
            )
            assert follow_chain(entries) == entries[::-1]
            assert [entry.previous_number for entry in entries] == [*(entry.number for entry in entries[1:]), None][
                : len(entries)
            ]
            assert [entry.tag for entry in entries[::-1]] == [f"{name}{n}" for n in self.expected_history]


TestInterleaving = Interleaving.TestCase
TestInterleaving.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
