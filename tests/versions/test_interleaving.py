"""Whoever publishes and rolls back in whatever order: the history is a chain, and two datasets are never of two times."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from bridge.errors import StateConflict
from bridge.versions.publication import PublicationEntry, follow_chain
from bridge.versions.publisher import UNCHECKED, PublicationRequest
from bridge.versions.selector import parse_selector
from tests.stores import Store
from tests.versions.version_store import Shelf, version

BOTH = ("orders", "items")
NUMBERS = st.integers(1, 4)


class Interleaving(RuleBasedStateMachine):
    """Several people publish version n of both datasets together, each believing in what they saw at some time."""

    seen: Bundle[int | None] = Bundle("seen")

    @initialize(target=seen)
    def begin(self) -> None:
        self.store = Store()
        self.shelf = Shelf(self.store)
        for offset, name in enumerate(BOTH):
            self.shelf.write(*(version(name, f"{name}{n}", 10 * offset + n) for n in range(1, 5)))
        self.expected_stack: list[int] = []
        self.expected_moves: list[int] = []
        return None  # noqa: PLR1711, RET501 - what everybody has seen at first: nothing is published

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.db.close()

    @property
    def current(self) -> int | None:
        return self.expected_stack[-1] if self.expected_stack else None

    @rule(target=seen)
    def look(self) -> int | None:
        return self.current

    @rule(number=NUMBERS, believed=seen)
    def publish(self, number: int, believed: int | None) -> None:
        expected: dict[str, Any] = {name: f"{name}{believed}" if believed else None for name in BOTH}
        try:
            self.shelf.publish(expected=expected, **{name: f"{name}{number}" for name in BOTH})
        except StateConflict:
            assert believed != self.current
            assert number != self.current
            return
        assert self.current in {believed, number}
        if number != self.current:
            self.expected_stack.append(number)
            self.expected_moves.append(number)

    @rule(number=NUMBERS, first=st.sampled_from(BOTH))
    def publish_one_of_which_is_elsewhere(self, number: int, first: str) -> None:
        """Nothing of it is done: one of the two is not where it is expected."""
        other = BOTH[1 - BOTH.index(first)]
        if number == self.current:
            return
        expected = {first: UNCHECKED, other: f"{other}9"}
        try:
            self.shelf.publish(expected=expected, **{name: f"{name}{number}" for name in (first, other)})
        except StateConflict:
            return
        raise AssertionError("published though another version was expected")

    @rule(to=st.none() | NUMBERS)
    def roll_back(self, to: int | None) -> None:
        below = [n for n in self.expected_stack if n != self.current]
        possible = to in self.expected_moves if to else bool(below)
        done = False
        try:
            with self.shelf.registry.transaction():
                self._roll_back(to)
            done = True
        except StateConflict:
            pass
        assert done is possible
        target = to or (below[-1] if below else None)
        if done and target != self.current and target is not None:
            self.expected_moves.append(target)
            if target in self.expected_stack:
                while self.expected_stack[-1] != target:
                    self.expected_stack.pop()
            else:
                self.expected_stack.append(target)

    def _roll_back(self, to: int | None) -> None:
        changes = [
            PublicationRequest(self.shelf.id(name), parse_selector(f"{name}{to}") if to else None, UNCHECKED)
            for name in BOTH
        ]
        self.shelf.registry.publisher.roll_back(changes, "bob", None)

    @invariant()
    def both_are_of_one_time(self) -> None:
        if not hasattr(self, "shelf"):
            return
        heads = [self.shelf.registry.publications.current(self.shelf.id(name)) for name in BOTH]
        assert [head and head.tag for head in heads] == [self.current and f"{name}{self.current}" for name in BOTH]
        assert len({head and head.publication for head in heads}) == 1

    @invariant()
    def every_history_is_a_chain(self) -> None:
        if not hasattr(self, "shelf"):
            return
        for name in BOTH:
            moves: list[PublicationEntry] = self.shelf.registry.publications.list_newest(self.shelf.id(name), 1_000)
            assert follow_chain(moves) == moves[::-1]
            assert [move.previous_number for move in moves] == [*(move.number for move in moves[1:]), None][
                : len(moves)
            ]
            assert [move.tag for move in moves[::-1]] == [f"{name}{n}" for n in self.expected_moves]


TestInterleaving = Interleaving.TestCase
TestInterleaving.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
