"""The stand-in answers as a real OpenMetadata 2.0 server was recorded to answer."""

import pytest

from tests.standins.openmetadata.errors import Refused
from tests.standins.openmetadata.routes import find
from tests.standins.replay import RECORDED, Replay, exchanges
from tests.standins.replay_differences import KNOWN
from tests.standins.replay_setup import begin, prepare

FILES = sorted(path.stem for path in RECORDED.glob("*.json"))
#: Paths that no server has; the errors they get are recorded.
NO_PATHS = {
    "path_404",
    "api_404",
    "root_html",
    "double_slash",
    "get_by_name_batch",
    "name_slash_get_raw",
    "by_name_404",
}


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_file_is_answered_as_recorded_but_for_known_differences(name):
    recorded = exchanges(name)
    replay = Replay(recorded)
    begin(replay, name)
    found = {}
    for exchange in recorded:
        prepare(replay, name, exchange["name"])
        if differences := replay.differences(exchange):
            found[exchange["name"]] = differences
    known = KNOWN.get(name, {})
    assert {n: lines for n, lines in found.items() if n not in known} == {}
    assert set(known) <= set(found), "these agree by now: take them off the list"


def test_every_recorded_path_is_one_that_the_stand_in_serves():
    unserved = set()
    for name in FILES:
        for exchange in exchanges(name):
            request = exchange["request"]
            try:
                find(request["path"].partition("?")[0], "GET" if request["method"] == "HEAD" else request["method"])
            except Refused as refused:
                if refused.status == 404:
                    unserved.add(exchange["name"])
    assert unserved <= NO_PATHS
