"""Shapes of requests about data quality and profiles."""

from typing import Any

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.create_shapes import LABEL, REFERENCE
from tests.standins.openmetadata.errors import Unreadable
from tests.standins.openmetadata.shapes import (
    Shape,
    anything,
    boolean,
    bounded_text,
    choice,
    date_time,
    entity_name,
    integer,
    list_of,
    matching_text,
    number,
    text,
    uuid,
)

_NAME = entity_name(2147483647)
_TEXTS = dict.fromkeys(("displayName", "description"), text)
_PARAMETER = Shape(
    {
        "name": text,
        **_TEXTS,
        "dataType": choice(*enums.PARAMETER_TYPES),
        "required": boolean,
        "optionValues": anything,
        "validationRule": anything,
    }
)
DEFINITION = Shape(
    {
        "name": _NAME,
        **_TEXTS,
        "owners": list_of(REFERENCE),
        "entityType": choice("TABLE", "COLUMN"),
        "testPlatforms": list_of(choice(*enums.TEST_PLATFORMS)),
        "supportedDataTypes": list_of(choice(*enums.COLUMN_TYPES)),
        "provider": choice("system", "user", "automation"),
        "parameterDefinition": list_of(_PARAMETER),
        "dataQualityDimension": choice(*enums.QUALITY_DIMENSIONS),
        **dict.fromkeys(("supportedServices", "domains"), list_of(text)),
        **dict.fromkeys(("sqlExpression", "validatorClass"), text),
    },
    required="name entityType",
)
#: Pattern of entity links, as in the server's message.
LINK_PATTERN = r"(?U)^<#E::\w+::(?:[^:<>|]|:[^:<>|])+(?:::(?:[^:<>|]|:[^:<>|])+)*>$"
CASE = Shape(
    {
        "name": _NAME,
        **_TEXTS,
        "testDefinition": bounded_text(1, 3072),
        "entityLink": matching_text(LINK_PATTERN),
        "parameterValues": list_of(Shape({"name": text, "value": text})),
        **dict.fromkeys(("owners", "reviewers"), list_of(REFERENCE)),
        **dict.fromkeys(("computePassedFailedRowCount", "useDynamicAssertion"), boolean),
        "tags": list_of(LABEL),
        "dimensionColumns": list_of(text),
        "topDimensions": integer,
    },
    required="name testDefinition entityLink",
)
RESULT = Shape(
    {
        "fqn": text,
        "timestamp": integer,
        "testCaseStatus": choice("Success", "Failed", "Aborted", "Queued"),
        **dict.fromkeys(("result", "sampleData"), text),
        "testResultValue": list_of(Shape(dict.fromkeys(("name", "value", "predictedValue"), text))),
        **dict.fromkeys(("passedRows", "failedRows"), integer),
        **dict.fromkeys(("passedRowsPercentage", "failedRowsPercentage", "maxBound", "minBound"), number),
        "incidentId": uuid,
        "dimensionResults": anything,
    },
    required="timestamp testCaseStatus",
)


def _bound(raw: Any, faults: list[str], key: str) -> Any:
    if isinstance(raw, (dict, list)):
        raise Unreadable
    return raw


_TABLE = Shape(
    {
        "timestamp": integer,
        **dict.fromkeys(("columnCount", "rowCount", "sizeInByte", "profileSample"), number),
        "createDateTime": date_time,
        "profileSampleType": choice("PERCENTAGE", "ROWS"),
        **dict.fromkeys(("customMetrics", "samplingMethodType"), anything),
    },
    required="timestamp",
)
_COLUMN = Shape(
    {
        "name": text,
        "timestamp": integer,
        **dict.fromkeys(enums.COLUMN_MEASURES, number),
        **dict.fromkeys(("min", "max"), _bound),
        **dict.fromkeys(("histogram", "customMetrics", "cardinalityDistribution"), anything),
    },
    required="name timestamp",
)
_SYSTEM = Shape(
    {"timestamp": integer, "operation": choice("UPDATE", "INSERT", "DELETE", "WRITE"), "rowsAffected": integer}
)
LAST_RUN = Shape(
    {
        "pipeline": REFERENCE,
        **dict.fromkeys(("serviceType", "scheduleInterval"), text),
        **dict.fromkeys(("startTime", "endTime", "lastRunTime"), integer),
        "lastRunStatus": choice("Successful", "Failed", "Pending", "Skipped", "Running"),
        "averageRunTime": number,
    },
    required="pipeline",
)
PROFILE = Shape(
    {"tableProfile": _TABLE, "columnProfile": list_of(_COLUMN), "systemProfile": list_of(_SYSTEM)},
    required="tableProfile",
)
