"""The shapes of the requests about what governs entities."""

from tests.standins.openmetadata.creates import REFERENCE
from tests.standins.openmetadata.shapes import Reader, Shape, anything, matching, text

_PROPERTY_NAME = matching("^[A-Za-z0-9][A-Za-z0-9 _\\-.,;%#@!'(){}\\[\\]|=+?`]*$")
_PROPERTY: dict[str, Reader] = {
    "name": _PROPERTY_NAME,
    "displayName": text,
    "description": text,
    "propertyType": REFERENCE,
    "customPropertyConfig": Shape({"config": anything}),
}
PROPERTY = Shape(_PROPERTY, required="name description propertyType")
