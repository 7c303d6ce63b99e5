"""The event log, read so that nothing is passed over, however its pages are ordered."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.marquez.event_log import events_at, read_windows
from connectors.session import ThrottledSession
from mappers.timestamps import MAX_MICROS, format_timestamp
from tests.factories import micros, run_event
from tests.standins.marquez import Marquez as StandIn

#: Moments, of which several events may share one.
_moments = st.lists(st.sampled_from([0, 1, 2, 3, 1_000, 1_001, 60_000_000, 86_400_000_000]), max_size=60)


def told(client: MarquezClient, moments: list[int]) -> Counter[str]:
    """Send a run for each moment; gives them all."""
    for number, moment in enumerate(moments, 1):
        client.send({**run_event(run=number), "eventTime": format_timestamp(micros(0) + moment)})
    return Counter(run_event(run=number)["run"]["runId"] for number in range(1, len(moments) + 1))


@settings(max_examples=25, deadline=None)
@given(_moments, st.sampled_from([2, 5, 20]), st.sampled_from([1, 1_000, 10**9, MAX_MICROS]))
def test_every_event_is_listed_once(moments: list[int], page: int, span: int) -> None:
    with StandIn() as standin:
        client = MarquezClient(ThrottledSession(HttpSession(standin.url)))
        wanted = told(client, moments)
        begin, end = micros(0) - 10, micros(0) + 86_400_000_000 + 10
        found = [
            event for window in read_windows(client, begin, end, max(span, 10**6), page) for event in window.events
        ]
        assert Counter(event["run"]["runId"] for event in found) == wanted
        client.close()


def test_windows_touch_and_cover_all_of_the_time(client: MarquezClient) -> None:
    told(client, [5] * 30 + [6, 7, 900_000])
    found = list(read_windows(client, micros(0), micros(0) + 2_000_000, page=4))
    assert (found[0].begin, found[-1].end) == (micros(0), micros(0) + 2_000_000)
    assert all(one.end == after.begin for one, after in pairwise(found))


def test_a_moment_is_listed_whole_however_much_happened_then(client: MarquezClient) -> None:
    told(client, [0] * 130)
    assert len(events_at(client, micros(0))) == 130


def test_an_empty_log_of_decades_costs_few_calls(client: MarquezClient, standin: StandIn) -> None:
    assert [one.events for one in read_windows(client, 0, micros(0))] == [[]] * len(standin.requests)
    assert len(standin.requests) < 30
