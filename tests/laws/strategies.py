"""Events that contradict each other in every way that the laws resolve, equal times included."""

from hypothesis import strategies as st

from tests import factories as make

NAMES = ("a", "b", "c", "wh/x.db/t")
JOBS = ("app", "app.step", "other")
SECONDS = st.sampled_from((0, 0, 1, 2, 3))
VARIANTS = st.sampled_from((1, 2))

_names = st.sampled_from(NAMES)


def _optional(**facets: st.SearchStrategy[make.Json]) -> st.SearchStrategy[make.Json]:
    return st.fixed_dictionaries({}, optional=facets)


_transformation = st.builds(
    make.transformation,
    st.sampled_from(("DIRECT", "INDIRECT")),
    st.sampled_from(("IDENTITY", "FILTER", "JOIN")),
    masking=st.booleans(),
    description=st.sampled_from(("", "x")),
)
_fields = st.lists(
    st.builds(make.field, _names, st.sampled_from(("k", "v")), _transformation), min_size=1, max_size=2
)
_source = st.builds(
    lambda name, column, transformation: {
        "type": "DATASET",
        "namespace": "db",
        "name": name,
        **column,
        "transformations": [transformation],
    },
    _names,
    st.sampled_from(({}, {"field": "k"})),
    _transformation,
)
_entry_fields = st.dictionaries(
    st.sampled_from(("k", "v")),
    st.fixed_dictionaries({"inputs": st.lists(_source, min_size=1, max_size=2)}),
    max_size=2,
)
_entry = st.one_of(
    st.builds(
        lambda name, inputs, fields: {
            "type": "DATASET",
            "namespace": "db",
            "name": name,
            "inputs": inputs,
            "fields": fields,
        },
        _names,
        st.lists(_source, max_size=2),
        _entry_fields,
    ),
    st.builds(lambda inputs: {"type": "JOB", "inputs": inputs}, st.lists(_source, min_size=1, max_size=1)),
)
_job_lineage = st.lists(_entry, min_size=1, max_size=2).map(lambda entries: make.facet(entries=entries))
_dataset_lineage = st.builds(
    lambda inputs, fields: make.facet(inputs=inputs, fields=fields), st.lists(_source, max_size=2), _entry_fields
)

_dataset_facets = {
    "schema": st.one_of(
        st.sampled_from(
            (
                make.schema("k"),
                make.schema("k", "v"),
                make.schema("k", v="described"),
                make.facet(fields=[]),
                make.DELETED,
            )
        )
    ),
    "documentation": st.one_of(VARIANTS.map(lambda n: make.facet(description=f"text {n}")), st.just(make.DELETED)),
    "ownership": VARIANTS.map(lambda n: make.facet(owners=[{"name": f"team {n}", "type": "team"}])),
    "symlinks": st.one_of(
        st.builds(make.symlinks, _names, kind=st.sampled_from(("TABLE", "LOCATION"))), st.just(make.DELETED)
    ),
    "lifecycleStateChange": st.one_of(
        st.sampled_from(("DROP", "CREATE", "ALTER", "TRUNCATE")).map(make.lifecycle),
        _names.map(lambda name: make.lifecycle("RENAME", name)),
    ),
    "storage": VARIANTS.map(lambda n: make.facet(storageLayer="x", fileFormat=f"format{n}")),
    "tags": st.one_of(VARIANTS.map(lambda n: make.facet(tags=[{"key": f"tag{n}"}])), st.just(make.DELETED)),
    "version": VARIANTS.map(lambda n: make.facet(datasetVersion=str(n))),
    "columnLineage": st.one_of(
        st.builds(
            make.columns,
            st.dictionaries(st.sampled_from(("k", "v")), _fields, max_size=2),
            st.one_of(st.none(), _fields),
        ),
        st.just(make.DELETED),
    ),
    "dataQualityAssertions": st.booleans().map(
        lambda ok: make.facet(assertions=[{"assertion": "not_null", "success": ok, "column": "k"}])
    ),
    "custom": VARIANTS.map(lambda n: make.facet(any=n)),
    "lineageBridge_path": VARIANTS.map(lambda n: make.facet(path=f"/p/{n}")),
    "lineageBridge_registration": st.builds(
        make.registration, st.sampled_from(("PENDING", "APPROVED", "REJECTED")), category=VARIANTS.map(str)
    ),
}
_statistics = VARIANTS.map(lambda n: make.facet(rowCount=n, size=n * 10))


def _datasets(kind: str, **side_facets: st.SearchStrategy[make.Json]) -> st.SearchStrategy[make.Json]:
    def build(name: str, facets: make.Json, side_values: make.Json) -> make.Json:
        return {"namespace": "db", "name": name, "facets": facets, f"{kind}Facets": side_values}

    return st.builds(build, _names, _optional(**_dataset_facets), _optional(**side_facets))


_inputs = st.lists(_datasets("input", inputStatistics=_statistics, subset=st.just(make.facet(x=1))), max_size=2)
_keys = st.one_of(VARIANTS.map(lambda n: make.facet(key=f"k{n}")), st.just(make.DELETED))
_outputs = st.lists(
    _datasets(
        "output",
        outputStatistics=_statistics,
        subset=st.just(make.facet(y=1)),
        lineageBridge_idempotencyKey=_keys,
    ),
    max_size=2,
)

_job_facets = _optional(
    jobType=st.sampled_from(
        (
            make.spark_type(),
            make.spark_type("APPLICATION"),
            make.facet(
                integration="X", processingType="BATCH", emissionPattern={"eventContentMode": "COMPLETE_SNAPSHOT"}
            ),
        )
    ),
    documentation=VARIANTS.map(lambda n: make.facet(description=f"job {n}")),
    lineage=_job_lineage,
    lineageBridge_boxes=st.lists(st.sampled_from(JOBS), max_size=2).map(lambda names: make.facet(boxes=names)),
    lineageBridge_note=VARIANTS.map(lambda n: make.facet(note=n)),
)
_run_facets = _optional(
    parent=st.builds(
        make.parent,
        st.sampled_from((1, 2, 3)),
        st.sampled_from(JOBS),
        root=st.one_of(st.none(), st.just((9, "root"))),
    ),
    nominalTime=VARIANTS.map(lambda n: make.facet(nominalStartTime=make.at(n))),
    test=st.sampled_from(("pass", "fail")).map(lambda s: make.facet(tests=[{"name": "t", "status": s}])),
    jobDependencies=VARIANTS.map(
        lambda n: make.facet(
            upstream=[{"job": {"namespace": "jobs", "name": "other"}, "status_trigger_rule": f"rule {n}"}]
        )
    ),
    custom=VARIANTS.map(lambda n: make.facet(any=n)),
)

run_events = st.builds(
    make.run_event,
    st.sampled_from(("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER")),
    SECONDS,
    run=st.sampled_from((1, 2, 3)),
    job=st.sampled_from(JOBS),
    inputs=_inputs,
    outputs=_outputs,
    run_facets=_run_facets,
    job_facets=_job_facets,
)
job_events = st.builds(
    lambda second, job, inputs, outputs, facets: make.job_event(
        second, job=job, inputs=inputs, outputs=outputs, **facets
    ),
    SECONDS,
    st.sampled_from(JOBS),
    _inputs,
    _outputs,
    _job_facets,
)
dataset_events = st.builds(
    make.dataset_event,
    SECONDS,
    st.builds(
        lambda name, facets: {"namespace": "db", "name": name, "facets": facets},
        _names,
        _optional(**_dataset_facets, lineage=_dataset_lineage),
    ),
)
events = st.one_of(run_events, run_events, job_events, dataset_events)
