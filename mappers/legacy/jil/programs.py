"""What well-known programs read and write, by their words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mappers.legacy.jil.dataset_candidate import DataFlow, Side, dataset_candidates

COPY_PROGRAMS = frozenset({"cp", "mv", "rsync", "install"})
#: What neither reads nor writes what goes through the commands around it.
PROGRAMS_WITHOUT_IO = frozenset(
    {"cd", "export", "set", "umask", "ulimit", "exit", "true", "test", "[", "mkdir", "chmod", "sleep"}
)
_READERS = frozenset({"cat", "zcat", "sort", "head", "tail", "grep", "awk", "sed", "cut", "wc", "gunzip"})
#: Of these the first word that is no option is what they do, unless an option says it.
_PROGRAMMED = {"grep": frozenset({"-e", "-f"}), "sed": frozenset({"-e", "-f"}), "awk": frozenset({"-f"})}
#: Options behind which stands another word that is theirs.
_TAKE = {
    "cp": "-t -S --target-directory --suffix", "mv": "-t -S --target-directory --suffix",
    "install": "-t -S -m -o -g --target-directory --suffix --mode --owner --group",
    "rsync": "-e -f --exclude --include --filter --exclude-from --include-from --files-from --log-file --bwlimit",
    "sort": "-o -k -t -T -S --output", "head": "-n -c", "tail": "-n -c", "grep": "-e -f -m -A -B -C",
    "awk": "-f -F -v", "sed": "-e -f", "cut": "-d -f -c -b",
}  # fmt: skip
_INTO = ("-t", "--target-directory")


class OptionConventions(NamedTuple):
    """By which options a site's programs name what they read and write."""

    inputs: frozenset[str] = frozenset({"--input", "--in", "--source", "--src", "--input-path"})
    outputs: frozenset[str] = frozenset({"--output", "--out", "--target", "--dest", "--output-path"})


class _Arguments(NamedTuple):
    """The words of a command: those that are no option, and what its options were given."""

    plain: list[str | None]
    given: dict[str, str | None]


def copy_flows(name: str, words: Sequence[str | None]) -> Iterator[DataFlow]:
    """Give what a program that copies moves: each source into the target, or into its own file in that folder."""
    plain, given = _sorted(name, words)
    into = next((given[one] for one in _INTO if one in given), None)
    sources, target = (plain, into) if into else (plain[:-1], plain[-1] if plain else None)
    if not sources or (name == "install" and "-d" in given):
        return
    for source in sources:
        folder = into is not None or len(sources) > 1 or (target or "").endswith("/")
        made = _in_folder(target, source, name) if folder else target
        evidence = f"command: {name}"
        yield [
            *dataset_candidates("input", source, evidence, 0.7, {}),
            *dataset_candidates("output", made, evidence, 0.7, {}),
        ]


def program_datasets(name: str, words: Sequence[str | None], conventions: OptionConventions) -> DataFlow:
    """Give what any other program reads and writes."""
    plain, given = _sorted(name, words)
    found: DataFlow = []
    if name in _READERS:
        if name in _PROGRAMMED and not _PROGRAMMED[name] & given.keys():
            plain = plain[1:]
        for word in plain:
            if word and word.startswith("/"):
                found += dataset_candidates("input", word, f"command: {name}", 0.4, {})
        if name == "sort":
            found += dataset_candidates("output", given.get("-o"), "command: sort -o", 0.7, {})
    elif name == "tee":
        for word in plain:
            found += dataset_candidates("output", word, "command: tee", 0.6, {})
    return found + _option_datasets(words, conventions)


def _in_folder(folder: str | None, source: str | None, name: str) -> str | None:
    """Name the file that a source becomes in a folder; the folder itself where that is not known."""
    if folder is None or source is None or (name == "rsync" and source.endswith("/")):
        return folder
    base = source.rstrip("/").rpartition("/")[2]
    known = base not in {"", ".", ".."} and not any(one in base for one in "*?[$`")
    return f"{folder.rstrip('/')}/{base}" if known else folder


def _sorted(name: str, words: Sequence[str | None]) -> _Arguments:
    """Tell words from options and what these are given."""
    takes = _TAKE.get(name, "").split()
    found = _Arguments([], {})
    rest = iter(words)
    for word in rest:
        if word is None or not word.startswith("-") or word == "-":
            found.plain.append(word)
        elif word == "--":
            found.plain.extend(rest)
        elif word in takes:
            found.given[word] = next(rest, None)
        elif word.startswith("--"):
            option, equals, value = word.partition("=")
            found.given[option] = value if equals else None
        else:
            found.given[word[:2]] = word[2:]
            # `-rt DIR`: the last letter may be an option that takes a word.
            if len(word) > 2 and f"-{word[-1]}" in takes and word[:2] not in takes:
                found.given[f"-{word[-1]}"] = next(rest, None)
    return found


def _option_datasets(words: Sequence[str | None], conventions: OptionConventions) -> DataFlow:
    found: DataFlow = []
    sides: Mapping[Side, frozenset[str]] = {"input": conventions.inputs, "output": conventions.outputs}
    for place, word in enumerate(words):
        option, equals, value = (word or "").partition("=")
        behind = value if equals else words[place + 1] if place + 1 < len(words) else None
        for side, names in sides.items():
            if option in names and behind and not behind.startswith("--"):
                for part in behind.split(","):
                    found += dataset_candidates(side, part, f"command: {option}", 0.6, {})
    return found
