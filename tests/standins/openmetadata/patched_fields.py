"""Valid properties per kind, as listed in the server's error for unknown ones."""

from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.names import split_words

_COMMON = split_words(
    "certification changeDescription children dataContract dataProducts deleted description displayName domains "
    "entityStatus experts extension followers fullyQualifiedName href id impersonatedBy incrementalChangeDescription "
    "lifeCycle name owners reviewers service serviceType sourceHash sourceUrl style tags updatedAt updatedBy usageSummary "
    "version votes"
)
_TABLE = split_words(
    "columns compressionCodec compressionEnabled compressionStrategy customMetrics dataModel database databaseSchema "
    "fileFormat joins location locationPath pipelineObservability processedLineage profile queries retentionPeriod "
    "sampleData schemaDefinition tableConstraints tablePartition tableProfilerConfig tableType testSuite"
)


def check_field(kind: Kind, name: str) -> None:
    """Reject unknown properties."""
    own_fields = (
        _TABLE
        if kind.name == "table"
        else [*kind.own, *kind.references, "parent", "database", "apiCollection", "pipelineStatus"]
    )
    valid = sorted({*_COMMON, *own_fields})
    if name not in valid:
        title = kind.name[0].upper() + kind.name[1:]
        raise ApiError(400, f"Invalid field '{name}' for {title}. Valid fields are: {', '.join(valid)}")
