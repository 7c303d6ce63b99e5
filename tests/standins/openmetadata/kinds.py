"""The kinds of entities: where they are served, what they sit in, and which of their properties are versioned."""

from dataclasses import dataclass, field
from typing import Any

from tests.standins.openmetadata import create_shapes, enums
from tests.standins.openmetadata.shapes import Shape

#: Properties that are kept beside the entity: references, labels and custom properties.
RELATIONS = ("owners", "tags", "domains", "dataProducts", "extension", "certification")
#: Properties that a client may list in `fields`, whatever the kind.
_ALWAYS = "owners tags followers domains dataProducts extension lifeCycle sourceHash votes certification usageSummary"


@dataclass(frozen=True)
class Kind:
    """One kind of entity."""

    name: str
    path: str
    shape: Shape
    #: The property that names the parent, and the kind of the parent.
    parent: str | None = None
    parent_kind: str | None = None
    #: Own properties whose change makes a version.
    tracked: tuple[str, ...] = ()
    #: Own properties whose change is stored and not mentioned.
    silent: tuple[str, ...] = ()
    #: What an entity has if a request does not say otherwise.
    defaults: dict[str, Any] = field(default_factory=dict)
    #: What a request has if it does not say otherwise; shown when the server quotes a request.
    request_defaults: dict[str, Any] = field(default_factory=dict)
    #: Empty relations that the answer to a creation shows.
    created: tuple[str, ...] = ("domains",)
    fields: frozenset[str] = frozenset()
    #: Own properties that a read shows only when it is asked for them.
    on_demand: tuple[str, ...] = ()
    bulk: bool = True
    #: What its `entityStatus` says, if it has one.
    status: str | None = "Unprocessed"
    #: Its lists of other entities, beside those that every kind may have.
    references: tuple[str, ...] = ()
    #: Relations that the answers to a PATCH and a DELETE show even when they are empty.
    whole: tuple[str, ...] = ("owners", "tags", "followers", "domains", "dataProducts", "votes")
    #: Empty relations that the answer to a PUT shows of what was there; those of a creation and the owners, if not said.
    replaced: tuple[str, ...] | None = None
    #: Whether it can be deleted so that it comes back; if not, it does not say whether it is deleted.
    soft: bool = True
    #: Whether it is something to be governed, not something that governs.
    asset: bool = True

    @property
    def is_service(self) -> bool:
        return self.path.startswith("services/")

    @property
    def shown_replaced(self) -> tuple[str, ...]:
        return (*self.created, "owners") if self.replaced is None else self.replaced

    @property
    def own(self) -> tuple[str, ...]:
        return self.tracked + self.silent


_BOTH: dict[str, list[Any]] = {"domains": [], "dataProducts": []}


def _service(name: str, types: tuple[str, ...] | list[str]) -> Kind:
    return Kind(
        name,
        f"services/{name}s",
        create_shapes.service(types),
        tracked=("connection",),
        created=(),
        fields=frozenset(_ALWAYS.split()) | {"pipelines"},
        bulk=False,
    )


def _asset(
    name: str,
    path: str,
    shape: Shape,
    parent: tuple[str, str],
    tracked: str,
    fields: str = "",
    **more: Any,
) -> Kind:
    silent = (*more.pop("silent", ()), "lifeCycle", "sourceHash")
    return Kind(
        name,
        path,
        shape,
        *parent,
        tracked=(*tracked.split(), "sourceUrl"),
        silent=silent,
        request_defaults=_BOTH | more.pop("request_defaults", {}),
        fields=frozenset(f"{_ALWAYS} {fields}".split()),
        **more,
    )


_TABLE_FIELDS = (
    "tableConstraints tablePartition customMetrics columns sampleData joins schemaDefinition dataModel testSuite profile "
    "tableProfilerConfig tableType retentionPeriod locationPath fileFormat pipelineObservability queries service"
)
KINDS = [
    _service("databaseService", enums.DATABASES),
    _service("pipelineService", enums.PIPELINES),
    _service("storageService", enums.STORES),
    _service("messagingService", enums.BROKERS),
    _service("apiService", enums.APIS),
    _service("mlmodelService", enums.MODEL_STORES),
    _asset(
        "database",
        "databases",
        create_shapes.DATABASE,
        ("service", "databaseService"),
        "retentionPeriod default",
        "databaseSchemas location",
        defaults={"default": False},
    ),
    _asset(
        "databaseSchema",
        "databaseSchemas",
        create_shapes.SCHEMA,
        ("database", "database"),
        "retentionPeriod",
        "tables",
        created=("owners", "domains"),
    ),
    _asset(
        "table",
        "tables",
        create_shapes.TABLE,
        ("databaseSchema", "databaseSchema"),
        "tableType columns dataModel locationPath tableConstraints tablePartition tableProfilerConfig schemaDefinition "
        "retentionPeriod fileFormat",
        _TABLE_FIELDS,
        defaults={"columns": [], "processedLineage": False},
        created=("owners", "domains"),
        silent=("processedLineage",),
    ),
    _asset(
        "container",
        "containers",
        create_shapes.CONTAINER,
        ("service", "storageService"),
        "dataModel prefix fileFormats fullPath retentionPeriod",
        "parent dataModel prefix size numberOfObjects fileFormats",
        silent=("numberOfObjects", "size"),
    ),
    _asset(
        "topic",
        "topics",
        create_shapes.TOPIC,
        ("service", "messagingService"),
        "messageSchema partitions cleanupPolicies replicationFactor maximumMessageSize minimumInSyncReplicas "
        "retentionTime retentionSize topicConfig",
        "messageSchema partitions cleanupPolicies sampleData topicConfig",
        defaults={"cleanupPolicies": [], "retentionSize": -1.0},
        request_defaults={"cleanupPolicies": [], "retentionSize": -1.0},
    ),
    _asset(
        "pipeline",
        "pipelines",
        create_shapes.PIPELINE,
        ("service", "pipelineService"),
        "concurrency pipelineLocation startDate tasks scheduleInterval state",
        "tasks pipelineStatus scheduleInterval state",
        on_demand=("tasks",),
    ),
    _asset(
        "apiCollection",
        "apiCollections",
        create_shapes.API_COLLECTION,
        ("service", "apiService"),
        "endpointURL",
        "apiEndpoints endpointURL",
    ),
    _asset(
        "apiEndpoint",
        "apiEndpoints",
        create_shapes.API_ENDPOINT,
        ("apiCollection", "apiCollection"),
        "endpointURL requestMethod requestSchema responseSchema",
        "requestSchema responseSchema endpointURL requestMethod",
        defaults={"requestMethod": "GET"},
    ),
    _asset(
        "mlmodel",
        "mlmodels",
        create_shapes.ML_MODEL,
        ("service", "mlmodelService"),
        "algorithm target dashboard server mlFeatures mlHyperParameters mlStore",
        "mlFeatures mlHyperParameters dashboard mlStore server target algorithm",
    ),
]
BY_NAME = {kind.name: kind for kind in KINDS}
