"""The facets of the spec by entity and key, from the classes of the OpenLineage client."""

import importlib
import pkgutil
import types

from openlineage.client import generated
from openlineage.client.generated import base

#: Base class of the facets of each entity.
ENTITIES = {
    "run": base.RunFacet,
    "job": base.JobFacet,
    "dataset": base.DatasetFacet,
    "input": base.InputDatasetFacet,
    "output": base.OutputDatasetFacet,
}
#: Keys that cannot be derived from the class name.
_KEYS = {
    "SQLJobFacet": "sql",
    "DatasetVersionDatasetFacet": "version",
    "DatasourceDatasetFacet": "dataSource",
    "ParentRunFacet": "parent",
    "InputSubsetInputDatasetFacet": "subset",
    "OutputSubsetOutputDatasetFacet": "subset",
    "DataQualityAssertionsDatasetFacet": "dataQualityAssertions",
    "DataQualityMetricsInputDatasetFacet": "dataQualityMetrics",
}


def _modules() -> list[types.ModuleType]:
    names = sorted(module.name for module in pkgutil.iter_modules(generated.__path__))
    return [importlib.import_module(f"{generated.__name__}.{name}") for name in names]


def _key(facet_class: type, parent: type) -> str:
    name = facet_class.__name__
    short = name.removesuffix(parent.__name__)
    return _KEYS.get(name, short[0].lower() + short[1:])


def facet_classes(entity: str) -> dict[str, type]:
    """Facet classes of an entity by key."""
    parent = ENTITIES[entity]
    classes = (c for module in _modules() for c in vars(module).values() if isinstance(c, type))
    return {_key(c, parent): c for c in classes if parent in c.__bases__}
