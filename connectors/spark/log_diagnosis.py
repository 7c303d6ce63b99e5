"""Explains from a driver log why events did not arrive."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from connectors.spark.conf import PREFIX
from connectors.spark.conf_problem import SERVICE_NOT_RUNNING, ConfProblem, ProblemEffect


class LogSymptom(NamedTuple):
    """Words in the log, the key they are about, and what they mean; `{0}` is what the words hold."""

    words: str
    key: str
    problem: str
    remedy: str


#: Why a job did not even start or end well, or why its listener did not; the first that fits is told.
_OF_JOBS = (
    LogSymptom(
        r"unresolved dependency: (\S+?):? not found|unresolved dependency: ([^\s:]+)", "spark.jars.packages",
        "names what no repository has: {0}",
        "correct group, name and version; behind a proxy see spark.jars.ivySettings",
    ),
    LogSymptom(
        r"ClassNotFoundException: (\S*OpenLineage\S*)", "spark.extraListeners",
        "names {0}, which is in no jar", "name the listener's package in spark.jars.packages, and its class exactly",
    ),
    LogSymptom(
        r"(?:NoClassDefFoundError|ClassNotFoundException|NoSuchMethodError): '?(?:\S+ )?(scala[./]\S+)",
        "spark.jars.packages", "names what is for another Scala version than Spark's ({0})",
        "take the packages of `spark conf`",
    ),
    LogSymptom(
        r"Unable to parse OpenLineage endpoint|Listener OpenLineageSparkListener threw", PREFIX.rstrip("."),
        "cannot be used by the listener", "correct the errors above, or take what `spark conf` prints",
    ),
)  # fmt: skip

_NEW_KEY = (
    "make one with `lineage-bridge keys create NAME --scope ingest`, put its hash into server.api_keys of the"
    " service, and let `spark conf --api-key-file` write it"
)

#: Why the listener could not send an event.
_OF_EVENTS = (
    LogSymptom(
        r"HttpTransportResponseException: code: 401", "auth.apiKey",
        "was refused with 401: no key, or none of the service",
        _NEW_KEY,
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: 403", "auth.apiKey",
        "was refused with 403: the key may not send events",
        _NEW_KEY,
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: (404|405)", "url", "leads to where no events are taken (answer {0})",
        "lineage-bridge takes them at /api/v1/lineage: correct url and endpoint",
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: 413", "url", "is of a service that takes no event of this size (413)",
        "raise intake.max_body_mb of the service, or disable large facets",
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: (429|503|507)", "url",
        "is of a service that takes no events now ({0})",
        "ask its /readyz; a full store or disk is told there",
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: (400|422)", "url", "is of a service that refuses these events ({0})",
        "see `lineage-bridge rejected list`",
    ),
    LogSymptom(
        r"HttpTransportResponseException: code: (?!40[01345]|413|422|429|50[37])(\d+)",
        "url", "is of a service that answers {0}", "see its log",
    ),
    LogSymptom(
        r"(?:HttpHostConnectException|ConnectException): .*refused", "url", *SERVICE_NOT_RUNNING,
    ),
    LogSymptom(r"UnknownHostException", "url", "names a host that nobody knows", "correct the host"),
    LogSymptom(
        r"(?:SocketTimeoutException|ConnectTimeoutException|NoRouteToHostException)", "url",
        "does not answer in time",
        "see what lies between, or raise timeoutInMillis; until then use the file transport",
    ),
    LogSymptom(r"SSL\w*Exception", "url", "cannot be reached over TLS", "see the certificate, or sslContext"),
    LogSymptom(
        r"Writing event to a file .*? failed: (.*)", "location", "cannot be written: {0}",
        "let it be a file that the user of the job may write",
    ),
)  # fmt: skip

_QUOTED = re.compile(r"^(?:\S+\.)*\w+(?:Exception|Error)\b.*", re.MULTILINE)
_SECRET = re.compile(r"(?i)key$|password|secret|token|\.headers\.|\.urlParams\.")


def diagnose_job(
    conf: Mapping[str, str], said: str, code: int | None, made: int, seconds: float
) -> Iterator[ConfProblem]:
    """Say why a job failed or its listener kept silent."""
    found = next((one for symptom in _OF_JOBS if (one := _told(symptom, symptom.key, said))), None)
    if found and (code != 0 or not made):
        yield found
    elif code is None:
        yield ConfProblem(
            "the job", ProblemEffect.silent, f"did not end within {seconds:g} s", "give it more with --timeout"
        )
    elif code:
        quoted = _QUOTED.search(said)
        why = f": {redact_conf_secrets(conf, quoted[0])[:200]}" if quoted else ""
        yield ConfProblem(
            "the job", ProblemEffect.silent, f"ended with {code}{why}", "keep its log with --spark-log, and read it"
        )
    elif not made:
        remedy = "name it in spark.extraListeners, and unset OPENLINEAGE_DISABLED"
        yield ConfProblem("the listener", ProblemEffect.silent, "made no event", remedy)


def diagnose_delivery(conf: Mapping[str, str], said: str) -> Iterator[ConfProblem]:
    """Say why events could not be sent, each reason once."""
    for symptom in _OF_EVENTS:
        for key in transport_keys(conf, "file" if symptom.key == "location" else "http", symptom.key):
            found = _told(symptom, key, said)
            if found:
                yield found


def _told(symptom: LogSymptom, key: str, said: str) -> ConfProblem | None:
    found = re.search(symptom.words, said)
    if found is None:
        return None
    held = next((group for group in found.groups() if group), "")
    return ConfProblem(key, ProblemEffect.silent, symptom.problem.replace("{0}", held), symptom.remedy)


def transport_keys(conf: Mapping[str, str], kind: str, last: str) -> list[str]:
    """Give a key of every transport of a kind, those inside a composite one included."""
    types = re.compile(re.escape(PREFIX) + r"transport\.(?:transports\.[^.]+\.)?type")
    found = [key for key, value in conf.items() if types.fullmatch(key) and value.strip().lower() == kind]
    keys = [f"{key.removesuffix('type')}{last}" for key in found]
    return [key for key in keys if last not in {"url", "location"} or conf.get(key, "").strip()]


def redact_conf_secrets(conf: Mapping[str, str], text: str) -> str:
    """Take out of a text what a conf holds in confidence."""
    for key, value in conf.items():
        if value and _SECRET.search(key):
            text = text.replace(value, "***")
    return text
