"""What a run will read and write: every name, version and place resolved, before anything is written."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bridge.process.address import Address
from bridge.process.check import Check
from bridge.process.content import FOLDER, Content, Manifest
from bridge.process.definition import FILES, Definition, Input, Output
from bridge.process.parameters import Given
from bridge.process.steps import Made

_UNSPEAKABLE = re.compile(r"\W")


class PlannedInput(NamedTuple):
    """An input, and what will be read of it."""

    input: Input
    address: Address
    #: The version that is read, by its tag; None for what lies there now.
    version: str | None
    #: How it was found: published, latest, version, pin; live.
    by: str
    #: What tells this state of it from others; None where nothing does.
    fingerprint: str | None
    columns: Mapping[str, str] = {}
    rows: int | None = None
    content: Content | None = None
    manifest: Manifest | None = None

    @property
    def roots(self) -> list[str]:
        """Name the folders of its files; none where the place itself is read."""
        if self.content is None:
            return []
        wanted = self.input.partition
        return [one.path for one in self.content.roots if wanted is None or one.partition in {None, wanted}]


class PlannedOutput(NamedTuple):
    """An output, or a step that is written down, and where its new version will lie."""

    output: Output
    address: Address
    key: str
    #: What the new version is called; systems with versions of their own call it otherwise.
    tag: str
    #: What is published now, by its tag; None when nothing is.
    published: str | None
    #: The version upon which the new one is built: what is appended to, merged into, or kept of other partitions.
    base: Content | None = None
    #: The version that has this key already, by its tag: nothing has to be made.
    found: str | None = None
    #: Whether somebody rolled that version back: nobody but a person brings it back.
    taken_back: bool = False
    checks: Sequence[Check] = ()
    #: Whether it is a step that is written down.
    step: bool = False

    @property
    def folder(self) -> str:
        """Name the folder of the new version."""
        return f"{self.address.location.rstrip('/')}/{FOLDER}{self.tag}"

    @property
    def view(self) -> str:
        """Name what was written for the SQL of checks: as the dataset is called, as far as SQL can say it."""
        return _UNSPEAKABLE.sub("_", self.output.dataset.rstrip("/").rpartition("/")[2])

    def path(self, folder: str) -> str | None:
        """Say where the new version lies; nowhere in particular, where it is a table of a database."""
        if self.output.format in FILES:
            return folder
        return self.address.location if self.output.format == "delta" else None


class Plan(NamedTuple):
    """All that a run will do."""

    definition: Definition
    file: Path
    values: Mapping[str, Given]
    run_id: str
    key: str
    inputs: Sequence[PlannedInput]
    steps: Sequence[Made]
    outputs: Sequence[PlannedOutput]

    @property
    def step_checks(self) -> dict[str, list[Check]]:
        """Give the checks of steps that are not written down."""
        names = {one.step.name for one in self.steps if not one.step.materialize}
        names -= {one.dataset for one in self.definition.outputs}
        found: dict[str, list[Check]] = {}
        for check in self.definition.quality:
            if check.on in names:
                found.setdefault(check.on, []).append(check)
        return found

    def sources_of(self, planned: PlannedOutput) -> list[Address]:
        """Name the datasets that an output is made from: inputs, and steps that are written down."""
        reads = {one.step.name: one.reads for one in self.steps}
        known = {one.input.as_: one.address for one in self.inputs}
        known |= {one.output.from_: one.address for one in self.outputs if one.step}
        first = planned.output.from_
        waiting = list(reads.get(first, ())) if planned.step else [first]
        found: dict[Address, None] = {}
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in known:
                found[known[name]] = None
            elif name not in seen:
                seen.add(name)
                waiting += reads.get(name, ())
        return sorted(found)

    @property
    def name(self) -> str:
        """Give the name of the process."""
        return self.definition.process.name

    @property
    def found(self) -> bool:
        """Tell whether every output has its version already."""
        return all(one.found is not None for one in self.outputs)

    @property
    def done(self) -> bool:
        """Tell whether what every output would become is published already."""
        return self.found and all(one.found == one.published for one in self.outputs)
