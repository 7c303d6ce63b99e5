"""The shapes of requests about data quality and profiles."""

from typing import Any

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.create_shapes import LABEL, REFERENCE
from tests.standins.openmetadata.errors import Unreadable
from tests.standins.openmetadata.shapes import (
    Shape,
    anything,
    choice,
    flag,
    listing,
    matching,
    moment,
    named,
    number,
    sized,
    text,
    uuid,
    whole,
)

_NAME = named(2147483647)
_TEXTS = dict.fromkeys(("displayName", "description"), text)
_PARAMETER = Shape(
    {
        "name": text,
        **_TEXTS,
        "dataType": choice(*enums.PARAMETER_TYPES),
        "required": flag,
        "optionValues": anything,
        "validationRule": anything,
    }
)
DEFINITION = Shape(
    {
        "name": _NAME,
        **_TEXTS,
        "owners": listing(REFERENCE),
        "entityType": choice("TABLE", "COLUMN"),
        "testPlatforms": listing(choice(*enums.TEST_PLATFORMS)),
        "supportedDataTypes": listing(choice(*enums.COLUMN_TYPES)),
        "provider": choice("system", "user", "automation"),
        "parameterDefinition": listing(_PARAMETER),
        "dataQualityDimension": choice(*enums.QUALITY_DIMENSIONS),
        **dict.fromkeys(("supportedServices", "domains"), listing(text)),
        **dict.fromkeys(("sqlExpression", "validatorClass"), text),
    },
    required="name entityType",
)
#: The pattern of links to entities, in the words of the server's own message.
LINK_PATTERN = r"(?U)^<#E::\w+::(?:[^:<>|]|:[^:<>|])+(?:::(?:[^:<>|]|:[^:<>|])+)*>$"
CASE = Shape(
    {
        "name": _NAME,
        **_TEXTS,
        "testDefinition": sized(1, 3072),
        "entityLink": matching(LINK_PATTERN),
        "parameterValues": listing(Shape({"name": text, "value": text})),
        **dict.fromkeys(("owners", "reviewers"), listing(REFERENCE)),
        **dict.fromkeys(("computePassedFailedRowCount", "useDynamicAssertion"), flag),
        "tags": listing(LABEL),
        "dimensionColumns": listing(text),
        "topDimensions": whole,
    },
    required="name testDefinition entityLink",
)
RESULT = Shape(
    {
        "fqn": text,
        "timestamp": whole,
        "testCaseStatus": choice("Success", "Failed", "Aborted", "Queued"),
        **dict.fromkeys(("result", "sampleData"), text),
        "testResultValue": listing(Shape(dict.fromkeys(("name", "value", "predictedValue"), text))),
        **dict.fromkeys(("passedRows", "failedRows"), whole),
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
        "timestamp": whole,
        **dict.fromkeys(("columnCount", "rowCount", "sizeInByte", "profileSample"), number),
        "createDateTime": moment,
        "profileSampleType": choice("PERCENTAGE", "ROWS"),
        **dict.fromkeys(("customMetrics", "samplingMethodType"), anything),
    },
    required="timestamp",
)
_COLUMN = Shape(
    {
        "name": text,
        "timestamp": whole,
        **dict.fromkeys(enums.COLUMN_MEASURES, number),
        **dict.fromkeys(("min", "max"), _bound),
        **dict.fromkeys(("histogram", "customMetrics", "cardinalityDistribution"), anything),
    },
    required="name timestamp",
)
_SYSTEM = Shape(
    {"timestamp": whole, "operation": choice("UPDATE", "INSERT", "DELETE", "WRITE"), "rowsAffected": whole}
)
PROFILE = Shape(
    {"tableProfile": _TABLE, "columnProfile": listing(_COLUMN), "systemProfile": listing(_SYSTEM)},
    required="tableProfile",
)
