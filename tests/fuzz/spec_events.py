"""Events of every kind with every facet of the spec, drawn from the classes that its Python client has of them.

What a class holds is read from its type hints, so a newer client brings its facets along by itself.
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

_WORDS = (
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
    st.sampled_from(_WORDS), st.sampled_from(_WORDS), st.text(st.characters(exclude_categories=["Cs"]))
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
_made: dict[type, st.SearchStrategy[Any]] = {}


def _of_hint(hint: Any, name: str = "") -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return st.one_of(*(_of_hint(argument, name) for argument in sorted(arguments, key=_is_something)))
    if origin is list:
        return st.lists(_of_hint(arguments[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(_texts, _of_hint(arguments[1]), max_size=2)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    return _of_class(hint, name)


def _of_class(hint: Any, name: str) -> st.SearchStrategy[Any]:
    if hint is str and name in _BY_NAME:
        return _BY_NAME[name]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    return _PLAIN[hint] if hint in _PLAIN else instances(hint)


def _is_something(hint: Any) -> bool:
    return hint is not type(None)


def instances(of: type) -> st.SearchStrategy[Any]:
    """Draw instances of a class of the client, what is in them included."""
    if of not in _made:
        _made[of] = st.deferred(lambda: _build(of))
    return _made[of]


def _build(of: type) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(of)
    fields = [field for field in attr.fields(of) if field.init and not field.name.startswith("_")]
    drawn = {field.alias: _of_hint(hints[field.name], field.name) for field in fields}
    return st.fixed_dictionaries(drawn).map(lambda values: _valid(of, values)).filter(lambda made: made is not None)


def _valid(of: type, values: Json) -> Any:
    """Make an instance; None when the class says that these values do not go together."""
    try:
        return of(**values)
    except ValueError:
        return None


def _facets(entity: str) -> st.SearchStrategy[dict[str, Any]]:
    each = {key: instances(of) for key, of in facet_classes(entity).items()}
    few = st.lists(st.sampled_from(sorted(each)), max_size=4, unique=True)
    return few.flatmap(lambda keys: st.fixed_dictionaries({key: each[key] for key in keys}))


def _datasets(of: type, **sides: str) -> st.SearchStrategy[Any]:
    own = {name: _facets(entity) for name, entity in sides.items()}
    return st.builds(of, namespace=_BY_NAME["namespace"], name=_names, facets=_facets("dataset"), **own)


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


def _serialised(event: Any) -> bytes:
    return Serde.to_json(event).encode()


events: st.SearchStrategy[bytes] = st.one_of(_run_events, _run_events, _job_events, _dataset_events).map(_serialised)


def with_facet(entity: str, key: str) -> st.SearchStrategy[bytes]:
    """Draw an event that has this facet where it belongs."""
    facets = instances(facet_classes(entity)[key]).map(lambda facet: {key: facet})
    run, job = st.builds(base.Run, runId=_uuids), st.builds(base.Job, namespace=st.just("jobs"), name=_names)
    inputs = outputs = st.just([])
    named: Json = {"namespace": _BY_NAME["namespace"], "name": _names}
    if entity == "run":
        run = st.builds(base.Run, runId=_uuids, facets=facets)
    elif entity == "job":
        job = st.builds(base.Job, namespace=st.just("jobs"), name=_names, facets=facets)
    elif entity == "input":
        inputs = st.lists(st.builds(base.InputDataset, **named, inputFacets=facets), min_size=1, max_size=1)
    elif entity == "output":
        outputs = st.lists(st.builds(base.OutputDataset, **named, outputFacets=facets), min_size=1, max_size=1)
    else:
        described = st.builds(base.StaticDataset, **named, facets=facets)
        written = st.lists(st.builds(base.OutputDataset, **named, facets=facets), min_size=1, max_size=1)
        run_events = st.builds(base.RunEvent, run=run, job=job, outputs=written, **_common)
        return st.one_of(run_events, st.builds(base.DatasetEvent, dataset=described, **_common)).map(_serialised)
    return st.builds(base.RunEvent, run=run, job=job, inputs=inputs, outputs=outputs, **_common).map(_serialised)
