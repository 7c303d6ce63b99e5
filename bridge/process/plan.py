"""Run plan: inputs, steps and outputs with every name, version and location resolved."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridge.process.check_definition import CheckDefinition
from bridge.process.dataset_location import DatasetLocation
from bridge.process.definition import FILE_FORMATS, Input, Output, ProcessDefinition
from bridge.process.manifest import VERSION_FOLDER_PREFIX, DeliveryManifest, VersionManifest
from bridge.process.parameters import ParameterValue
from bridge.process.steps import PlannedStep
from bridge.versions.metadata import FAILED_CHECKS, PASSED_CHECKS
from bridge.versions.results import ResolvedVersion


class PlannedInput(NamedTuple):
    """A resolved input."""

    input: Input
    location: DatasetLocation
    #: Tag of the version to read; None for the current content.
    version: str | None
    #: How the version was resolved: published, latest, version, pin or live.
    resolved_by: str
    #: Changes whenever the content does; None if changes cannot be detected.
    fingerprint: str | None
    columns: Mapping[str, str] = {}
    rows: int | None = None
    manifest: VersionManifest | None = None
    delivery: DeliveryManifest | None = None

    @property
    def roots(self) -> list[str]:
        """Folders of the input's files. The list is empty if the location itself is read."""
        if self.manifest is None:
            return []
        partition = self.input.partition
        return [root.path for root in self.manifest.roots if partition is None or root.partition in {None, partition}]


class PlannedOutput(NamedTuple):
    """An output, or a materialized step, and the location of its new version."""

    output: Output
    location: DatasetLocation
    key: str
    #: Tag of the new version; table formats assign their own.
    tag: str
    #: Tag of the published version, if any.
    published_tag: str | None
    #: Version to append to or merge into, or whose other partitions are retained.
    base_manifest: VersionManifest | None = None
    #: Existing version with this key, which makes writing unnecessary.
    existing: ResolvedVersion | None = None
    #: True if the existing version was rolled back. A run does not publish such a version again.
    was_rolled_back: bool = False
    checks: Sequence[CheckDefinition] = ()
    #: Whether this is a materialized step, not an output of the process file.
    is_step_output: bool = False

    @property
    def existing_version(self) -> str | None:
        """Tag of the existing version, if any."""
        return self.existing.tag if self.existing else None

    @property
    def folder(self) -> str:
        """Folder of the new version."""
        return self._version_folder(self.tag)

    @property
    def existing_folder(self) -> str | None:
        """Folder of the existing version, or None if there is none or if it is a table."""
        if self.existing_version is None or self.output.format not in FILE_FORMATS:
            return None
        return self._version_folder(self.existing_version)

    def _version_folder(self, tag: str) -> str:
        return f"{self.location.path_or_table.rstrip('/')}/{VERSION_FOLDER_PREFIX}{tag}"

    def path(self, folder: str) -> str | None:
        """Return the path of the new version, or None for a catalog or database table."""
        if self.output.format in FILE_FORMATS:
            return folder
        return self.location.path_or_table if self.output.format == "delta" else None


class Plan(NamedTuple):
    """Everything a run will do."""

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
        """Checks of steps that are not materialized."""
        step_names = {planned_step.step.name for planned_step in self.steps if not planned_step.step.materialize}
        # If a step and an output have the same name, the check applies to the output.
        step_names -= {output.dataset for output in self.definition.outputs}
        checks_by_step: dict[str, list[CheckDefinition]] = {}
        for check in self.definition.quality:
            if check.on in step_names:
                checks_by_step.setdefault(check.on, []).append(check)
        return checks_by_step

    def source_datasets(self, planned_output: PlannedOutput) -> list[DatasetLocation]:
        """Return the inputs and materialized steps that an output derives from."""
        reads_by_step = {planned_step.step.name: planned_step.reads for planned_step in self.steps}
        locations_by_view = {planned_input.input.as_: planned_input.location for planned_input in self.inputs}
        for step_output in self.outputs:
            if step_output.is_step_output:
                locations_by_view[step_output.output.from_] = step_output.location
        view = planned_output.output.from_
        # The view of a materialized step is the output itself, so the search starts with the views that it reads.
        pending = list(reads_by_step.get(view, ())) if planned_output.is_step_output else [view]
        sources: set[DatasetLocation] = set()
        visited: set[str] = set()
        while pending:
            name = pending.pop()
            if name in locations_by_view:
                sources.add(locations_by_view[name])
            elif name not in visited:
                visited.add(name)
                pending += reads_by_step.get(name, ())
        return sorted(sources)

    @property
    def name(self) -> str:
        return self.definition.process.name

    @property
    def all_outputs_exist(self) -> bool:
        return all(planned_output.existing_version is not None for planned_output in self.outputs)

    @property
    def is_up_to_date(self) -> bool:
        """True if every output is already published."""
        return self.all_outputs_exist and all(
            planned_output.existing_version == planned_output.published_tag for planned_output in self.outputs
        )

    @property
    def checks_hash(self) -> str | None:
        """Hash of the checks, which is stored with the versions that passed them; None if there are no checks."""
        checks = [check.model_dump(mode="json", exclude_none=True) for check in self.definition.quality]
        return hashlib.sha256(msgspec.json.encode(checks, order="sorted")).hexdigest()[:16] if checks else None

    @property
    def has_unchecked_outputs(self) -> bool:
        """True if the checks have changed since an existing version passed them, or if a version failed them."""
        metadata = [planned_output.existing.metadata for planned_output in self.outputs if planned_output.existing]
        return any(
            entry.get(PASSED_CHECKS, {}).get(self.name) != self.checks_hash
            or self.name in entry.get(FAILED_CHECKS, {})
            for entry in metadata
        )

    def check_metadata(self, failures: Sequence[str] = (), *, has_passed: bool = True) -> dict[str, dict[str, Any]]:
        """Return the metadata patch that records the conclusion of the checks on a version."""
        passed_hash = self.checks_hash if has_passed else None
        return {PASSED_CHECKS: {self.name: passed_hash}, FAILED_CHECKS: {self.name: list(failures) or None}}
