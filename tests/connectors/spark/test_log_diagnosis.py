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
        (RESPONSE_ERROR.format(401), "auth.apiKey", "was rejected with 401: the key is missing or unknown"),
        (RESPONSE_ERROR.format(403), "auth.apiKey", "was rejected with 403: the key may not send events"),
        (RESPONSE_ERROR.format(404), "url", "points to a path that does not accept events (status 404)"),
        (RESPONSE_ERROR.format(413), "url", "points to a service that rejects events of this size (413)"),
        (RESPONSE_ERROR.format(503), "url", "points to a service that accepts no events now (503)"),
        (RESPONSE_ERROR.format(400), "url", "points to a service that rejects these events (400)"),
        (RESPONSE_ERROR.format(500), "url", "points to a service that responds with 500"),
        (
            "HttpHostConnectException: Connect to http://127.0.0.1:9 failed: Connection refused",
            "url",
            SERVICE_NOT_RUNNING[0],
        ),
        ("java.net.UnknownHostException: no-such-host.invalid", "url", "contains an unknown host"),
        ("java.net.SocketTimeoutException: Read timed out", "url", "does not respond in time"),
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
        (LISTENER_ERROR, 0, 0, ["cannot be parsed by the listener"]),
        ("", 0, 0, ["created no events"]),
        ("", None, 3, ["did not end within 9 s"]),
        ("[unresolved dependency: a#b_2.13;9: not found]", 1, 0, ["contains a package that no repository has: a#b_2.13;9"]),
        ("NoSuchMethodError: 'scala.collection.Seq a.b()'", 1, 1,
         ["contains a package for another Scala version than Spark's (scala.collection.Seq)"]),
        ("Caused by: java.lang.ClassNotFoundException: io.x.OpenLineageListener", 1, 0,
         ["contains io.x.OpenLineageListener, which no jar has"]),
        ("INFO all is well\njava.io.IOException: no s3cret\n\tat x", 1, 2,
         ["exited with 1: java.io.IOException: no ***"]),
        ("", 3, 2, ["exited with 3"]),
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
