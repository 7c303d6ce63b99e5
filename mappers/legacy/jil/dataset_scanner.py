"""Finds the datasets that a job definition mentions."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
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
    """Datasets that a job definition mentions, their flows, and the scripts that the job runs."""

    #: Each dataset once per side, with its highest confidence.
    datasets: list[DatasetCandidate]
    flows: list[DataFlow]
    scripts: list[str]
    #: Warnings about attributes that seem to name datasets but cannot be resolved.
    warnings: list[str]


def find_datasets(job: JobDefinition, conventions: OptionConventions = OptionConventions()) -> DatasetCandidates:  # noqa: B008 - an immutable tuple
    """Find the datasets of a job in its attributes, its command and its SQL statements."""
    variables = dict(_environment_variables(job))
    scripts: dict[str, None] = {}
    if procedure := job.get("sp_name"):
        scripts[f"procedure {procedure}"] = None
    scanner = _AttributeScanner(variables)
    job_datasets = list(scanner.scan_files(job))
    # A command that ends with a backslash is incomplete, so it is not analyzed.
    if (command := job.get("command")) and job.type not in {"BOX", "FW", "FT"} and not command.endswith("\\"):
        flows = _CommandScanner(conventions, scripts).scan(parse_commands(command, variables), job_datasets)
    else:
        flows = [job_datasets]
    flows += [*scanner.scan_transfers(job), *scanner.scan_statements(job)]
    best_candidates: dict[tuple[Side, str, str], DatasetCandidate] = {}
    for candidate in chain.from_iterable(flows):
        key = candidate.side, candidate.namespace, candidate.name
        if key not in best_candidates or best_candidates[key].confidence < candidate.confidence:
            best_candidates[key] = candidate
    nonempty_flows = [flow for flow in flows if flow]
    return DatasetCandidates(list(best_candidates.values()), nonempty_flows, list(scripts), scanner.warnings)


def dataset_warnings(job: JobDefinition) -> list[str]:
    """List warnings about attributes that seem to name datasets but cannot be resolved."""
    scanner = _AttributeScanner(dict(_environment_variables(job)))
    # The scanner collects the warnings.
    scanner.scan_files(job)
    scanner.scan_transfers(job)
    scanner.scan_statements(job)
    return scanner.warnings


def _environment_variables(job: JobDefinition) -> Iterator[tuple[str, str]]:
    for assignments in job.accumulated.get("envvars", ()):
        for assignment in assignments.split(","):
            name, separator, value = assignment.strip().strip('"').partition("=")
            if separator and "$" not in value:
                yield name.strip(), value.strip().strip('"')


class _AttributeScanner:
    """Scans attributes for datasets, and collects `warnings` about attributes that cannot be resolved."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.warnings: list[str] = []

    def scan_files(self, job: JobDefinition) -> DataFlow:
        """Find the datasets of the job itself, which belong to none of its commands."""
        candidates = self._find_file_candidates(job, "input", "watch_file", 0.95)
        candidates += self._find_file_candidates(job, "input", "std_in_file", 0.9)
        stdout_file = (job.get("std_out_file") or "").lstrip(">").strip()
        if not _LOG.search(stdout_file):
            candidates += dataset_candidates("output", stdout_file, "std_out_file", 0.5, self._variables)
        return candidates

    def scan_transfers(self, job: JobDefinition) -> list[DataFlow]:
        """List the datasets of file transfers; the direction determines which file is the input."""
        transfers = []
        for prefix in ("ftp", "scp"):
            remote, server = job.get(f"{prefix}_remote_name"), job.get(f"{prefix}_server_name")
            direction = (job.get(f"{prefix}_transfer_direction") or "").upper()
            local_side: Side = "output" if direction in {"DOWNLOAD", "GET", "1"} else "input"
            candidates = self._find_file_candidates(job, local_side, f"{prefix}_local_name", 0.8)
            if remote and server:
                folder = job.get(f"{prefix}_remote_dir")
                path = remote if remote.startswith("/") or not folder else f"{folder.rstrip('/')}/{remote}"
                remote_side: Side = "input" if local_side == "output" else "output"
                candidates.append(
                    DatasetCandidate(remote_side, f"sftp://{server}", path, f"{prefix}_remote_name", 0.8)
                )
            transfers.append(candidates)
        return transfers

    def scan_statements(self, job: JobDefinition) -> list[DataFlow]:
        """List the tables that each statement of an SQL job reads and writes."""
        script = job.get("sql_command")
        if not script:
            return []
        database, warning = parse_connect_string(job.get("connect_string"))
        tables = script_tables(script)
        if warning is not None:
            self.warnings.append(warning)
        if tables.unparsed_numbers:
            numbers = ", ".join(map(str, tables.unparsed_numbers))
            self.warnings.append(f"sql_command: statement {numbers} cannot be parsed: its datasets are unknown")
        if database is None:
            return []

        def table_candidates(side: Side, table_names: Iterable[str]) -> DataFlow:
            names = map(database.qualify, table_names)
            return [DatasetCandidate(side, database.namespace, name, "sql_command", 0.8) for name in names]

        return [
            [*table_candidates("input", statement.reads), *table_candidates("output", statement.writes)]
            for statement in tables.statements
        ]

    def _find_file_candidates(self, job: JobDefinition, side: Side, attribute: str, confidence: float) -> DataFlow:
        """Return the candidate for the file that an attribute names; adds a warning if the name is unresolvable."""
        file_name = job.get(attribute)
        candidates = dataset_candidates(side, file_name, attribute, confidence, self._variables)
        path = expand_variables(file_name or "", self._variables)
        if candidates or not file_name or is_device(path):
            return candidates
        reason = "is not an absolute path"
        if "$" in path or "`" in path:
            reason = "contains variables that only the scheduler or a shell can resolve"
        self.warnings.append(f"{attribute} {reason}: its dataset is unknown")
        return []


class _CommandScanner:
    """Scans commands for datasets, and for scripts in their arguments."""

    def __init__(self, conventions: OptionConventions, scripts: dict[str, None]) -> None:
        self._conventions = conventions
        self._scripts = scripts

    def scan(self, commands: Sequence[ShellCommand], job_datasets: DataFlow) -> list[DataFlow]:
        """Group datasets into flows: all commands of a pipe form one flow, and each copied file forms another.

        The datasets of the job itself are added to the flow of the commands if there is only one flow; otherwise they
        form a flow of their own.
        """
        pipes: dict[int, DataFlow] = {}
        separate_flows: list[DataFlow] = []
        for command in map(_without_wrappers, commands):
            candidates = self._scan_redirections(command)
            if command.name in COPY_PROGRAMS:
                separate_flows += copy_flows(command.name, command.arguments[1:])
            elif command.name in _SHELLS and "-c" in command.arguments:
                inner_flows = self.scan(_inline_commands(command.arguments), candidates)
                if len(inner_flows) == 1:
                    (candidates,) = inner_flows
                else:
                    candidates = []
                    separate_flows += inner_flows
            else:
                candidates += program_datasets(command.name, command.arguments[1:], self._conventions)
            self._add_scripts(command.arguments[1:])
            if candidates or command.name not in PROGRAMS_WITHOUT_IO | COPY_PROGRAMS:
                pipes.setdefault(command.pipe, []).extend(candidates)
        if len(pipes) == 1 and not separate_flows:
            (pipe_flow,) = pipes.values()
            return [[*job_datasets, *pipe_flow]]
        return [job_datasets, *pipes.values(), *separate_flows]

    def _scan_redirections(self, command: ShellCommand) -> DataFlow:
        """Find the datasets that a command is redirected from or to; redirected scripts are recorded."""
        candidates: DataFlow = []
        for redirection in command.redirections:
            if _SCRIPT.fullmatch(redirection.file):
                self._scripts[redirection.file] = None
            elif redirection.operator == "<" or not _LOG.search(redirection.file):
                side: Side = "input" if redirection.operator == "<" else "output"
                candidates += dataset_candidates(side, redirection.file, f"command: {redirection.operator}", 0.7, {})
        return candidates

    def _add_scripts(self, arguments: Iterable[str | None]) -> None:
        for argument in arguments:
            if argument and not argument.startswith("-") and _SCRIPT.fullmatch(argument.lstrip("@")):
                self._scripts[argument.lstrip("@")] = None


def _inline_commands(shell_arguments: Sequence[str | None]) -> list[ShellCommand]:
    """Parse the commands that follow the option `-c` of a shell."""
    position = shell_arguments.index("-c") + 1
    script = shell_arguments[position] if position < len(shell_arguments) else None
    return parse_commands(script) if script else []


def _without_wrappers(command: ShellCommand) -> ShellCommand:
    """Remove wrapper programs, which only start another command."""
    arguments = command.arguments
    while len(arguments) > 1 and (arguments[0] or "").rpartition("/")[2] in _WRAPPERS:
        arguments = arguments[1:]
    return command._replace(arguments=arguments)
