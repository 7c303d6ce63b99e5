"""Describes versions that an earlier run wrote, so that changed checks can be evaluated on them."""

import msgspec

from bridge.errors import JobFailed
from bridge.process.manifest import MANIFEST_NAME, VersionManifest, decode_version_manifest, without_extended_tag
from bridge.process.output_writer import WriteResult
from bridge.process.plan import PlannedOutput
from connectors.spark.file_system import FileSystems


def existing_result(planned_output: PlannedOutput, file_systems: FileSystems) -> WriteResult:
    """Return the result of the run that wrote the existing version. Raises JobFailed if the files were deleted."""
    existing = planned_output.existing
    if existing is None:
        raise ValueError(f"output {planned_output.output.dataset} has no existing version")
    output, folder = planned_output.output, planned_output.existing_folder
    if folder is None:
        manifest = VersionManifest(existing.tag, planned_output.key, output.format, [], {}, options=output.options)
    else:
        content = read_existing_manifest(planned_output, folder, file_systems)
        manifest = decode_version_manifest(content, f"{folder}/{MANIFEST_NAME}")
    return WriteResult(
        planned_output,
        manifest,
        folder or planned_output.location.path_or_table,
        files=existing.files or 0,
        bytes=existing.bytes or 0,
        rows=existing.rows or 0,
        version=existing.tag,
    )


def with_written_rows_only(result: WriteResult) -> WriteResult:
    """Restrict the version to the rows that its run wrote, which are those that most checks cover.

    In a table, and in a version that was rewritten completely, these rows cannot be told from others.
    """
    manifest = result.manifest
    process_key = without_extended_tag(result.planned_output.key)
    written_roots = [root for root in manifest.roots if without_extended_tag(root.key) == process_key]
    return result._replace(manifest=msgspec.structs.replace(manifest, roots=written_roots or manifest.roots))


def read_existing_manifest(planned_output: PlannedOutput, folder: str, file_systems: FileSystems) -> bytes:
    """Read the manifest of an existing version. Raises JobFailed if its folder was deleted."""
    content = file_systems.for_path(folder).read(f"{folder}/{MANIFEST_NAME}")
    if content is None:
        raise JobFailed(
            f"outputs.{planned_output.output.dataset}: the folder {folder} of the existing version was deleted: "
            "--rerun creates a new version"
        )
    return content
