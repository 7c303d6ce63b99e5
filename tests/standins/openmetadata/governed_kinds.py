"""The kinds of what governs entities: what they refer to, and what is said of their types."""

from tests.standins.openmetadata import governed_shapes as shapes
from tests.standins.openmetadata.kinds import KINDS, Kind

#: Types of entities, which may have custom properties, and types of fields, which such properties are of.
TYPE = Kind(
    "type",
    "metadata/types",
    shapes.PROPERTY,
    tracked=("category", "nameSpace", "schema", "customProperties"),
    fields=frozenset(["customProperties"]),
    on_demand=("customProperties",),
    bulk=False,
    status=None,
    soft=False,
    asset=False,
)
GOVERNED = [TYPE]
EVERY = [*KINDS, *GOVERNED]
BY_NAME = {kind.name: kind for kind in EVERY}
