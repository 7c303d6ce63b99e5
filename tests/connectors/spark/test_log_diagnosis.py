"""Diagnosis of driver logs; system tests produce most of these messages with the listener."""

import pytest

from connectors.spark.conf import PREFIX, ConfOptions, ListenerTransport, build_conf
from connectors.spark.conf_problem import SERVICE_NOT_RUNNING
from connectors.spark.log_diagnosis import diagnose_delivery, diagnose_job, redact_conf_secrets, transport_keys
from connectors.spark.releases import DEFAULT_RELEASE, find_release

RELEASE = find_release(DEFAULT_RELEASE)
HTTP = build_conf(ConfOptions(RELEASE, api_key="s3cret"))
RESPONSE_ERROR = "io.openlineage.client.transports.HttpTransportResponseException: code: {}, response: x"
LISTENER_ERROR = "ERROR AsyncEventQueue: Listener OpenLineageSparkListener threw an exception"


@pytest.mark.parametrize(
    ("message", "key", "problem"),
    [
        (RESPONSE_ERROR.format(401), "auth.apiKey", "was refused with 401: no key, or none of the service"),
        (RESPONSE_ERROR.format(403), "auth.apiKey", "was refused with 403: the key may not send events"),
        (RESPONSE_ERROR.format(404), "url", "leads to where no events are taken (answer 404)"),
        (RESPONSE_ERROR.format(413), "url", "is of a service that takes no event of this size (413)"),
        (RESPONSE_ERROR.format(503), "url", "is of a service that takes no events now (503)"),
        (RESPONSE_ERROR.format(400), "url", "is of a service that refuses these events (400)"),
        (RESPONSE_ERROR.format(500), "url", "is of a service that answers 500"),
        (
            "HttpHostConnectException: Connect to http://127.0.0.1:9 failed: Connection refused",
            "url",
            SERVICE_NOT_RUNNING[0],
        ),
        ("java.net.UnknownHostException: no-such-host.invalid", "url", "names a host that nobody knows"),
        ("java.net.SocketTimeoutException: Read timed out", "url", "does not answer in time"),
        ("javax.net.ssl.SSLHandshakeException: x", "url", "cannot be reached over TLS"),
    ],
)
def test_each_delivery_problem_is_reported_once(message: str, key: str, problem: str) -> None:
    [finding] = diagnose_delivery(HTTP, f"{message}\n{message}\n")
    assert (finding.key, finding.problem) == (f"{PREFIX}transport.{key}", problem)
    assert list(diagnose_delivery(build_conf(ConfOptions(RELEASE, ListenerTransport.file)), message)) == []


def test_unwritable_file_is_reported() -> None:
    log = "ERROR FileTransport: Writing event to a file /x failed: java.nio.file.AccessDeniedException: /x"
    [finding] = diagnose_delivery(build_conf(ConfOptions(RELEASE, ListenerTransport.composite)), log)
    assert finding.key == f"{PREFIX}transport.transports.a_file.location"
    assert finding.problem == "cannot be written: java.nio.file.AccessDeniedException: /x"


@pytest.mark.parametrize(
    ("log", "code", "events", "problems"),
    [
        ("", 0, 5, []),
        (LISTENER_ERROR, 0, 5, []),
        (LISTENER_ERROR, 0, 0, ["cannot be used by the listener"]),
        ("", 0, 0, ["made no event"]),
        ("", None, 3, ["did not end within 9 s"]),
        ("[unresolved dependency: a#b_2.13;9: not found]", 1, 0, ["names what no repository has: a#b_2.13;9"]),
        ("NoSuchMethodError: 'scala.collection.Seq a.b()'", 1, 1,
         ["names what is for another Scala version than Spark's (scala.collection.Seq)"]),
        ("Caused by: java.lang.ClassNotFoundException: io.x.OpenLineageListener", 1, 0,
         ["names io.x.OpenLineageListener, which is in no jar"]),
        ("INFO all is well\njava.io.IOException: no s3cret\n\tat x", 1, 2,
         ["ended with 1: java.io.IOException: no ***"]),
        ("", 3, 2, ["ended with 3"]),
    ],
)  # fmt: skip
def test_diagnose_job(log: str, code: int | None, events: int, problems: list[str]) -> None:
    assert [finding.problem for finding in diagnose_job(HTTP, log, code, events, 9)] == problems


def test_secrets_are_redacted() -> None:
    conf = HTTP | {f"{PREFIX}transport.headers.X": "h3ader", "spark.ssl.keyPassword": "p4ss", "spark.a": "plain"}
    assert redact_conf_secrets(conf, "s3cret h3ader p4ss plain") == "*** *** *** plain"


def test_transport_keys() -> None:
    composite = build_conf(ConfOptions(RELEASE, ListenerTransport.composite))
    assert transport_keys(composite, "http", "url") == [f"{PREFIX}transport.transports.b_http.url"]
    assert transport_keys(composite, "file", "location") == [f"{PREFIX}transport.transports.a_file.location"]
    assert transport_keys(HTTP, "file", "location") == []
    assert transport_keys(HTTP | {f"{PREFIX}transport.url": " "}, "http", "url") == []
