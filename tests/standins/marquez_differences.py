"""Where the stand-in for Marquez answers otherwise than was recorded, each with the reason."""

_SEARCH = "search is not served"
_STATS = "figures are not served"
_UPSTREAM = "runs upstream of a run are not served"
_GRAPHQL = "GraphQL is not served"
_RACE = "8 equal events at once into an empty database: which two win is a matter of time"
_ALL_FIRST = "of 8 runs at once some made a version of their own of what each was the first to read"

#: Exchanges that differ, by file and name.
KNOWN: dict[str, dict[str, str]] = {
    "01-intake": {"healthcheck": "the port of the administrator is not served"},
    "03-model": {
        "run_create_noid": "the server makes the id up",
        **dict.fromkeys(("search", "search_filter", "search_blank"), _SEARCH),
        **dict.fromkeys(
            ("stats_lineage-events", "stats_jobs", "stats_datasets", "stats_sources", "stats_week"), _STATS
        ),
    },
    "04-graphs": {
        **dict.fromkeys(("up_report", "up_load", "up_unknown", "up_none", "up_depth0", "up_all_produced"), _UPSTREAM),
        **dict.fromkeys(("graphql", "graphql_post"), _GRAPHQL),
    },
    "05-deletes": {"ds_deleted_search": _SEARCH},
    "06-errors-names": {
        "options": "OPTIONS is not served",
        "ns_long1025_job": "500 where every other bad namespace is 404: why is not known",
    },
    "07-concurrency": {
        **{f"first_same_{number}": _RACE for number in (1, 3, 5, 6, 7, 8)},
        **dict.fromkeys(("diff_runs_runs", "diff_runs_versions"), _ALL_FIRST),
        "race_graph": "of START and COMPLETE at once, COMPLETE came first",
    },
}

#: Exchanges that are not sent.
UNSENT = {
    "06-errors-names": {"big_30000kB": "the server closed the connection while 30 MB were sent: there is no answer"},
}
