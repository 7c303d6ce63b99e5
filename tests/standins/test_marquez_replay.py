"""The stand-in responds like the recorded Marquez 0.51 server."""

from collections import Counter

import pytest

from tests.standins.marquez_differences import KNOWN, UNSENT
from tests.standins.marquez_replay import RECORDED, Replay, exchanges
from tests.standins.marquez_setup import full_request, prepare

FILES = sorted(path.stem for path in RECORDED.glob("*.json"))


@pytest.mark.parametrize("name", FILES)
def test_responses_match_recording_except_known_differences(name):
    replay = Replay()
    found = {}
    for exchange in exchanges(name):
        if exchange["name"] in UNSENT.get(name, {}):
            continue
        prepare(replay, name, exchange["name"])
        if differences := replay.differences(exchange | {"request": full_request(name, exchange)}):
            found[exchange["name"]] = differences
    known = KNOWN.get(name, {})
    assert {exchange_name: lines for exchange_name, lines in found.items() if exchange_name not in known} == {}
    assert set(known) <= set(found), "some listed differences no longer exist"


def test_listed_differences_name_recorded_exchanges():
    names = {file: Counter(exchange["name"] for exchange in exchanges(file)) for file in FILES}
    assert sum(counted.total() for counted in names.values()) == 946
    for listed in (KNOWN, UNSENT):
        assert {
            file: set(known) - set(names[file]) for file, known in listed.items() if set(known) - set(names[file])
        } == {}
