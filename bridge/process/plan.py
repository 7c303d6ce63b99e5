"""What a run will read and write: every name, version and place resolved, before anything is written."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bridge.process.check_definition import CheckDefinition
from bridge.process.dataset_location import DatasetLocation
from bridge.process.definition import FILE_FORMATS, Input, Output, ProcessDefinition
from bridge.process.manifest import VERSION_FOLDER_PREFIX, DeliveryManifest, VersionManifest
from bridge.process.parameters import ParameterValue
from bridge.process.steps import PlannedStep

_UNSPEAKABLE = re.compile(r"\W")


class PlannedInput(NamedTuple):
    """An input, and what will be read of it."""

    input: Input
    address: DatasetLocation
    #: The version that is read, by its tag; None for what lies there now.
    version: str | None
    #: How it was found: published, latest, version, pin; live.
    resolved_by: str
    #: What tells this state of it from others; None where nothing does.
    fingerprint: str | None
    columns: Mapping[str, str] = {}
    rows: int | None = None
    manifest: VersionManifest | None = None
    delivery: DeliveryManifest | None = None

    @property
    def roots(self) -> list[str]:
        """Name the folders of its files; none where the place itself is read."""
        if self.manifest is None:
            return []
        wanted = self.input.partition
        return [one.path for one in self.manifest.roots if wanted is None or one.partition in {None, wanted}]


class PlannedOutput(NamedTuple):
    """An output, or a step that is written down, and where its new version will lie."""

    output: Output
    address: DatasetLocation
    key: str
    #: What the new version is called; systems with versions of their own call it otherwise.
    tag: str
    #: What is published now, by its tag; None when nothing is.
    published: str | None
    #: The version upon which the new one is built: what is appended to, merged into, or kept of other partitions.
    base_manifest: VersionManifest | None = None
    #: The version that has this key already, by its tag: nothing has to be made.
    existing_version: str | None = None
    #: Whether somebody rolled that version back: nobody but a person brings it back.
    was_rolled_back: bool = False
    checks: Sequence[CheckDefinition] = ()
    #: Whether it is a step that is written down.
    is_step: bool = False

    @property
    def folder(self) -> str:
        """Name the folder of the new version."""
        return f"{self.address.location.rstrip('/')}/{VERSION_FOLDER_PREFIX}{self.tag}"

    @property
    def view(self) -> str:
        """Name what was written for the SQL of checks: as the dataset is called, as far as SQL can say it."""
        return _UNSPEAKABLE.sub("_", self.output.dataset.rstrip("/").rpartition("/")[2])

    def path(self, folder: str) -> str | None:
        """Say where the new version lies; nowhere in particular, where it is a table of a database."""
        if self.output.format in FILE_FORMATS:
            return folder
        return self.address.location if self.output.format == "delta" else None


class Plan(NamedTuple):
    """All that a run will do."""

    definition: ProcessDefinition
    file: Path
    values: Mapping[str, ParameterValue]
    run_id: str
    key: str
    inputs: Sequence[PlannedInput]
    steps: Sequence[PlannedStep]
    outputs: Sequence[PlannedOutput]

    @property
    def step_checks(self) -> dict[str, list[CheckDefinition]]:
        """Give the checks of steps that are not written down."""
        names = {one.step.name for one in self.steps if not one.step.materialize}
        names -= {one.dataset for one in self.definition.outputs}
        found: dict[str, list[CheckDefinition]] = {}
        for check in self.definition.quality:
            if check.on in names:
                found.setdefault(check.on, []).append(check)
        return found

    def source_datasets(self, planned: PlannedOutput) -> list[DatasetLocation]:
        """Name the datasets that an output is made from: inputs, and steps that are written down."""
        reads = {one.step.name: one.reads for one in self.steps}
        known = {one.input.as_: one.address for one in self.inputs}
        known |= {one.output.from_: one.address for one in self.outputs if one.is_step}
        first = planned.output.from_
        waiting = list(reads.get(first, ())) if planned.is_step else [first]
        found: dict[DatasetLocation, None] = {}
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
    def all_outputs_exist(self) -> bool:
        """Tell whether every output has its version already."""
        return all(one.existing_version is not None for one in self.outputs)

    @property
    def is_up_to_date(self) -> bool:
        """Tell whether what every output would become is published already."""
        return self.all_outputs_exist and all(one.existing_version == one.published for one in self.outputs)
