"""Finds the files that common shell programs read and write."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from mappers.legacy.jil.dataset_candidate import DataFlow, Side, dataset_candidates

COPY_PROGRAMS = frozenset({"cp", "mv", "rsync", "install"})
#: Programs that neither read nor write the data of other commands.
PROGRAMS_WITHOUT_IO = frozenset(
    {"cd", "export", "set", "umask", "ulimit", "exit", "true", "test", "[", "mkdir", "chmod", "sleep"}
)
_READERS = frozenset({"cat", "zcat", "sort", "head", "tail", "grep", "awk", "sed", "cut", "wc", "gunzip"})
#: For these programs, the first positional argument is a pattern or script, unless one of these options is given.
_PROGRAM_TEXT_OPTIONS = {"grep": frozenset({"-e", "-f"}), "sed": frozenset({"-e", "-f"}), "awk": frozenset({"-f"})}
#: Options that are followed by a value.
_OPTIONS_WITH_VALUE = {
    "cp": "-t -S --target-directory --suffix", "mv": "-t -S --target-directory --suffix",
    "install": "-t -S -m -o -g --target-directory --suffix --mode --owner --group",
    "rsync": "-e -f --exclude --include --filter --exclude-from --include-from --files-from --log-file --bwlimit",
    "sort": "-o -k -t -T -S --output", "head": "-n -c", "tail": "-n -c", "grep": "-e -f -m -A -B -C",
    "awk": "-f -F -v", "sed": "-e -f", "cut": "-d -f -c -b",
}  # fmt: skip
_TARGET_OPTIONS = ("-t", "--target-directory")


class OptionConventions(NamedTuple):
    """Options with which the programs of a site name their inputs and outputs."""

    inputs: frozenset[str] = frozenset({"--input", "--in", "--source", "--src", "--input-path"})
    outputs: frozenset[str] = frozenset({"--output", "--out", "--target", "--dest", "--output-path"})


class _Arguments(NamedTuple):
    """The positional arguments of a command, and the values of its options."""

    positional: list[str | None]
    options: dict[str, str | None]


def copy_flows(name: str, arguments: Sequence[str | None]) -> Iterator[DataFlow]:
    """Yield one flow per source of a copy program: into the target, or into a file in the target folder."""
    positional, options = _split_arguments(name, arguments)
    target_folder = next((options[option] for option in _TARGET_OPTIONS if option in options), None)
    sources, target = positional, target_folder
    if not target and positional:
        *sources, target = positional
    creates_folders_only = name == "install" and "-d" in options
    if not sources or creates_folders_only:
        return
    is_folder = target_folder is not None or len(sources) > 1 or (target or "").endswith("/")
    evidence = f"command: {name}"
    for source in sources:
        output = _file_in_folder(target, source, name) if is_folder else target
        yield [
            *dataset_candidates("input", source, evidence, 0.7, {}),
            *dataset_candidates("output", output, evidence, 0.7, {}),
        ]


def program_datasets(name: str, arguments: Sequence[str | None], conventions: OptionConventions) -> DataFlow:
    """List the datasets that a program other than a copy program reads and writes."""
    positional, options = _split_arguments(name, arguments)
    candidates: DataFlow = []
    if name in _READERS:
        if name in _PROGRAM_TEXT_OPTIONS and not _PROGRAM_TEXT_OPTIONS[name] & options.keys():
            positional = positional[1:]
        for argument in positional:
            if argument and argument.startswith("/"):
                candidates += dataset_candidates("input", argument, f"command: {name}", 0.4, {})
        if name == "sort":
            candidates += dataset_candidates("output", options.get("-o"), "command: sort -o", 0.7, {})
    elif name == "tee":
        for argument in positional:
            candidates += dataset_candidates("output", argument, "command: tee", 0.6, {})
    return candidates + _option_datasets(arguments, conventions)


def _file_in_folder(folder: str | None, source: str | None, name: str) -> str | None:
    """Return the path of a source's copy in a folder, or the folder itself if the name of the copy is unknown."""
    if folder is None or source is None or (name == "rsync" and source.endswith("/")):
        return folder
    base = source.rstrip("/").rpartition("/")[2]
    is_plain_name = base not in {"", ".", ".."} and not any(character in base for character in "*?[$`")
    return f"{folder.rstrip('/')}/{base}" if is_plain_name else folder


def _split_arguments(name: str, arguments: Sequence[str | None]) -> _Arguments:
    """Separate options and their values from positional arguments."""
    options_with_value = _OPTIONS_WITH_VALUE.get(name, "").split()
    parsed_arguments = _Arguments([], {})
    remaining_arguments = iter(arguments)
    for argument in remaining_arguments:
        if argument is None or not argument.startswith("-") or argument == "-":
            parsed_arguments.positional.append(argument)
        elif argument == "--":
            parsed_arguments.positional.extend(remaining_arguments)
        elif argument in options_with_value:
            parsed_arguments.options[argument] = next(remaining_arguments, None)
        elif argument.startswith("--"):
            option, separator, value = argument.partition("=")
            parsed_arguments.options[option] = value if separator else None
        else:
            first_option, last_option = argument[:2], f"-{argument[-1]}"
            parsed_arguments.options[first_option] = argument[2:]
            # In `-rt DIR`, the last letter is an option with a value.
            if len(argument) > 2 and last_option in options_with_value and first_option not in options_with_value:
                parsed_arguments.options[last_option] = next(remaining_arguments, None)
    return parsed_arguments


def _option_datasets(arguments: Sequence[str | None], conventions: OptionConventions) -> DataFlow:
    """List the datasets named by options of the site's programs."""
    candidates: DataFlow = []
    sides: Mapping[Side, frozenset[str]] = {"input": conventions.inputs, "output": conventions.outputs}
    for argument, next_argument in zip_longest(arguments, arguments[1:]):
        option, separator, inline_value = (argument or "").partition("=")
        option_value = inline_value if separator else next_argument
        for side, names in sides.items():
            if option in names and option_value and not option_value.startswith("--"):
                for path in option_value.split(","):
                    candidates += dataset_candidates(side, path, f"command: {option}", 0.6, {})
    return candidates
