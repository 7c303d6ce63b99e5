"""The enumerations of OpenMetadata 2.0 that requests are checked against."""

from tests.standins.openmetadata.names import split_words

COLUMN_TYPES = [
    *split_words(
        "NUMBER TINYINT SMALLINT INT BIGINT BYTEINT BYTES FLOAT DOUBLE DECIMAL NUMERIC TIMESTAMP TIMESTAMPZ TIME DATE "
        "DATETIME INTERVAL STRING MEDIUMTEXT TEXT CHAR LONG VARCHAR BOOLEAN BINARY VARBINARY ARRAY BLOB LONGBLOB MEDIUMBLOB "
        "MAP STRUCT UNION SET GEOGRAPHY ENUM JSON UUID VARIANT GEOMETRY BYTEA AGGREGATEFUNCTION ERROR FIXED RECORD NULL "
        "SUPER HLLSKETCH PG_LSN PG_SNAPSHOT TSQUERY TXID_SNAPSHOT XML MACADDR TSVECTOR UNKNOWN CIDR INET CLOB ROWID "
        "LOWCARDINALITY YEAR POINT POLYGON TUPLE SPATIAL TABLE NTEXT IMAGE IPV4 IPV6 DATETIMERANGE HLL LARGEINT "
        "QUANTILE_STATE AGG_STATE BITMAP UINT BIT MONEY MEASURE KPI HEIRARCHY HIERARCHYID"
    ),
    "MEASURE HIDDEN",
    "MEASURE VISIBLE",
]
FIELD_TYPES = split_words(
    "RECORD NULL BOOLEAN INT LONG BYTES FLOAT DOUBLE TIMESTAMP TIMESTAMPZ TIME DATE STRING ARRAY MAP ENUM UNION FIXED "
    "ERROR UNKNOWN"
)
CONSTRAINTS = ("NULL", "NOT_NULL", "UNIQUE", "PRIMARY_KEY")
TABLE_CONSTRAINTS = ("UNIQUE", "PRIMARY_KEY", "FOREIGN_KEY", "SORT_KEY", "DIST_KEY", "CLUSTER_KEY")
TABLE_TYPES = split_words(
    "Regular External Dynamic View SecureView MaterializedView Iceberg Local Partitioned Foreign Transient Stream Stage "
    "SemanticView"
)
PARTITION_INTERVALS = ("TIME-UNIT", "INTEGER-RANGE", "INGESTION-TIME", "COLUMN-VALUE", "INJECTED", "ENUM", "OTHER")
TABLE_FILE_FORMATS = [
    "csv",
    "csv.gz",
    "tsv",
    "avro",
    "parquet",
    "pq",
    "pqt",
    "parq",
    "parquet.snappy",
    "json",
    "json.gz",
    "json.zip",
    "jsonl",
    "jsonl.gz",
]
CONTAINER_FORMATS = split_words("zip gz zstd csv tsv json parquet avro MF4")
SCHEMA_TYPES = ("Avro", "Protobuf", "JSON", "Other", "None")
CLEANUP_POLICIES = ("delete", "compact")
METHODS = split_words("GET POST PUT PATCH DELETE HEAD CONNECT OPTIONS TRACE")
FEATURE_TYPES = ("numerical", "categorical")
FEATURE_SOURCES = split_words("integer number string array date timestamp object boolean")

LABEL_SOURCES = ("Classification", "Glossary")
LABEL_TYPES = ("Manual", "Propagated", "Automated", "Derived", "Generated")
LABEL_STATES = ("Suggested", "Confirmed")

PARAMETER_TYPES = split_words(
    "NUMBER INT FLOAT DOUBLE DECIMAL TIMESTAMP TIME DATE DATETIME ARRAY MAP SET STRING BOOLEAN"
)
TEST_PLATFORMS = ("OpenMetadata", "GreatExpectations", "dbt", "Deequ", "Soda", "Other")
QUALITY_DIMENSIONS = split_words("Completeness Accuracy Consistency Validity Uniqueness Integrity SQL NoDimension")
COLUMN_MEASURES = split_words(
    "valuesCount valuesPercentage validCount duplicateCount nullCount nullProportion missingPercentage missingCount "
    "uniqueCount uniqueProportion distinctCount distinctProportion minLength maxLength mean sum stddev variance median "
    "firstQuartile thirdQuartile interQuartileRange nonParametricSkew"
)

RUN_STATES = ("Successful", "Failed", "Pending", "Skipped")
WRITE_MODES = ("overwrite", "append", "merge", "upsert")
PIPELINE_STATES = ("Active", "Inactive")
LINEAGE_SOURCES = split_words(
    "Manual ViewLineage QueryLineage PipelineLineage DashboardLineage DbtLineage SparkLineage OpenLineage "
    "ExternalTableLineage CrossDatabaseLineage ChildAssets"
)

DATABASES = split_words(
    "BigQuery BigTable Mysql Redshift Snowflake Postgres Timescale Mssql MicrosoftAccess Oracle Athena Hive Impala Presto "
    "Trino Vertica Glue MariaDB Druid Db2 Clickhouse Databricks AzureSQL DynamoDB SingleStore SQLite DeltaLake Salesforce "
    "PinotDB Datalake DomoDatabase QueryLog CustomDatabase Dbt SapHana SapSuccessFactors MongoDB Cassandra Couchbase "
    "Greenplum Doris StarRocks UnityCatalog SAS Teradata SapErp Synapse Exasol Cockroach SSAS Epic ServiceNow Dremio "
    "MicrosoftFabric BurstIQ Informix Iomete QuestDB YDB"
)
PIPELINES = split_words(
    "Airflow GluePipeline Airbyte Fivetran Flink Dagster Nifi DomoPipeline CustomPipeline DatabricksPipeline Spline Spark "
    "OpenLineage KafkaConnect DBTCloud Matillion Stitch DataFactory Wherescape SSIS"
)
STORES = ("S3", "ADLS", "GCS", "CustomStorage")
BROKERS = ("Kafka", "Redpanda", "Kinesis", "Nats", "PubSub", "CustomMessaging")
APIS = ("Rest",)
MODEL_STORES = ("Mlflow", "Sklearn", "CustomMlModel", "SageMaker", "VertexAI")
#: Operations that rules of policies allow or deny.
OPERATIONS = split_words(
    "All Create BulkCreate CreateIngestionPipelineAutomator CreateTests Delete ViewAll ViewBasic ViewUsage ViewTests "
    "ViewQueries ViewDataProfile ViewProfilerGlobalConfiguration ViewSampleData ViewTestCaseFailedRowsSample "
    "ViewCustomFields EditAll BulkUpdate EditCustomFields EditDataProfile EditDescription EditDisplayName EditLineage "
    "EditEntityRelationship EditPolicy EditOwners EditQueries EditReviewers EditRole EditSampleData EditStatus EditTags "
    "EditGlossaryTerms EditTeams EditTier EditCertification CreateTask EditTask EditTests EditUsage EditUsers "
    "EditLifeCycle EditKnowledgePanel EditPage EditIngestionPipelineStatus EditUserNotificationTemplate "
    "DeleteTestCaseFailedRowsSample Deploy Trigger Kill GenerateToken EditScim CreateScim DeleteScim ViewScim "
    "Impersonate AuditLogs ViewTestDefinitionLibrary EditTestDefinitionLibrary ResolveTask CloseTask ReassignTask"
)
