"""Where the stand-in answers otherwise than was recorded, each with the reason; and what was not recorded for it."""

#: Exchanges that differ, by file and name.
KNOWN = {
    "01-system": {
        "status_bot": "the checks of a deployment: their texts tell of its parts",
    },
    "06-pipelines-status": {
        "bulk_same_ts_twice": "500 as recorded, without the database's statement in the message",
    },
    "10-governance": {
        "user_by_email": "counts the users of the whole recorded server, sixteen bots among them",
        "policies_list": "lists the policies of a real server, of which the stand-in has one",
    },
    "12-errors": {
        "unknown_query": "the first table of the whole recorded server",
        **{
            f"concurrent_status_{number}": "each read the state before the others: which one that was is a matter of time"
            for number in (0, 2, 3)
        },
        **{
            f"concurrent_put_new_{table}_{number}": "which of the eight wins is a matter of time"
            for table, numbers in enumerate(("01234567", "03", "0125"))
            for number in numbers
        },
        **{f"concurrent_put_service_{number}": "which of the four wins is a matter of time" for number in (1, 2, 3)},
        **{f"concurrent_put_change_{number}": "the eight answered one version" for number in (*range(1, 8), "after")},
        **{f"concurrent_patch_tags_{number}": "follow the eight above" for number in (*range(4), "after")},
    },
    "13-search-listing": {
        "fields_star": "usage, joins and metrics are not kept",
        "services_list": "counts the services of the whole recorded server",
    },
}
