"""The stand-in responds like the recorded OpenMetadata 2.0 server."""

import pytest

from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.routes import find
from tests.standins.replay import RECORDED, Replay, exchanges
from tests.standins.replay_differences import KNOWN
from tests.standins.replay_setup import begin, prepare

FILES = sorted(path.stem for path in RECORDED.glob("*.json"))
#: Exchanges with paths that the server does not have.
UNKNOWN_PATHS = {
    "path_404",
    "api_404",
    "root_html",
    "double_slash",
    "get_by_name_batch",
    "name_slash_get_raw",
    "by_name_404",
}


@pytest.mark.parametrize("name", FILES)
def test_responses_match_recording_except_known_differences(name):
    recorded = exchanges(name)
    replay = Replay(recorded)
    begin(replay, name)
    found = {}
    for exchange in recorded:
        prepare(replay, name, exchange["name"])
        if differences := replay.differences(exchange):
            found[exchange["name"]] = differences
    known = KNOWN.get(name, {})
    assert {exchange_name: lines for exchange_name, lines in found.items() if exchange_name not in known} == {}
    assert set(known) <= set(found), "some listed differences no longer exist"


def test_all_recorded_paths_have_routes():
    unserved = set()
    for name in FILES:
        for exchange in exchanges(name):
            request = exchange["request"]
            try:
                find(request["path"].partition("?")[0], "GET" if request["method"] == "HEAD" else request["method"])
            except ApiError as error:
                if error.status == 404:
                    unserved.add(exchange["name"])
    assert unserved <= UNKNOWN_PATHS
