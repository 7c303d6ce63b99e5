"""Promise 1, seen from the kernel: a 201 leaves only after the commit it speaks of was flushed to the disk."""

import re
from pathlib import Path

import pytest

from tests import factories as make
from tests.system.service import Service, new_store, tracing, until

_CALLS = "fdatasync,fsync,pwrite64,sendto,send,write,writev,sendmsg"
_CALL = re.compile(r"^(?P<thread>\d+) +(?P<call>\w+)\(\d+<(?P<file>[^>]*)>(?P<rest>.*)$")
_RESUMED = re.compile(r"^(?P<thread>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)$")
_EVENTS = 8


def steps(trace: str) -> list[str]:
    """Tell the trace as the steps that matter, each where it ended: write, flush, answer.

    Only an answer counts from where it began: its bytes may be on their way before the call returns. A thread that
    never flushes writes what no answer speaks of: the search index.
    """
    found: list[tuple[str, str]] = []
    begun: dict[str, str] = {}
    for line in trace.splitlines():
        if resumed := _RESUMED.match(line):
            step, rest = begun.pop(resumed["thread"], ""), resumed["rest"]
        elif match := _CALL.match(line):
            step, rest = _step(match["call"], match["file"], match["rest"]), match["rest"]
            if step == "answer":
                found.append((match["thread"], step))
                step = ""
            if rest.endswith("<unfinished ...>"):
                begun[match["thread"]] = step
                continue
        else:
            continue
        if step == "flush":
            assert rest.endswith(" = 0"), line
        if step:
            found.append((line.split(maxsplit=1)[0], step))
    flushing = {thread for thread, step in found if step == "flush"}
    return [step for thread, step in found if step != "write" or thread in flushing]


def _step(call: str, file: str, rest: str) -> str:
    if file.endswith("-wal"):
        return {"pwrite64": "write", "fdatasync": "flush", "fsync": "flush"}.get(call, "")
    return "answer" if "HTTP/1.1 201" in rest else ""


def unflushed_answers(found: list[str]) -> int:
    """Count the answers that have no commit of their own before them that was written and then flushed."""
    broken, written, durable = 0, False, False
    for step in found:
        if step == "write":
            written, durable = True, False
        elif step == "flush":
            durable = written
        elif step == "answer":
            broken += not durable
            written, durable = False, False
    return broken


@pytest.mark.system("strace")
def test_a_201_leaves_only_after_its_commit_was_flushed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with Service(new_store(tmp_path), wrap=tracing(_CALLS, trace)) as service:
        for i in range(_EVENTS):
            assert service.send(make.run_event(run=i, outputs=[make.dataset(f"d{i}")])) == 201
    until(lambda: steps(trace.read_text()).count("answer") == _EVENTS, "the whole trace")
    found = steps(trace.read_text())
    assert found.count("flush") >= _EVENTS
    assert unflushed_answers(found) == 0, found


def test_the_check_would_see_an_answer_without_a_flush() -> None:
    assert unflushed_answers(["write", "write", "flush", "answer"]) == 0
    assert unflushed_answers(["write", "answer"]) == 1
    assert unflushed_answers(["write", "flush", "write", "answer"]) == 1
    assert unflushed_answers(["write", "answer", "flush"]) == 1
    assert unflushed_answers(["write", "flush", "answer", "answer"]) == 1
    late_flush = (
        "7 fdatasync(15</s/x.db-wal> <unfinished ...>",
        '8 write(9<socket:[1]>, "HTTP/1.1 201 C"..., 80) = 80',
        "7 <... fdatasync resumed>)  = 0",
    )
    assert steps("\n".join(late_flush)) == ["answer", "flush"]
