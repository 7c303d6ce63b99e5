"""Datasets that a definition of a job speaks of: each with what says so, and how sure that is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mappers.jdbc import Database, read_jdbc
from mappers.legacy.jil.estate import Job
from mappers.legacy.jil.shell import Command, read_commands
from mappers.legacy.jil.sql import Side, tables_of
from mappers.naming import canonical_namespace

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)", re.DOTALL)
_SCRIPT = re.compile(r".+\.(?:sql|btq|bteq|ddl|pls|hql|tpt)$", re.IGNORECASE)
_LOG = re.compile(r"(?:\.(?:log|out|err|trc|lst)(?:\.[\w$-]*)?$)|(?:^|/)logs?/|\$\{?AUTO|%", re.IGNORECASE)
_NOT_FILES = ("/dev/", "/proc/")
_SHELLS = frozenset({"sh", "bash", "ksh", "zsh", "dash"})
_WRAPPERS = frozenset({"nohup", "time", "exec", "nice", "env", "command", "sudo"})
_COPIES = frozenset({"cp", "mv", "rsync", "install"})
_READERS = frozenset({"cat", "zcat", "sort", "head", "tail", "grep", "awk", "sed", "cut", "wc", "gunzip"})


class Conventions(NamedTuple):
    """By which options a site's programs name what they read and write."""

    inputs: frozenset[str] = frozenset({"--input", "--in", "--source", "--src", "--input-path"})
    outputs: frozenset[str] = frozenset({"--output", "--out", "--target", "--dest", "--output-path"})


class Candidate(NamedTuple):
    """A dataset that a job seems to read or write."""

    side: Side
    namespace: str
    name: str
    #: Which attribute, and what in it.
    evidence: str
    confidence: float


class Found(NamedTuple):
    """What the definition of a job speaks of: datasets, and scripts that it runs."""

    datasets: list[Candidate]
    scripts: list[str]


def candidates_of(job: Job, conventions: Conventions = Conventions()) -> Found:  # noqa: B008 - an immutable tuple
    """Find what a job speaks of; of what is named twice the surer counts."""
    variables = dict(_variables(job))
    scripts: dict[str, None] = {}
    if procedure := job.get("sp_name"):
        scripts[f"procedure {procedure}"] = None
    found = [*_of_attributes(job, variables)]
    # Behind a backslash at the end of a command there was more, which says what its words are.
    if (text := job.get("command")) and job.type not in {"BOX", "FW", "FT"} and not text.endswith("\\"):
        found += _of_commands(read_commands(text, variables), conventions, scripts)
    best: dict[tuple[Side, str, str], Candidate] = {}
    for one in found:
        key = one.side, one.namespace, one.name
        if key not in best or best[key].confidence < one.confidence:
            best[key] = one
    return Found(list(best.values()), list(scripts))


def _variables(job: Job) -> Iterator[tuple[str, str]]:
    for text in job.gathered.get("envvars", ()):
        for part in text.split(","):
            name, equals, value = part.strip().strip('"').partition("=")
            if equals and "$" not in value:
                yield name.strip(), value.strip().strip('"')


def _of_attributes(job: Job, variables: Mapping[str, str]) -> Iterator[Candidate]:
    yield from _file("input", job.get("watch_file"), "watch_file", 0.95, variables)
    yield from _file("input", job.get("std_in_file"), "std_in_file", 0.9, variables)
    out = (job.get("std_out_file") or "").lstrip(">").strip()
    if out and not _LOG.search(out):
        yield from _file("output", out, "std_out_file", 0.5, variables)
    for prefix in ("ftp", "scp"):
        yield from _of_transfer(job, prefix, variables)
    yield from _of_sql(job)


def _of_sql(job: Job) -> Iterator[Candidate]:
    """Read the statement of a job that is SQL: the tables it writes, and those that it reads."""
    text = job.get("sql_command")
    if not text:
        return
    database = read_jdbc(job.get("connect_string") or "") or Database("sql", "")
    for side, table in tables_of(text):
        yield Candidate(side, database.namespace, database.table(table), "sql_command", 0.8)


def _of_transfer(job: Job, prefix: str, variables: Mapping[str, str]) -> Iterator[Candidate]:
    """Read a transfer of files: which end is read depends on its direction."""
    local, remote = job.get(f"{prefix}_local_name"), job.get(f"{prefix}_remote_name")
    server, folder = job.get(f"{prefix}_server_name"), job.get(f"{prefix}_remote_dir")
    direction = (job.get(f"{prefix}_transfer_direction") or "").upper()
    if not (local or remote):
        return
    down = direction in {"DOWNLOAD", "GET", "1"}
    sides: tuple[Side, Side] = ("output", "input") if down else ("input", "output")
    yield from _file(sides[0], local, f"{prefix}_local_name", 0.8, variables)
    if remote and server:
        path = remote if remote.startswith("/") or not folder else f"{folder.rstrip('/')}/{remote}"
        yield Candidate(sides[1], f"sftp://{server}", path, f"{prefix}_remote_name", 0.8)


def _of_commands(
    commands: Sequence[Command], conventions: Conventions, scripts: dict[str, None]
) -> Iterator[Candidate]:
    for one in commands:
        words = _unwrapped(one)
        name = words.name
        if name in _SHELLS and "-c" in words.words:
            text = words.words[words.words.index("-c") + 1 :][:1]
            yield from _of_commands(read_commands(text[0]) if text and text[0] else [], conventions, scripts)
        for each in one.redirections:
            if _SCRIPT.fullmatch(each.file):
                scripts[each.file] = None
            elif each.way == "<" or not _LOG.search(each.file):
                side: Side = "input" if each.way == "<" else "output"
                yield from _file(side, each.file, f"command: {each.way}", 0.7, {})
        yield from _of_words(name, words.words[1:], conventions, scripts)


def _of_words(
    name: str, words: Sequence[str | None], conventions: Conventions, scripts: dict[str, None]
) -> Iterator[Candidate]:
    plain = [word for word in words if word and not word.startswith("-")]
    for word in plain:
        if _SCRIPT.fullmatch(word.lstrip("@")):
            scripts[word.lstrip("@")] = None
    named = [word for word in words if word is None or not word.startswith("-")]
    if name in _COPIES and len(named) > 1:
        for source in named[:-1]:
            yield from _file("input", source, f"command: {name}", 0.7, {})
        yield from _file("output", named[-1], f"command: {name}", 0.7, {})
    elif name in _READERS:
        for word in plain:
            if word.startswith("/"):
                yield from _file("input", word, f"command: {name}", 0.4, {})
    elif name == "tee" and plain:
        yield from _file("output", plain[0], "command: tee", 0.6, {})
    yield from _of_options(words, conventions)


def _of_options(words: Sequence[str | None], conventions: Conventions) -> Iterator[Candidate]:
    for place, word in enumerate(words):
        option, equals, value = (word or "").partition("=")
        behind = value if equals else words[place + 1] if place + 1 < len(words) else None
        sides: tuple[tuple[Side, frozenset[str]], ...] = (
            ("input", conventions.inputs),
            ("output", conventions.outputs),
        )
        for side, names in sides:
            if option in names and behind and not behind.startswith("--"):
                for part in behind.split(","):
                    yield from _file(side, part, f"command: {option}", 0.6, {})


def _unwrapped(one: Command) -> Command:
    """Take away what only starts another command."""
    words = one.words
    while len(words) > 1 and (words[0] or "").rpartition("/")[2] in _WRAPPERS:
        words = words[1:]
    return one._replace(words=words)


def _file(
    side: Side, text: str | None, evidence: str, confidence: float, variables: Mapping[str, str]
) -> Iterator[Candidate]:
    """Name a file or an address; what holds a variable that nobody knows, or a place that is no file, is none."""
    if not text:
        return
    path = re.sub(r"\$\{?(\w+)\}?", lambda found: variables.get(found[1], found[0]), text.strip().strip('"'))
    if "$" in path or "`" in path or path.startswith(_NOT_FILES):
        return
    if (url := _URL.fullmatch(path)) is not None:
        scheme = canonical_namespace(f"{url[1].lower()}://").removesuffix("://")
        namespace = "file" if scheme == "file" else f"{scheme}://{url[2]}"
        name = f"/{url[3]}" if scheme in {"file", "hdfs"} else url[3]
        if name.strip("/"):
            yield Candidate(side, namespace, name.rstrip("/"), evidence, confidence)
    elif path.startswith("/") and path.strip("/"):
        yield Candidate(side, "file", path.rstrip("/"), evidence, confidence * (0.7 if "*" in path else 1))
