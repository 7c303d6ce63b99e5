"""The facets of the spec by entity and key, found among the classes of its Python client."""

import importlib
import pkgutil
import types

from openlineage.client import generated
from openlineage.client.generated import base

#: The facets of each entity have a class in common.
ENTITIES = {
    "run": base.RunFacet,
    "job": base.JobFacet,
    "dataset": base.DatasetFacet,
    "input": base.InputDatasetFacet,
    "output": base.OutputDatasetFacet,
}
#: Keys that do not follow from the name of their class.
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
    """Find the facets of an entity by their keys."""
    parent = ENTITIES[entity]
    found = (c for module in _modules() for c in vars(module).values() if isinstance(c, type))
    return {_key(c, parent): c for c in found if parent in c.__bases__}
