"""The stand-in answers as a real Marquez 0.51 server was recorded to answer."""

from collections import Counter

import pytest

from tests.standins.marquez_differences import KNOWN, UNSENT
from tests.standins.marquez_replay import RECORDED, Replay, exchanges
from tests.standins.marquez_setup import prepare, request_of

FILES = sorted(path.stem for path in RECORDED.glob("*.json"))


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_file_is_answered_as_recorded_but_for_known_differences(name):
    replay = Replay()
    found = {}
    for exchange in exchanges(name):
        if exchange["name"] in UNSENT.get(name, {}):
            continue
        prepare(replay, name, exchange["name"])
        if differences := replay.differences(exchange | {"request": request_of(name, exchange)}):
            found[exchange["name"]] = differences
    known = KNOWN.get(name, {})
    assert {at: lines for at, lines in found.items() if at not in known} == {}
    assert set(known) <= set(found), "these agree by now: take them off the list"


def test_the_recordings_are_whole_and_every_difference_names_one():
    names = {file: Counter(exchange["name"] for exchange in exchanges(file)) for file in FILES}
    assert sum(counted.total() for counted in names.values()) == 946
    for listed in (KNOWN, UNSENT):
        assert {
            file: set(known) - set(names[file]) for file, known in listed.items() if set(known) - set(names[file])
        } == {}
