"""Finds the reasons in a driver log why events did not arrive."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from connectors.spark.conf import PREFIX
from connectors.spark.conf_problem import SERVICE_NOT_RUNNING, ConfProblem, ProblemEffect


class LogSymptom(NamedTuple):
    """A pattern in the log, the key that it concerns, and its meaning; `{0}` stands for the captured text."""

    pattern: str
    key: str
    problem: str
    remedy: str


#: Reasons why a job or its listener failed or did not start; only the first match is reported.
_JOB_SYMPTOMS = (
    LogSymptom(
        r"unresolved dependency: (\S+?):? not found|unresolved dependency: ([^\s:]+)", "spark.jars.packages",
        "contains a package that no repository has: {0}",
        "check group, name and version; behind a proxy set spark.jars.ivySettings",
    ),
    LogSymptom(
        r"ClassNotFoundException: (\S*OpenLineage\S*)", "spark.extraListeners",
        "contains {0}, which no jar has",
        "add the listener's package to spark.jars.packages, and check the class name",
    ),
    LogSymptom(
        r"(?:NoClassDefFoundError|ClassNotFoundException|NoSuchMethodError): '?(?:\S+ )?(scala[./]\S+)",
        "spark.jars.packages", "contains a package for another Scala version than Spark's ({0})",
        "use the packages that `spark conf` prints",
    ),
    LogSymptom(
        r"Unable to parse OpenLineage endpoint|Listener OpenLineageSparkListener threw", PREFIX.rstrip("."),
        "cannot be parsed by the listener", "fix the errors above, or use the output of `spark conf`",
    ),
)  # fmt: skip

_NEW_KEY_REMEDY = (
    "create one with `lineage-bridge keys create NAME --scope ingest`, add its hash to server.api_keys of the"
    " service, and pass it with `spark conf --api-key-file`"
)

#: Reasons why the listener could not deliver an event.
_DELIVERY_SYMPTOMS = (
    LogSymptom(
        r"HttpTransportResponseException: code: 401", "auth.apiKey",
        "was rejected with 401: the key is missing or unknown",
        _NEW_KEY_REMEDY,
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: 403", "auth.apiKey",
        "was rejected with 403: the key may not send events",
        _NEW_KEY_REMEDY,
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: (404|405)", "url",
        "points to a path that does not accept events (status {0})",
        "lineage-bridge accepts them at /api/v1/lineage: check url and endpoint",
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: 413", "url",
        "points to a service that rejects events of this size (413)",
        "raise intake.max_body_mb of the service, or disable large facets",
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: (429|503|507)", "url",
        "points to a service that accepts no events now ({0})",
        "check its /readyz, which reports a full store or disk",
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: (400|422)", "url",
        "points to a service that rejects these events ({0})",
        "see `lineage-bridge rejected list`",
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: (?!40[01345]|413|422|429|50[37])(\d+)",
        "url", "points to a service that responds with {0}", "check its log",
    ),
    LogSymptom(
        r"(?:HttpHostConnectException|ConnectException): .*refused", "url", *SERVICE_NOT_RUNNING,
    ),
    LogSymptom(r"UnknownHostException", "url", "contains an unknown host", "check the host name"),
    LogSymptom(
        r"(?:SocketTimeoutException|ConnectTimeoutException|NoRouteToHostException)", "url",
        "does not respond in time",
        "check the network or raise timeoutInMillis; use the file transport meanwhile",
    ),
    LogSymptom(r"\bSSL\w*Exception", "url", "cannot be reached over TLS", "check the certificate, or sslContext"),
    LogSymptom(
        r"Writing event to a file .{1,1000}? failed: (.*)", "location", "cannot be written: {0}",
        "use a file that the user of the job can write",
    ),
)  # fmt: skip

_EXCEPTION_LINE = re.compile(r"^[\w.$]*\w(?:Exception|Error)\b.*", re.MULTILINE)
_SECRET_KEY = re.compile(r"(?i)key$|password|secret|token|\.headers\.|\.urlParams\.")


def diagnose_job(
    conf: Mapping[str, str], log_text: str, exit_code: int | None, event_count: int, seconds: float
) -> Iterator[ConfProblem]:
    """Yield the reason why a job failed, or why its listener created no events."""
    matches = (_match_symptom(symptom, symptom.key, log_text) for symptom in _JOB_SYMPTOMS)
    problem = next((match for match in matches if match is not None), None)
    if problem and (exit_code != 0 or not event_count):
        yield problem
    elif exit_code is None:
        yield ConfProblem(
            "the job", ProblemEffect.events_lost, f"did not end within {seconds:g} s", "raise --timeout"
        )
    elif exit_code:
        exception_line = _EXCEPTION_LINE.search(log_text)
        detail = f": {redact_conf_secrets(conf, exception_line[0])[:200]}" if exception_line else ""
        yield ConfProblem(
            "the job",
            ProblemEffect.events_lost,
            f"exited with {exit_code}{detail}",
            "keep its log with --spark-log to see the cause",
        )
    elif not event_count:
        remedy = "add it to spark.extraListeners, and unset OPENLINEAGE_DISABLED"
        yield ConfProblem("the listener", ProblemEffect.events_lost, "created no events", remedy)


def diagnose_delivery(conf: Mapping[str, str], log_text: str) -> Iterator[ConfProblem]:
    """Yield the reasons why events were not delivered, each once."""
    for symptom in _DELIVERY_SYMPTOMS:
        for key in transport_keys(conf, "file" if symptom.key == "location" else "http", symptom.key):
            problem = _match_symptom(symptom, key, log_text)
            if problem:
                yield problem


def _match_symptom(symptom: LogSymptom, key: str, log_text: str) -> ConfProblem | None:
    match = re.search(symptom.pattern, log_text)
    if match is None:
        return None
    captured_text = next((group for group in match.groups() if group), "")
    return ConfProblem(key, ProblemEffect.events_lost, symptom.problem.replace("{0}", captured_text), symptom.remedy)


def transport_keys(conf: Mapping[str, str], transport_type: str, suffix: str) -> list[str]:
    """Return the key with a suffix for each transport of a type, including transports in composite transports."""
    type_key_pattern = re.compile(re.escape(PREFIX) + r"transport\.(?:transports\.[^.]+\.)?type")
    type_keys = [
        key
        for key, value in conf.items()
        if type_key_pattern.fullmatch(key) and value.strip().lower() == transport_type
    ]
    keys = [f"{key.removesuffix('type')}{suffix}" for key in type_keys]
    if suffix in {"url", "location"}:
        # A transport without a destination is reported by the checks of the conf.
        return [key for key in keys if conf.get(key, "").strip()]
    return keys


def redact_conf_secrets(conf: Mapping[str, str], text: str) -> str:
    """Replace the secrets of a conf with `***` wherever they occur in the text."""
    for key, value in conf.items():
        if value and _SECRET_KEY.search(key):
            text = text.replace(value, "***")
    return text
