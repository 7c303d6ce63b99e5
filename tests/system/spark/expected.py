"""Expected lineage of each job, written by hand from its code, and known deviations of the listener.

`columns` is the true column lineage of a job, `gaps` the part that the listener does not report, and `quirks` what it
reports although the code does not contain it. Both are asserted, so that improvements of the listener are noticed.
"""

from typing import NamedTuple

from connectors.spark.releases import TableFormat


class Case(NamedTuple):
    """Datasets, row counts of versions, edges and column edges of one job."""

    job: str
    arguments: tuple[str, ...] = ()
    catalog: TableFormat | None = None
    code: int = 0
    outcome: str = "SUCCESS"
    error: str = ""
    datasets: str = ""
    versions: dict[str, list[int | None]] = {}  # noqa: RUF012 - never modified
    edges: str = ""
    columns: str = ""
    gaps: str = ""
    quirks: str = ""
    differs: dict[str, dict[str, str]] = {}  # noqa: RUF012 - never modified; by Spark release

    def for_release(self, release: str) -> "Case":
        """Apply the differences of a Spark release."""
        return self._replace(**self.differs.get(release, {}))


_GOOD_AND_BAD = Case(
    "caught",
    datasets="in/orders.csv lake/good lake/bad",
    versions={"lake/good": [4]},
    edges="""
        in/orders.csv -> lake/good
        in/orders.csv -> lake/bad
    """,
    columns="""
        in/orders.csv.id     -> lake/good.id      IDENTITY
        in/orders.csv.amount -> lake/good.amount  IDENTITY
        in/orders.csv.id     -> lake/bad.id       IDENTITY
    """,
)

_TWO_WRITES = Case(
    "inserts",
    datasets="in/customers in/orders.csv warehouse:default.names",
    versions={"warehouse:default.names": [None, 3, 4]},
    edges="""
        in/customers  -> warehouse:default.names
        in/orders.csv -> warehouse:default.names
    """,
    columns="""
        in/customers.id        -> warehouse:default.names.id    TRANSFORMATION
        in/customers.name      -> warehouse:default.names.name  IDENTITY
        in/orders.csv.id       -> warehouse:default.names.id    IDENTITY
        in/orders.csv.customer -> warehouse:default.names.name  IDENTITY
    """,
)

CASES = (
    Case(
        "csv_to_parquet",
        datasets="in/orders.csv lake/orders",
        versions={"lake/orders": [3]},
        edges="in/orders.csv -> lake/orders",
        columns="""
            in/orders.csv.id       -> lake/orders.order_id  IDENTITY
            in/orders.csv.customer -> lake/orders.customer  IDENTITY
            in/orders.csv.amount   -> lake/orders.cents     TRANSFORMATION
            in/orders.csv.amount   -> lake/orders.*         FILTER
        """,
    ),
    Case(
        "join",
        datasets="in/orders.csv in/customers out/totals",
        versions={"out/totals": [2]},
        edges="""
            in/orders.csv -> out/totals
            in/customers  -> out/totals
        """,
        columns="""
            in/customers.region    -> out/totals.region  IDENTITY
            in/customers.region    -> out/totals.*       GROUP_BY
            in/orders.csv.amount   -> out/totals.total   AGGREGATION
            in/customers.name      -> out/totals.last    AGGREGATION
            in/orders.csv.customer -> out/totals.*       JOIN
            in/customers.id        -> out/totals.*       JOIN
        """,
        # Spark adds a not-null filter on the keys of an inner join, and the listener reports it.
        quirks="""
            in/orders.csv.customer -> out/totals.*       FILTER
            in/customers.id        -> out/totals.*       FILTER
        """,
    ),
    Case(
        "tables",
        datasets="warehouse:sales.orders warehouse:sales.large",
        # The version of the empty table has no row count.
        versions={"warehouse:sales.orders": [None, 3], "warehouse:sales.large": [2, 3]},
        edges="warehouse:sales.orders -> warehouse:sales.large",
        columns="""
            warehouse:sales.orders.id     -> warehouse:sales.large.id      IDENTITY
            warehouse:sales.orders.amount -> warehouse:sales.large.amount  IDENTITY
            warehouse:sales.orders.amount -> warehouse:sales.large.*       FILTER
            warehouse:sales.orders.amount -> warehouse:sales.large.amount  TRANSFORMATION
        """,
    ),
    Case(
        "iceberg",
        catalog=TableFormat.iceberg,
        datasets="in/customers ice:sales.customers ice:sales.north",
        versions={"ice:sales.customers": [None, 2, 3], "ice:sales.north": [2]},
        edges="""
            in/customers        -> ice:sales.customers
            ice:sales.customers -> ice:sales.customers
            ice:sales.customers -> ice:sales.north
        """,
        columns="""
            in/customers.id            -> ice:sales.customers.id      IDENTITY
            in/customers.name          -> ice:sales.customers.name    IDENTITY
            in/customers.region        -> ice:sales.customers.region  IDENTITY
            in/customers.id            -> ice:sales.customers.*       JOIN
            ice:sales.customers.id     -> ice:sales.customers.*       JOIN
            ice:sales.customers.id     -> ice:sales.customers.id      IDENTITY
            ice:sales.customers.name   -> ice:sales.customers.name    IDENTITY
            ice:sales.customers.region -> ice:sales.customers.region  IDENTITY
            ice:sales.customers.id     -> ice:sales.north.id          IDENTITY
            ice:sales.customers.name   -> ice:sales.north.name        IDENTITY
            ice:sales.customers.region -> ice:sales.north.*           FILTER
        """,
        # For MERGE, the listener reports kept columns but not those of the source.
        gaps="""
            in/customers.id            -> ice:sales.customers.id      IDENTITY
            in/customers.name          -> ice:sales.customers.name    IDENTITY
            in/customers.region        -> ice:sales.customers.region  IDENTITY
        """,
        # With Spark 3.5 it reports them, and the keys as inputs of every column.
        differs={
            "3.5": {
                "gaps": "",
                "quirks": """
                    in/customers.id        -> ice:sales.customers.*  IDENTITY
                    ice:sales.customers.id -> ice:sales.customers.*  IDENTITY
                """,
            }
        },
    ),
    Case(
        "iceberg_update",
        catalog=TableFormat.iceberg,
        datasets="in/customers ice:sales.customers",
        versions={"ice:sales.customers": [None, 2, 3, 3]},
        edges="""
            in/customers        -> ice:sales.customers
            ice:sales.customers -> ice:sales.customers
        """,
        columns="""
            in/customers.id            -> ice:sales.customers.id      IDENTITY
            in/customers.name          -> ice:sales.customers.name    IDENTITY
            in/customers.region        -> ice:sales.customers.region  IDENTITY
            in/customers.id            -> ice:sales.customers.*       JOIN
            ice:sales.customers.id     -> ice:sales.customers.*       JOIN
            ice:sales.customers.id     -> ice:sales.customers.id      IDENTITY
            ice:sales.customers.name   -> ice:sales.customers.name    IDENTITY
            ice:sales.customers.name   -> ice:sales.customers.name    TRANSFORMATION
            ice:sales.customers.region -> ice:sales.customers.name    CONDITIONAL
            ice:sales.customers.region -> ice:sales.customers.region  IDENTITY
        """,
        # For MERGE, the listener reports kept columns but not those of the source. For UPDATE, it reports no columns.
        gaps="""
            in/customers.id            -> ice:sales.customers.id      IDENTITY
            in/customers.name          -> ice:sales.customers.name    IDENTITY
            in/customers.region        -> ice:sales.customers.region  IDENTITY
            ice:sales.customers.name   -> ice:sales.customers.name    TRANSFORMATION
            ice:sales.customers.region -> ice:sales.customers.name    CONDITIONAL
        """,
    ),
    _TWO_WRITES,
    _TWO_WRITES._replace(
        job="delta_append", catalog=TableFormat.delta, versions={"warehouse:default.names": [None, None]}
    ),
    Case(
        "delta",
        catalog=TableFormat.delta,
        datasets="in/customers warehouse:default.customers lake/north",
        # Delta writes by path have no statistics.
        versions={"warehouse:default.customers": [None, 2, 3], "lake/north": [None]},
        edges="""
            in/customers                -> warehouse:default.customers
            warehouse:default.customers -> warehouse:default.customers
            warehouse:default.customers -> lake/north
        """,
        columns="""
            in/customers.id                    -> warehouse:default.customers.id      IDENTITY
            in/customers.name                  -> warehouse:default.customers.name    IDENTITY
            in/customers.region                -> warehouse:default.customers.region  IDENTITY
            in/customers.id                    -> warehouse:default.customers.*       JOIN
            warehouse:default.customers.id     -> warehouse:default.customers.*       JOIN
            warehouse:default.customers.id     -> warehouse:default.customers.id      IDENTITY
            warehouse:default.customers.name   -> warehouse:default.customers.name    IDENTITY
            warehouse:default.customers.region -> warehouse:default.customers.region  IDENTITY
            warehouse:default.customers.id     -> lake/north.id                       IDENTITY
            warehouse:default.customers.name   -> lake/north.name                     IDENTITY
            warehouse:default.customers.region -> lake/north.*                        FILTER
        """,
        # For MERGE, the listener reports columns of the source, but neither kept columns nor join keys.
        gaps="""
            in/customers.id                    -> warehouse:default.customers.*       JOIN
            warehouse:default.customers.id     -> warehouse:default.customers.*       JOIN
            warehouse:default.customers.name   -> warehouse:default.customers.name    IDENTITY
            warehouse:default.customers.region -> warehouse:default.customers.region  IDENTITY
        """,
    ),
    _GOOD_AND_BAD._replace(job="failing", code=1, outcome="FAILED (derived)", error="amount is missing"),
    _GOOD_AND_BAD._replace(arguments=("first",)),
    # Gap: the job caught this failure and succeeded, but its events equal those of a driver that died.
    _GOOD_AND_BAD._replace(arguments=("last",), outcome="FAILED (derived)", error="amount is missing"),
    Case(
        "shuffled",
        code=1,
        # Gap: after a shuffle the listener reports no failure, and action and application as complete.
        outcome="SUCCESS",
        datasets="in/orders.csv lake/totals",
        versions={"lake/totals": [None]},
        edges="in/orders.csv -> lake/totals",
        columns="""
            in/orders.csv.amount   -> lake/totals.total  AGGREGATION
            in/orders.csv.customer -> lake/totals.*      GROUP_BY
        """,
    ),
    Case(
        "streaming",
        # Gap: the output of the file sink (out/regions) is not reported. Its input, reported per file, belongs to a folder.
        datasets="in/customers out/names",
        versions={"out/names": [3]},
        edges="in/customers -> out/names",
        columns="""
            in/customers.id   -> out/names.id    IDENTITY
            in/customers.name -> out/names.name  TRANSFORMATION
        """,
        # Writes in foreachBatch have no column lineage.
        gaps="""
            in/customers.id   -> out/names.id    IDENTITY
            in/customers.name -> out/names.name  TRANSFORMATION
        """,
    ),
    Case(
        "udf",
        datasets="in/customers out/initials",
        versions={"out/initials": [3]},
        edges="in/customers -> out/initials",
        columns="""
            in/customers.id   -> out/initials.id       IDENTITY
            in/customers.name -> out/initials.initial  TRANSFORMATION
        """,
        # The plan does not show the inside of a Python function.
        gaps="in/customers.name -> out/initials.initial  TRANSFORMATION",
    ),
    Case(
        "partitions",
        datasets="in/customers lake/by_region out/north",
        versions={"lake/by_region": [3, 2], "out/north": [2]},
        edges="""
            in/customers   -> lake/by_region
            lake/by_region -> out/north
        """,
        columns="""
            in/customers.id     -> lake/by_region.id      IDENTITY
            in/customers.email  -> lake/by_region.email   IDENTITY
            in/customers.name   -> lake/by_region.name    IDENTITY
            in/customers.name   -> lake/by_region.name    TRANSFORMATION
            in/customers.region -> lake/by_region.region  IDENTITY
            in/customers.region -> lake/by_region.*       FILTER
            lake/by_region.id   -> out/north.id           IDENTITY
            lake/by_region.name -> out/north.name         IDENTITY
        """,
        # Partition columns are reported as transformed (Spark replaces empty strings by null) and as inputs of all
        # columns (rows are sorted by them).
        gaps="in/customers.region -> lake/by_region.region  IDENTITY",
        quirks="""
            in/customers.region -> lake/by_region.region  TRANSFORMATION
            in/customers.region -> lake/by_region.*       TRANSFORMATION
        """,
    ),
    Case(
        "masking",
        datasets="in/customers out/masked",
        versions={"out/masked": [3]},
        edges="in/customers -> out/masked",
        columns="""
            in/customers.id     -> out/masked.id          IDENTITY
            in/customers.email  -> out/masked.email_hash  TRANSFORMATION MASKED
            in/customers.name   -> out/masked.name_mask   TRANSFORMATION MASKED
            in/customers.name   -> out/masked.label       TRANSFORMATION
            in/customers.email  -> out/masked.label       TRANSFORMATION MASKED
            in/customers.name   -> out/masked.northern    TRANSFORMATION
            in/customers.region -> out/masked.northern    CONDITIONAL
            in/customers.region -> out/masked.place       WINDOW
            in/customers.id     -> out/masked.place       WINDOW
        """,
    ),
)

JDBC = Case(
    "jdbc",
    datasets="postgres:shop.public.customers lake/customers in/orders.csv postgres:shop.public.amounts",
    versions={"lake/customers": [2], "postgres:shop.public.amounts": [4]},
    edges="""
        postgres:shop.public.customers -> lake/customers
        in/orders.csv                  -> postgres:shop.public.amounts
    """,
    columns="""
        postgres:shop.public.customers.id   -> lake/customers.id                    IDENTITY
        postgres:shop.public.customers.name -> lake/customers.name                  TRANSFORMATION
        in/orders.csv.id                    -> postgres:shop.public.amounts.id      IDENTITY
        in/orders.csv.amount                -> postgres:shop.public.amounts.amount  IDENTITY
    """,
    # Transformations of columns read over JDBC are reported as identity.
    gaps="postgres:shop.public.customers.name   -> lake/customers.name  TRANSFORMATION",
    quirks="postgres:shop.public.customers.name -> lake/customers.name  IDENTITY",
)
