"""Finds the datasets that a job definition mentions."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mappers.legacy.jil.dataset_candidate import (
    DataFlow,
    DatasetCandidate,
    Side,
    dataset_candidates,
    expand_variables,
    is_device,
    parse_connect_string,
)
from mappers.legacy.jil.job_catalog import JobDefinition
from mappers.legacy.jil.programs import (
    COPY_PROGRAMS,
    PROGRAMS_WITHOUT_IO,
    OptionConventions,
    copy_flows,
    program_datasets,
)
from mappers.legacy.jil.shell import ShellCommand, parse_commands
from mappers.sql.table_lineage import script_tables

_SCRIPT = re.compile(r".+\.(?:sql|btq|bteq|ddl|pls|hql|tpt)$", re.IGNORECASE)
_LOG = re.compile(r"(?:\.(?:log|out|err|trc|lst)(?:\.[\w$-]*)?$)|(?:^|/)logs?/|\$\{?AUTO|%", re.IGNORECASE)
_SHELLS = frozenset({"sh", "bash", "ksh", "zsh", "dash"})
_WRAPPERS = frozenset({"nohup", "time", "exec", "nice", "env", "command", "sudo"})


class DatasetCandidates(NamedTuple):
    """What the definition of a job speaks of: datasets, which of them go together, and scripts that it runs."""

    #: Each once a side, as sure as its surest mention.
    datasets: list[DatasetCandidate]
    flows: list[DataFlow]
    scripts: list[str]
    #: What looks like a dataset, and cannot be named.
    warnings: list[str]


def find_datasets(job: JobDefinition, conventions: OptionConventions = OptionConventions()) -> DatasetCandidates:  # noqa: B008 - an immutable tuple
    """Find what a job speaks of."""
    variables = dict(_variables(job))
    scripts: dict[str, None] = {}
    if procedure := job.get("sp_name"):
        scripts[f"procedure {procedure}"] = None
    told = _AttributeScanner(variables)
    around = list(told.around(job))
    flows: list[DataFlow] = []
    # Behind a backslash at the end of a command there was more, which says what its words are.
    if (text := job.get("command")) and job.type not in {"BOX", "FW", "FT"} and not text.endswith("\\"):
        flows = _CommandScanner(conventions, scripts).flows(parse_commands(text, variables), around)
    else:
        flows = [around]
    flows += [*told.transfers(job), *told.statements(job)]
    best: dict[tuple[Side, str, str], DatasetCandidate] = {}
    for one in (one for flow in flows for one in flow):
        key = one.side, one.namespace, one.name
        if key not in best or best[key].confidence < one.confidence:
            best[key] = one
    return DatasetCandidates(list(best.values()), [one for one in flows if one], list(scripts), told.warnings)


def dataset_warnings(job: JobDefinition) -> list[str]:
    """Tell what attributes of a job look like datasets, and cannot be named."""
    told = _AttributeScanner(dict(_variables(job)))
    for _ in (told.around(job), *told.transfers(job), *told.statements(job)):
        pass
    return told.warnings


def _variables(job: JobDefinition) -> Iterator[tuple[str, str]]:
    for text in job.accumulated.get("envvars", ()):
        for part in text.split(","):
            name, equals, value = part.strip().strip('"').partition("=")
            if equals and "$" not in value:
                yield name.strip(), value.strip().strip('"')


class _AttributeScanner:
    """What attributes tell, and what of it cannot be named."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.warnings: list[str] = []

    def around(self, job: JobDefinition) -> DataFlow:
        """Give what a job reads and writes as a whole."""
        found = self._file(job, "input", "watch_file", 0.95) + self._file(job, "input", "std_in_file", 0.9)
        out = (job.get("std_out_file") or "").lstrip(">").strip()
        return found + (
            [] if _LOG.search(out) else dataset_candidates("output", out, "std_out_file", 0.5, self._variables)
        )

    def transfers(self, job: JobDefinition) -> Iterator[DataFlow]:
        """Read transfers of files: which end is read depends on their direction."""
        for prefix in ("ftp", "scp"):
            remote, server = job.get(f"{prefix}_remote_name"), job.get(f"{prefix}_server_name")
            direction = (job.get(f"{prefix}_transfer_direction") or "").upper()
            here: Side = "output" if direction in {"DOWNLOAD", "GET", "1"} else "input"
            found = self._file(job, here, f"{prefix}_local_name", 0.8)
            if remote and server:
                folder = job.get(f"{prefix}_remote_dir")
                path = remote if remote.startswith("/") or not folder else f"{folder.rstrip('/')}/{remote}"
                there: Side = "input" if here == "output" else "output"
                found.append(DatasetCandidate(there, f"sftp://{server}", path, f"{prefix}_remote_name", 0.8))
            yield found

    def statements(self, job: JobDefinition) -> Iterator[DataFlow]:
        """Read the statements of a job that is SQL: the tables that each writes, and those that it reads."""
        text = job.get("sql_command")
        if not text:
            return
        database, remark = parse_connect_string(job.get("connect_string"))
        tables = script_tables(text)
        if remark is not None:
            self.warnings.append(remark)
        if tables.unparsed:
            numbers = ", ".join(map(str, tables.unparsed))
            self.warnings.append(f"sql_command: statement {numbers} cannot be read: no dataset of it is named")
        if database is None:
            return
        for one in tables.statements:
            sides: Iterable[tuple[Side, Sequence[str]]] = (("input", one.reads), ("output", one.writes))
            yield [
                DatasetCandidate(side, database.namespace, database.qualify(table), "sql_command", 0.8)
                for side, names in sides
                for table in names
            ]

    def _file(self, job: JobDefinition, side: Side, attribute: str, confidence: float) -> DataFlow:
        """Name the file of an attribute, or say that it cannot be named."""
        text = job.get(attribute)
        found = dataset_candidates(side, text, attribute, confidence, self._variables)
        if text and not found and not is_device(path := expand_variables(text, self._variables)):
            why = (
                "holds what only the scheduler or a shell can tell"
                if "$" in path or "`" in path
                else "is no absolute path"
            )
            self.warnings.append(f"{attribute} {why}: no dataset is named")
        return found


class _CommandScanner:
    """What commands read and write, and the scripts among their words."""

    def __init__(self, conventions: OptionConventions, scripts: dict[str, None]) -> None:
        self._conventions = conventions
        self._scripts = scripts

    def flows(self, commands: Sequence[ShellCommand], around: DataFlow) -> list[DataFlow]:
        """Give what goes together: the commands of a pipe do, each copy does by itself.

        What is around all of them goes with them where they are one.
        """
        pipes: dict[int, DataFlow] = {}
        found: list[DataFlow] = []
        for one in map(_unwrapped, commands):
            own = self._redirected(one)
            if one.name in COPY_PROGRAMS:
                found += copy_flows(one.name, one.arguments[1:])
            elif one.name in _SHELLS and "-c" in one.arguments:
                text = one.arguments[one.arguments.index("-c") + 1 :][:1]
                inner = self.flows(parse_commands(text[0]) if text and text[0] else [], own)
                own = inner[0] if len(inner) == 1 else []
                found += inner if len(inner) > 1 else []
            else:
                own += program_datasets(one.name, one.arguments[1:], self._conventions)
            self._note(one.arguments[1:])
            if own or one.name not in PROGRAMS_WITHOUT_IO | COPY_PROGRAMS:
                pipes.setdefault(one.pipe, []).extend(own)
        if len(pipes) == 1 and not found:
            return [[*around, *next(iter(pipes.values()))]]
        return [around, *pipes.values(), *found]

    def _redirected(self, one: ShellCommand) -> DataFlow:
        found: DataFlow = []
        for each in one.redirections:
            if _SCRIPT.fullmatch(each.file):
                self._scripts[each.file] = None
            elif each.operator == "<" or not _LOG.search(each.file):
                side: Side = "input" if each.operator == "<" else "output"
                found += dataset_candidates(side, each.file, f"command: {each.operator}", 0.7, {})
        return found

    def _note(self, words: Iterable[str | None]) -> None:
        for word in words:
            if word and not word.startswith("-") and _SCRIPT.fullmatch(word.lstrip("@")):
                self._scripts[word.lstrip("@")] = None


def _unwrapped(one: ShellCommand) -> ShellCommand:
    """Take away what only starts another command."""
    words = one.arguments
    while len(words) > 1 and (words[0] or "").rpartition("/")[2] in _WRAPPERS:
        words = words[1:]
    return one._replace(arguments=words)
