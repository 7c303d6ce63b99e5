"""The event log is read completely, in any order of pages."""

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

#: Event times in microseconds; several events may share one.
_times = st.lists(st.sampled_from([0, 1, 2, 3, 1_000, 1_001, 60_000_000, 86_400_000_000]), max_size=60)


def send_runs(client: MarquezClient, times: list[int]) -> Counter[str]:
    """Send one event per time, and return their run ids."""
    for number, time in enumerate(times, 1):
        client.send({**run_event(run=number), "eventTime": format_timestamp(micros(0) + time)})
    return Counter(run_event(run=number)["run"]["runId"] for number in range(1, len(times) + 1))


@settings(max_examples=25, deadline=None)
@given(_times, st.sampled_from([2, 5, 20]), st.sampled_from([1, 1_000, 10**9, MAX_MICROS]))
def test_every_event_is_listed_once(times: list[int], page: int, span: int) -> None:
    with StandIn() as standin:
        client = MarquezClient(ThrottledSession(HttpSession(standin.url)))
        expected = send_runs(client, times)
        begin, end = micros(0) - 10, micros(0) + 86_400_000_000 + 10
        events = [
            event for window in read_windows(client, begin, end, max(span, 10**6), page) for event in window.events
        ]
        assert Counter(event["run"]["runId"] for event in events) == expected
        client.close()


def test_windows_are_adjacent_and_cover_the_period(client: MarquezClient) -> None:
    send_runs(client, [5] * 30 + [6, 7, 900_000])
    windows = list(read_windows(client, micros(0), micros(0) + 2_000_000, page_size=4))
    assert (windows[0].begin, windows[-1].end) == (micros(0), micros(0) + 2_000_000)
    assert all(window.end == following.begin for window, following in pairwise(windows))


def test_all_events_of_one_instant_are_listed(client: MarquezClient) -> None:
    send_runs(client, [0] * 130)
    assert len(events_at(client, micros(0))) == 130


def test_empty_log_of_decades_needs_few_requests(client: MarquezClient, standin: StandIn) -> None:
    assert [window.events for window in read_windows(client, 0, micros(0))] == [[]] * len(standin.requests)
    assert len(standin.requests) < 30
