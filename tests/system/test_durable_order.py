"""System call traces show that a 201 is sent only after its commit was flushed to disk."""

import re
from pathlib import Path

import pytest

from tests import factories as make
from tests.system.service import Service, new_store, trace_syscalls, until

_CALLS = "fdatasync,fsync,pwrite64,sendto,send,write,writev,sendmsg"
_CALL = re.compile(r"^(?P<thread>\d+) +(?P<call>\w+)\(\d+<(?P<file>[^>]*)>(?P<rest>.*)$")
_RESUMED = re.compile(r"^(?P<thread>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)$")
_EVENTS = 8


def steps(trace: str) -> list[str]:
    """Reduce a trace to its steps in order of completion: write, flush, answer.

    An answer counts from its start, because its bytes may be sent before the call returns. Writes of threads that
    never flush are ignored: they belong to the search index.
    """
    completed: list[tuple[str, str]] = []
    unfinished: dict[str, str] = {}
    for line in trace.splitlines():
        if resumed := _RESUMED.match(line):
            step, rest = unfinished.pop(resumed["thread"], ""), resumed["rest"]
        elif match := _CALL.match(line):
            step, rest = _step(match["call"], match["file"], match["rest"]), match["rest"]
            if step == "answer":
                completed.append((match["thread"], step))
                step = ""
            if rest.endswith("<unfinished ...>"):
                unfinished[match["thread"]] = step
                continue
        else:
            continue
        if step == "flush":
            assert rest.endswith(" = 0"), line
        if step:
            completed.append((line.split(maxsplit=1)[0], step))
    flushing = {thread for thread, step in completed if step == "flush"}
    return [step for thread, step in completed if step != "write" or thread in flushing]


def _step(call: str, file: str, rest: str) -> str:
    if file.endswith("-wal"):
        return {"pwrite64": "write", "fdatasync": "flush", "fsync": "flush"}.get(call, "")
    return "answer" if "HTTP/1.1 201" in rest else ""


def unflushed_answers(sequence: list[str]) -> int:
    """Count the answers without a preceding commit of their own that was written and then flushed."""
    violations, written, durable = 0, False, False
    for step in sequence:
        if step == "write":
            written, durable = True, False
        elif step == "flush":
            durable = written
        elif step == "answer":
            violations += not durable
            written, durable = False, False
    return violations


@pytest.mark.system("strace")
def test_201_is_sent_after_its_commit_was_flushed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with Service(new_store(tmp_path), wrap=trace_syscalls(_CALLS, trace)) as service:
        for i in range(_EVENTS):
            assert service.send(make.run_event(run=i, outputs=[make.dataset(f"d{i}")])) == 201
    until(lambda: steps(trace.read_text()).count("answer") == _EVENTS, "the whole trace")
    sequence = steps(trace.read_text())
    assert sequence.count("flush") >= _EVENTS
    assert unflushed_answers(sequence) == 0, sequence


def test_trace_check_detects_answers_without_flush() -> None:
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
