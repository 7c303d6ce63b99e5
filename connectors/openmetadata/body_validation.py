"""Validates request bodies with the models of openmetadata-ingestion."""

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock

from pydantic import BaseModel, ValidationError

from connectors.errors import MissingDependency

#: The model of each collection, relative to `metadata.generated.schema`.
_MODELS = {
    "services/databaseServices": "api.services.createDatabaseService.CreateDatabaseServiceRequest",
    "services/storageServices": "api.services.createStorageService.CreateStorageServiceRequest",
    "services/messagingServices": "api.services.createMessagingService.CreateMessagingServiceRequest",
    "services/apiServices": "api.services.createApiService.CreateApiServiceRequest",
    "services/mlmodelServices": "api.services.createMlModelService.CreateMlModelServiceRequest",
    "services/pipelineServices": "api.services.createPipelineService.CreatePipelineServiceRequest",
    "databases": "api.data.createDatabase.CreateDatabaseRequest",
    "databaseSchemas": "api.data.createDatabaseSchema.CreateDatabaseSchemaRequest",
    "tables": "api.data.createTable.CreateTableRequest",
    "containers": "api.data.createContainer.CreateContainerRequest",
    "topics": "api.data.createTopic.CreateTopicRequest",
    "apiCollections": "api.data.createAPICollection.CreateAPICollectionRequest",
    "apiEndpoints": "api.data.createAPIEndpoint.CreateAPIEndpointRequest",
    "mlmodels": "api.data.createMlModel.CreateMlModelRequest",
    "pipelines": "api.data.createPipeline.CreatePipelineRequest",
    "lineage": "api.lineage.addLineage.AddLineageRequest",
    "pipelineStatus": "entity.data.pipeline.PipelineStatus",
    "dataQuality/testDefinitions": "api.tests.createTestDefinition.CreateTestDefinitionRequest",
    "dataQuality/testCases": "api.tests.createTestCase.CreateTestCaseRequest",
    "testCaseResult": "api.tests.createTestCaseResult.CreateTestCaseResult",
    "classifications": "api.classification.createClassification.CreateClassificationRequest",
    "tags": "api.classification.createTag.CreateTagRequest",
    "glossaries": "api.data.createGlossary.CreateGlossaryRequest",
    "glossaryTerms": "api.data.createGlossaryTerm.CreateGlossaryTermRequest",
    "domains": "api.domains.createDomain.CreateDomainRequest",
    "dataProducts": "api.domains.createDataProduct.CreateDataProductRequest",
    "teams": "api.teams.createTeam.CreateTeamRequest",
    "roles": "api.teams.createRole.CreateRoleRequest",
    "policies": "api.policies.createPolicy.CreatePolicyRequest",
    "tableProfile": "api.data.createTableProfile.CreateTableProfileRequest",
    "pipelineObservability": "type.pipelineObservability.PipelineObservability",
    "dataContracts": "api.data.createDataContract.CreateDataContractRequest",
}
#: Collections whose bodies are validated; besides entities: `lineage` (one edge), `pipelineStatus` (one status),
#: `testCaseResult` (one result), `tableProfile` (the profile of a table and its columns) and `pipelineObservability`
#: (the last run of a pipeline).
VALIDATED_COLLECTIONS = frozenset(_MODELS)
_PACKAGE = "metadata"
_RENAMING_MODULE = "metadata.ingestion.models.custom_pydantic"
_MAX_CHARACTERS = 200
_import_lock = RLock()


@cache
def is_available() -> bool:
    """Return whether the models are installed."""
    try:
        _model_class("databases")
    except MissingDependency:
        return False
    return True


def validation_error(collection: str, body: object) -> str | None:
    """Validate a body; returns a description of the first problem, or None if the body is valid."""
    try:
        _model_class(collection).model_validate(body)
    except ValidationError as error:
        return _error_text(error)
    return None


def validate(collection: str, body: object) -> str | None:
    """Validate a body like `validation_error`, but accept any body if there is no model or none is installed."""
    if collection in VALIDATED_COLLECTIONS and is_available():
        return validation_error(collection, body)
    return None


def _error_text(error: ValidationError) -> str:
    first, *more_errors = error.errors(include_url=False, include_context=False)
    field = ".".join(map(str, first["loc"])) or "the body"
    input_excerpt = "" if first["type"] == "missing" else f": {first['input']!r:.80}"
    reason = "not one of its values" if first["type"] == "enum" else first["msg"][:_MAX_CHARACTERS]
    suffix = f" (and {len(more_errors)} more)" if more_errors else ""
    return f"{field}: {reason}{input_excerpt}{suffix}"


@cache
def _model_class(collection: str) -> type[BaseModel]:
    module, _, name = f"{_PACKAGE}.generated.schema.{_MODELS[collection]}".rpartition(".")
    with _import_lock:
        try:
            _register_bare_package()
            model: type[BaseModel] = getattr(import_module(module), name)
            model.model_rebuild()  # otherwise built on first use, which is not safe in several threads at once
        except ImportError as error:
            raise MissingDependency(
                f"request validation needs openmetadata-ingestion ({error}): "
                "pip install 'lineage-bridge[openmetadata]'"
            ) from error
    return model


def _register_bare_package() -> None:
    """Register the `metadata` package without running its `__init__`, unless it has already been imported."""
    if _PACKAGE in sys.modules:
        return
    spec = find_spec(_PACKAGE)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"no package named {_PACKAGE}")
    sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        custom_pydantic = import_module(_RENAMING_MODULE)
    except ImportError:
        del sys.modules[_PACKAGE]  # another package with the same name
        raise
    vars(custom_pydantic)["transform_entity_names"] = lambda entity, model: entity  # noqa: ARG005 - called by these names
