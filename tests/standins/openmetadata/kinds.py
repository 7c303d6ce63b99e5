"""Kinds of entities: paths, parents, and which properties are versioned."""

from dataclasses import dataclass, field
from typing import Any

from tests.standins.openmetadata import create_shapes, enums
from tests.standins.openmetadata.shapes import Shape

#: References, labels and custom properties, which the server stores separately.
RELATIONS = ("owners", "tags", "domains", "dataProducts", "extension", "certification")
#: Valid values of `fields` for all kinds.
_ALWAYS = "owners tags followers domains dataProducts extension lifeCycle sourceHash votes certification usageSummary"


@dataclass(frozen=True)
class Kind:
    """A kind of entity."""

    name: str
    path: str
    shape: Shape
    #: Property that names the parent, and the kind of the parent.
    parent: str | None = None
    parent_kind: str | None = None
    #: Own properties whose change creates a version.
    tracked: tuple[str, ...] = ()
    #: Own properties whose change is stored, but creates no version.
    silent: tuple[str, ...] = ()
    #: Default values of an entity.
    defaults: dict[str, Any] = field(default_factory=dict)
    #: Default values of a request, shown when the server quotes the request.
    request_defaults: dict[str, Any] = field(default_factory=dict)
    #: Relations that the response to a creation shows even if empty.
    empty_on_create: tuple[str, ...] = ("domains",)
    fields: frozenset[str] = frozenset()
    #: Own properties that reads show only on request.
    on_demand: tuple[str, ...] = ()
    bulk: bool = True
    #: Initial `entityStatus`, if the kind has one.
    status: str | None = "Unprocessed"
    #: Lists of references, in addition to those of all kinds.
    references: tuple[str, ...] = ()
    #: Relations that responses to PATCH and DELETE show even if empty.
    always_shown: tuple[str, ...] = ("owners", "tags", "followers", "domains", "dataProducts", "votes")
    #: Relations that the response to a replacing PUT shows even if empty; default: those of a creation and owners.
    empty_on_replace: tuple[str, ...] | None = None
    #: Whether soft deletion is supported; if not, `deleted` is not shown.
    soft: bool = True
    #: Whether it is a data asset, as opposed to a governance entity.
    asset: bool = True

    @property
    def is_service(self) -> bool:
        return self.path.startswith("services/")

    @property
    def shown_on_replace(self) -> tuple[str, ...]:
        return (*self.empty_on_create, "owners") if self.empty_on_replace is None else self.empty_on_replace

    @property
    def own(self) -> tuple[str, ...]:
        return self.tracked + self.silent


_REFERENCE_DEFAULTS: dict[str, list[Any]] = {"domains": [], "dataProducts": []}


def _service(name: str, types: tuple[str, ...] | list[str]) -> Kind:
    return Kind(
        name,
        f"services/{name}s",
        create_shapes.service(types),
        tracked=("connection",),
        empty_on_create=(),
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
    **options: Any,
) -> Kind:
    silent = (*options.pop("silent", ()), "lifeCycle", "sourceHash")
    return Kind(
        name,
        path,
        shape,
        *parent,
        tracked=(*tracked.split(), "sourceUrl"),
        silent=silent,
        request_defaults=_REFERENCE_DEFAULTS | options.pop("request_defaults", {}),
        fields=frozenset(f"{_ALWAYS} {fields}".split()),
        **options,
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
        empty_on_create=("owners", "domains"),
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
        empty_on_create=("owners", "domains"),
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
