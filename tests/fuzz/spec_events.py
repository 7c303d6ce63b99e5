"""Events of every kind with every facet of the spec, drawn from the classes of the OpenLineage client.

Fields are derived from type hints, so a newer client adds its facets automatically.
"""

import enum
import types
import typing
from typing import Any, get_args, get_origin

import attr
from hypothesis import strategies as st
from openlineage.client.generated import base
from openlineage.client.serde import Serde

from tests.factories import PRODUCER, at, run_uuid
from tests.fuzz.spec_facets import facet_classes
from tests.stores import Json

_TEXTS = (
    "a",
    "b",
    "k",
    "v",
    "db",
    "TABLE",
    "DIRECT",
    "INDIRECT",
    "IDENTITY",
    "DATASET",
    "JOB",
    "pass",
    "fail",
    "ann@x",
)
_texts = st.one_of(
    st.sampled_from(_TEXTS), st.sampled_from(_TEXTS), st.text(st.characters(exclude_categories=["Cs"]))
)
_names = st.one_of(
    st.sampled_from(("a", "b", "s.a", "/w/x.db/a")), st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
)
_uuids = st.one_of(st.integers(1, 3).map(run_uuid), st.uuids().map(str))
_times = st.one_of(st.integers(0, 9).map(at), st.datetimes().map(lambda time: time.isoformat() + "Z"))
_links = st.sampled_from(("https://example.com/a", "s3://bucket/key", "git@example.com:x/y.git"))
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: _texts,
    int: st.one_of(st.integers(-3, 100), st.integers(-(1 << 70), 1 << 70)),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    Any: st.one_of(_texts, st.integers(), st.booleans(), st.lists(_texts, max_size=2)),
    object: _texts,
}
_BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "runId": _uuids,
    "eventTime": _times,
    "nominalStartTime": _times,
    "nominalEndTime": _times,
    "namespace": st.sampled_from(("db", "s3a://b", "file:/w/x.db")),
    "name": _names,
    "url": _links,
    "uri": _links,
    "externalQueryUrl": _links,
}
_instances: dict[type, st.SearchStrategy[Any]] = {}


def _from_hint(hint: Any, name: str = "") -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return st.one_of(*(_from_hint(argument, name) for argument in sorted(arguments, key=_is_not_none)))
    if origin is list:
        return st.lists(_from_hint(arguments[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(_texts, _from_hint(arguments[1]), max_size=2)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    return _from_class(hint, name)


def _from_class(hint: Any, name: str) -> st.SearchStrategy[Any]:
    if hint is str and name in _BY_NAME:
        return _BY_NAME[name]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    return _PLAIN[hint] if hint in _PLAIN else instances(hint)


def _is_not_none(hint: Any) -> bool:
    return hint is not type(None)


def instances(class_: type) -> st.SearchStrategy[Any]:
    """Draw instances of a class of the client, including nested ones."""
    if class_ not in _instances:
        _instances[class_] = st.deferred(lambda: _build(class_))
    return _instances[class_]


def _build(class_: type) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(class_)
    fields = [field for field in attr.fields(class_) if field.init and not field.name.startswith("_")]
    drawn = {field.alias: _from_hint(hints[field.name], field.name) for field in fields}
    return (
        st.fixed_dictionaries(drawn)
        .map(lambda values: _valid(class_, values))
        .filter(lambda instance: instance is not None)
    )


def _valid(class_: type, values: Json) -> Any:
    """Create an instance; None if the class rejects these values."""
    try:
        return class_(**values)
    except ValueError:
        return None


def _facets(entity: str) -> st.SearchStrategy[dict[str, Any]]:
    strategies = {key: instances(class_) for key, class_ in facet_classes(entity).items()}
    few = st.lists(st.sampled_from(sorted(strategies)), max_size=4, unique=True)
    return few.flatmap(lambda keys: st.fixed_dictionaries({key: strategies[key] for key in keys}))


def _datasets(class_: type, **sides: str) -> st.SearchStrategy[Any]:
    own = {name: _facets(entity) for name, entity in sides.items()}
    return st.builds(class_, namespace=_BY_NAME["namespace"], name=_names, facets=_facets("dataset"), **own)


_jobs = st.builds(base.Job, namespace=st.just("jobs"), name=_names, facets=_facets("job"))
_common = {"eventTime": _times, "producer": st.just(PRODUCER)}
_sides = {
    "inputs": st.lists(_datasets(base.InputDataset, inputFacets="input"), max_size=2),
    "outputs": st.lists(_datasets(base.OutputDataset, outputFacets="output"), max_size=2),
}
_runs = st.builds(base.Run, runId=_uuids, facets=_facets("run"))
_run_events = st.builds(
    base.RunEvent, run=_runs, job=_jobs, eventType=st.sampled_from(base.EventType), **_common, **_sides
)
_job_events = st.builds(base.JobEvent, job=_jobs, **_common, **_sides)
_dataset_events = st.builds(base.DatasetEvent, dataset=_datasets(base.StaticDataset), **_common)


def _serialize(event: Any) -> bytes:
    return Serde.to_json(event).encode()


events: st.SearchStrategy[bytes] = st.one_of(_run_events, _run_events, _job_events, _dataset_events).map(_serialize)


def events_with_facet(entity: str, key: str) -> st.SearchStrategy[bytes]:
    """Draw an event with this facet at its entity."""
    facets = instances(facet_classes(entity)[key]).map(lambda facet: {key: facet})
    run, job = st.builds(base.Run, runId=_uuids), st.builds(base.Job, namespace=st.just("jobs"), name=_names)
    inputs = outputs = st.just([])
    name: Json = {"namespace": _BY_NAME["namespace"], "name": _names}
    if entity == "run":
        run = st.builds(base.Run, runId=_uuids, facets=facets)
    elif entity == "job":
        job = st.builds(base.Job, namespace=st.just("jobs"), name=_names, facets=facets)
    elif entity == "input":
        inputs = st.lists(st.builds(base.InputDataset, **name, inputFacets=facets), min_size=1, max_size=1)
    elif entity == "output":
        outputs = st.lists(st.builds(base.OutputDataset, **name, outputFacets=facets), min_size=1, max_size=1)
    else:
        static_dataset = st.builds(base.StaticDataset, **name, facets=facets)
        outputs_ = st.lists(st.builds(base.OutputDataset, **name, facets=facets), min_size=1, max_size=1)
        run_events = st.builds(base.RunEvent, run=run, job=job, outputs=outputs_, **_common)
        return st.one_of(run_events, st.builds(base.DatasetEvent, dataset=static_dataset, **_common)).map(_serialize)
    return st.builds(base.RunEvent, run=run, job=job, inputs=inputs, outputs=outputs, **_common).map(_serialize)
