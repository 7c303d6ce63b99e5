"""Every regular expression ends in linear time on adversarial text of 60 kB."""

import importlib
import inspect
import re
import signal
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]  # undocumented, but the only parser of patterns
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import bridge
import connectors
import mappers
from bridge.cli.autosys_text import catalog_lines
from bridge.intake.autosys_scan import ScanResult
from connectors.spark.log_diagnosis import LogSymptom
from mappers.legacy.jil.job_catalog import JobCatalog
from mappers.legacy.jil.job_events import ScanOptions, build_job_events, normalized_definition
from mappers.legacy.jil.lint import lint, unsupported_definitions
from mappers.legacy.jil.parser import parse_jil

SIZE = 60_000
#: CPU time; a linear pattern needs a few milliseconds.
MAX_SECONDS = 0.5
METHODS = frozenset({"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"})
ANYWHERE = METHODS - {"match", "fullmatch"}
#: Texts without relation to a pattern: runs, openings without an end, and separators between words.
COMMON = (
    " ", "\t", "\n", "\n ", "a", "A", "0", "-", "_", "/", "\\", '"', "'", '\\"', "''", ":", ";", ",", ".", "=", "@", "%", "$", "*", "(", "<", "[",
    "a ", "a=", "a:", "a/", "a.", "a-", "a;", "-a ", "a@", "a b/", "://", "://a", "://a:", "jdbc:", "/*", "{a", "${a", "%a", "a\n", "a\r", "{\n a\n",
    "pass", "password ", "password=", "-password", " password", "user a ", "a b 01/02/2024 ", "'a' ", "x='", "\u4e00",
)  # fmt: skip


class Use(NamedTuple):
    """A compiled pattern of a module, and the methods that are called on it."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def _modules() -> Iterator[ModuleType]:
    """Import the modules that compile patterns; some of the remaining ones are scripts."""
    for package in (mappers, connectors, bridge):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            if "re.compile(" in path.read_text():
                relative = path.relative_to(Path(package.__path__[0]).parent)
                yield importlib.import_module(".".join(relative.with_suffix("").parts))


def _patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, LogSymptom):
        yield re.compile(value.pattern)
    elif isinstance(value, dict):
        for member in (*value.keys(), *value.values()):
            yield from _patterns_in(member)
    elif isinstance(value, list | tuple | set | frozenset):
        for member in value:
            yield from _patterns_in(member)


def _uses() -> Iterator[Use]:
    seen: set[tuple[int, str]] = set()
    for module in _modules():
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            for index, pattern in enumerate(_patterns_in(value)):
                if not isinstance(value, re.Pattern) or not re.search(rf"\b{name} ?= ?re\.|\b{name}, ", source):
                    called = METHODS
                else:
                    called = METHODS & set(re.findall(rf"\b{name}\.(\w+)\(", source)) or METHODS
                if (id(pattern), name) not in seen:
                    seen.add((id(pattern), name))
                    yield Use(f"{module.__name__}.{name}[{index}]", pattern, called)


def _samples(items: Any) -> list[str]:
    """Return texts that match a parsed sequence; the last of them covers the whole sequence."""
    texts = [""]
    for operator, argument in items:
        texts = [text + sample for text in texts for sample in _sample(operator, argument)][:6]
    return texts


def _sample(operator: Any, argument: Any) -> list[str]:
    c = _constants
    samples = {
        c.LITERAL: lambda: [chr(argument)],
        c.NOT_LITERAL: lambda: ["a" if argument != ord("a") else "b"],
        c.ANY: lambda: ["a"],
        c.IN: lambda: [_member(argument)],
        c.MAX_REPEAT: lambda: [sample * max(argument[0], 1) for sample in _samples(argument[2])],
        c.SUBPATTERN: lambda: _samples(argument[3]),
        c.ATOMIC_GROUP: lambda: _samples(argument),
        c.BRANCH: lambda: [sample for branch in argument[1] for sample in _samples(branch)[:2]],
    }
    samples |= dict.fromkeys((c.MIN_REPEAT, c.POSSESSIVE_REPEAT), samples[c.MAX_REPEAT])
    return samples.get(operator, lambda: [""])()


def _member(members: Any) -> str:
    pattern = _parser.SubPattern(_parser.State(), [(_constants.IN, members)])
    compiled = re._compiler.compile(pattern, 0)  # type: ignore[attr-defined]
    return next(
        (char for char in " aA0_-./\"'\n\x01\u4e00<>[]{}()=:;,@$%#&|+*?\\~!^`\t\r" if compiled.match(char)), ""
    )


def _repeats(items: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the text before each repetition of a pattern, and the text that is repeated."""
    c = _constants
    for operator, argument in items:
        bodies: list[Any] = []
        if operator in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            bodies = [argument[2]]
            for sample in _samples(argument[2]):
                yield before, sample
        elif operator is c.SUBPATTERN:
            bodies = [argument[3]]
        elif operator is c.ATOMIC_GROUP:
            bodies = [argument]
        elif operator is c.BRANCH:
            bodies = argument[1]
        elif operator in (c.ASSERT, c.ASSERT_NOT):
            bodies = [argument[1]]
        for body in bodies:
            yield from _repeats(body, before)
        before += next(iter(_sample(operator, argument)), "")
        yield before, ""


def _pumps(pattern: re.Pattern[Any]) -> dict[tuple[str, str], None]:
    """Return pairs of a prefix and a text to repeat, made of the parts of a pattern."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    parsed = _parser.parse(source, pattern.flags & ~re.UNICODE)
    pumps: dict[tuple[str, str], None] = {}
    for before, repeated in islice(_repeats(parsed), 80):
        for pump in (
            (before, repeated),
            ("", before),
            ("", before + repeated),
            ("", before + repeated * 3 + " "),
            *((before[:-length], before[-length:]) for length in range(1, min(len(before), 12))),
        ):
            pumps[pump] = None
    return pumps | dict.fromkeys(("", common) for common in COMMON)


def _stop(*_: object) -> None:
    raise TimeoutError


def _seconds(use: Use, text: str) -> float:
    """Return the CPU time of the methods on a text, or more than the limit if they do not end in time."""
    subject: Any = text if isinstance(use.pattern.pattern, str) else text.encode()
    start = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
        if use.methods & ANYWHERE:
            for _ in use.pattern.finditer(subject):
                pass
        if "match" in use.methods:
            use.pattern.match(subject)
        if "fullmatch" in use.methods:
            use.pattern.fullmatch(subject)
    except TimeoutError:
        return MAX_SECONDS
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - start


def _slow_text(use: Use) -> str | None:
    """Return a text of 60 kB on which a pattern is slow; shorter texts show which ones to try."""
    for prefix, repeated in _pumps(use.pattern):
        texts = [(prefix + repeated * (size // max(len(repeated), 1)))[:size] + "\x00" for size in (SIZE // 6, SIZE)]
        if _seconds(use, texts[0]) > MAX_SECONDS / 50 and _seconds(use, texts[1]) >= MAX_SECONDS:
            return texts[1][:120]
    return None


@pytest.fixture(autouse=True)
def interrupted() -> Iterator[None]:
    previous = signal.signal(signal.SIGVTALRM, _stop)
    yield
    signal.signal(signal.SIGVTALRM, previous)


def test_every_pattern_is_linear() -> None:
    uses = list(_uses())
    assert len(uses) > 100
    slow = {use.name: text for use in uses if (text := _slow_text(use)) is not None}
    assert not slow, "\n".join(f"{name}: {text!r}" for name, text in slow.items())


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"\s+x", r"<t>.*?</t>", r";[\w.]*pass\w*="])
def test_slow_patterns_are_found(pattern: str) -> None:
    assert _slow_text(Use("slow", re.compile(pattern), METHODS)) is not None


#: Commands, values and definitions that took time quadratic in their length, or worse.
JIL = {
    "programs": "command: " + "mysql " * 10_000, "options": "command: x -" + "pass-" * 12_000, "blanks": "command: x" + " " * 60_000 + "y",
    "comments": "condition: s(b) " + "/* " * 20_000, "attributes": "command: x" + "  machine:" * 6_000,
    "open comments": "command: x\n" + "/* x\n" * 12_000, "quotes": 'command: "' + ' "' * 29_999, "redirections": "command: a" + " > /b" * 12_000,
    "paths": "command: a " + "/a" * 30_000, "variables": "command: a " + "$A" * 30_000, "words": "command: " + "a " * 30_000,
    "logins": "command: sqlplus " + "a/" * 30_000, "urls": "command: x " + "jdbc:oracle:" * 5_000, "one word": "command: " + "a" * 60_000,
    "continued condition": "condition: s(b)\n" + "& s(b)\n" * 8_000, "continued times": "start_times: 01:00\n" + ",01:00\n" * 8_000,
    "continued quotes": 'command: "a\n' + "a\n" * 30_000, "conditions": "condition: " + "(" * 30_000,
}  # fmt: skip


@pytest.mark.parametrize("text", JIL.values(), ids=JIL)
def test_definitions_are_scanned_in_linear_time(text: str) -> None:
    assert _scan_and_lint(f"insert_job: a  job_type: c\n{text}\nmachine: m\n") < 3


def test_nested_boxes_are_scanned_in_linear_time() -> None:
    boxes = (f"insert_job: b{index}  job_type: BOX\nbox_name: b{index - 1}\n" for index in range(1, 5_000))
    assert _scan_and_lint("insert_job: b0  job_type: BOX\n" + "".join(boxes)) < 20


def test_deeply_nested_boxes_are_reported_once() -> None:
    boxes = "".join(f"insert_job: b{index}  job_type: BOX\nbox_name: b{index - 1}\n" for index in range(1, 200))
    catalog = JobCatalog()
    catalog.apply(parse_jil("insert_job: b0  job_type: BOX\n" + boxes, "a.jil").statements)
    assert catalog.enclosing_boxes(catalog.jobs["b199"]) == tuple(f"b{index}" for index in range(99, 199))
    messages = [diagnostic.message for diagnostic in lint(catalog) if "nested" in diagnostic.message]
    assert messages == ["b101 is nested in more than 100 boxes: only the innermost are recorded"]


def _scan_and_lint(text: str) -> float:
    """Return the CPU time of everything that a scan and a lint do with a JIL file."""
    start = time.process_time()
    parsed = parse_jil(text, "a.jil")
    catalog = JobCatalog()
    catalog.apply(parsed.statements)
    lint(catalog)
    unsupported_definitions(catalog)
    for job in catalog.jobs.values():
        normalized_definition(job, catalog.enclosing_boxes(job))
    for _ in build_job_events(catalog, ScanOptions("PRD", "2026-01-01T00:00:00Z")):
        pass
    for _ in catalog_lines(catalog, ScanResult([], [], [], 0, []), "PRD"):
        pass
    return time.process_time() - start
