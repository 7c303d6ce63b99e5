"""Builds the clients of sync targets from the settings."""

from collections.abc import Callable

from pydantic import SecretStr

from bridge.settings.openmetadata import OpenMetadataAuthSettings, OpenMetadataSettings
from bridge.settings.targets import MarquezSettings, WebhookSettings
from connectors.errors import ConfigError
from connectors.http import HttpSession, Timeouts
from connectors.marquez.client import MarquezClient
from connectors.openmetadata import body_validation
from connectors.openmetadata.auth import file_token_provider, login_token_provider, oauth_token_provider
from connectors.openmetadata.client import OpenMetadataClient
from connectors.session import RateLimiter, StaticToken, ThrottledSession, TokenProvider
from mappers.redaction import redact_path

#: The total is shorter than the lease of the items that are pushed.
_TARGET_TIMEOUTS = Timeouts(connect=5.0, read=25.0, write=25.0, total=25.0)


def make_openmetadata_client(
    settings: OpenMetadataSettings,
    on_call: Callable[[str], None] = lambda _: None,
    on_failed_call: Callable[[str], None] = lambda _: None,
) -> OpenMetadataClient:
    """Build a client for the configured OpenMetadata server; raises ConfigError if no host is configured."""
    host = settings.server.host
    if host is None:
        raise ConfigError("openmetadata.server.host is not set: name the server, such as https://om.example.com")
    return OpenMetadataClient(
        HttpSession(host, timeouts=_TARGET_TIMEOUTS),
        _token_provider(settings.auth, host),
        on_call,
        on_failed_call,
        attempts=settings.retry_config.max_attempts,
        concurrency=settings.concurrency,
        rate_limiter=RateLimiter(settings.rate),
        validate=body_validation.validate,
    )


def _token_provider(auth: OpenMetadataAuthSettings, host: str) -> TokenProvider:
    """Build the token provider for the configured authentication.

    Logins use a separate connection, because requests that wait for a token may occupy all connections of the client.
    """
    missing_setting = auth.find_missing_setting()
    if missing_setting is not None:
        raise ConfigError(f"openmetadata.auth.{missing_setting.key} {missing_setting.message}")
    if auth.type == "basic":
        login_session = HttpSession(host, timeouts=_TARGET_TIMEOUTS)
        return login_token_provider(login_session, auth.username or "", _secret_value(auth.password))
    if auth.type == "oauth":
        token_session = HttpSession(auth.token_url or "", timeouts=_TARGET_TIMEOUTS)
        return oauth_token_provider(
            token_session, auth.client_id or "", _secret_value(auth.client_secret), auth.scope
        )
    if auth.token_file:
        return file_token_provider(auth.token_file)
    return StaticToken(_secret_value(auth.jwt_token).strip())


def _secret_value(value: SecretStr | None) -> str:
    return value.get_secret_value() if value else ""


def make_throttled_session(
    settings: MarquezSettings | WebhookSettings,
    url: str,
    on_call: Callable[[str], None],
    on_failed_call: Callable[[str], None],
) -> ThrottledSession:
    """Build a session that limits and counts requests and sends the API key, if one is set."""
    # The path of a webhook is often its only secret.
    shown_url = redact_path(url) if isinstance(settings, WebhookSettings) else None
    session = HttpSession(url, shown_url=shown_url, timeouts=_TARGET_TIMEOUTS)
    key = _secret_value(settings.api_key)
    return ThrottledSession(
        session,
        on_call,
        on_failed_call,
        token=StaticToken(key) if key else None,
        concurrency=settings.concurrency,
        rate_limiter=RateLimiter(settings.rate),
    )


def make_marquez_client(
    settings: MarquezSettings,
    on_call: Callable[[str], None] = lambda _: None,
    on_failed_call: Callable[[str], None] = lambda _: None,
) -> MarquezClient:
    """Build a client for the configured Marquez server; raises ConfigError if no URL is configured."""
    url = settings.url
    if url is None:
        raise ConfigError("marquez.url is not set: name the server, such as http://127.0.0.1:5000")
    return MarquezClient(
        make_throttled_session(settings, url, on_call, on_failed_call), attempts=settings.retry_config.max_attempts
    )
