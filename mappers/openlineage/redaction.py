"""Redacts passwords, tokens and keys in OpenLineage events and in inputs that are not events."""

import re
from typing import Any

import msgspec

from mappers.cache import bounded_lru_cache
from mappers.redaction import MASK, redact_url

_PASSWORD_HINT = re.compile(rb":[^\s/:@\"']++@|jdbc:oracle:\w+:[^\s/:@]*/")
_KEY_NAME = r"(?:api|access|private|account|storage|shared)[._-]?(?:access[._-]?)?key"
_KEY_HINT = re.compile(_KEY_NAME.encode())
#: Not `bypass` or `passed`.
_PASS_HINT = re.compile(rb"passw|passp|(?<![a-z])pass(?![a-z])")
_SIGNATURE_HINT = re.compile(rb"[?&](?:sig|x-amz-signature)=")
#: Names of secrets. Unlike in commands, `pass` is the name of a secret only as a whole word, and counts are not.
_SECRET_WORD = (
    rf"(?:passw(?:or)?d|passphrase|(?<![a-z])pass(?![a-z])|pwd|secret|token(?!i|s?[._-]?(?:count|type|length|limit))"
    rf"|credentials?|authorization|{_KEY_NAME})"
)
_SECRET_NAME = re.compile(rf"{_SECRET_WORD}|(?:^|[._-])pw$", re.IGNORECASE)
#: Values that reveal nothing: empty, masked, or the answer to whether there is a secret.
_HARMLESS_VALUE = re.compile(r"\**(?:\(redacted\))?|true|false|null|none|\[?redacted\]?", re.IGNORECASE)
_NAME = rf"(?<![\w.-])(?=[\w.-]*?{_SECRET_WORD})[\w.-]++"
_VALUE = r"(N?\"[^\"]*\"|N?'[^']*'|[^\s;,&|\"'(){}\[\]]+)"
#: `password=x` and `"password": "x"`; in text with blanks around the separator, only quoted values are redacted.
_ASSIGNMENTS = (
    re.compile(rf"({_NAME}[\"']?(?:=|\s*+[=:]\s*+(?=[\"'])))(?!\*\*\*){_VALUE}", re.IGNORECASE),
    re.compile(r"((?<![\w.-])(?:password|passwd|passphrase|pwd|secret)(?:\s*+:\s*+|\s++(?=')))(?!\*\*\*)"
               rf"{_VALUE}", re.IGNORECASE),
)  # fmt: skip
#: In SQL, `a.token = b.token` compares columns, so only literals are redacted.
_SQL_LITERALS = re.compile(rf"({_NAME}[\"'`]?\s*+(?:=>?|:)?\s*+)(?!N?'\*\*\*')(N?'[^']*'|\"[^\"]*\")", re.IGNORECASE)
_STATEMENTS = (
    re.compile(rf"(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:values\s+)?){_VALUE}", re.IGNORECASE),
    re.compile(rf"(\bidentified\s+(?:with\s+\S+\s+)?by\s+\S+\s+replace\s+){_VALUE}", re.IGNORECASE),
    re.compile(r"(\b(?:Bearer|Basic)\s+)([A-Za-z0-9+/_.=~-]{8,})"),
    re.compile(r"([?&](?:sig|X-Amz-Signature)=)([^\s&;\"']+)", re.IGNORECASE),
)  # fmt: skip
_SQL_KEYS = frozenset({"query", "sql", "statement", "command"})
#: User and password of a URL, only if there is a password: `abfss://container@account` has none.
_USER_INFO = re.compile(r"(://)[^\s/:@\"']*:[^\s@\"'/]*@")
_ORACLE_USER_INFO = re.compile(r"(jdbc:oracle:\w+:)[^\s/:@]*/(?:(?!jdbc:)[^\s@])++(?=@)", re.IGNORECASE)
_PASSWORD_PARAMETER = re.compile(rf"[?&;,]{_NAME}=[^\s&;,\"']*".replace(r"(?<![\w.-])", ""), re.IGNORECASE)
_USER_PARAMETER = re.compile(r"[?&;,](?:user(?:name)?|login|uid)=[^\s&;,\"']*", re.IGNORECASE)


def may_contain_secrets(body: bytes) -> bool:
    """Check quickly whether an input needs a closer look; most events do not.

    Searching for each text is several times faster than a regular expression or a loop. A text that several words
    have in common is searched first.
    """
    lower_body = body.lower()
    return (
        (b"pass" in lower_body and _PASS_HINT.search(lower_body) is not None)
        or b"pwd" in lower_body
        or (b"cre" in lower_body and (b"secret" in lower_body or b"credential" in lower_body))
        or b"bearer" in lower_body
        or b"identified" in lower_body
        or (b"ke" in lower_body and (b"token" in lower_body or _KEY_HINT.search(lower_body) is not None))
        or (b"@" in lower_body and _PASSWORD_HINT.search(lower_body) is not None)
        or (b"=" in lower_body and _SIGNATURE_HINT.search(lower_body) is not None)
    )


@bounded_lru_cache(4096)
def _is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def redact_event(body: bytes) -> bytes:
    """Return an event without its secrets; an event without secrets, or invalid JSON, is returned unchanged."""
    if not may_contain_secrets(body):
        return body
    try:
        return _redact_json(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body


def redact_input(body: bytes) -> bytes:
    """Redact an input of any format, such as a rejected one."""
    if not may_contain_secrets(body):
        return body
    try:
        return _redact_json(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return redact_text(body.decode("latin-1")).encode("latin-1")


def _redact_json(body: bytes) -> bytes:
    document = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    enclosed_document = [document]
    return msgspec.json.encode(enclosed_document[0]) if _redact_members(enclosed_document) else body


def redact_name(name: str) -> str:
    """Remove the credentials from the name of a dataset or namespace, if they contain a password."""
    redacted = _ORACLE_USER_INFO.sub(r"\g<1>", _USER_INFO.sub(r"\g<1>", name))
    redacted, count = _PASSWORD_PARAMETER.subn("", redacted)
    return _USER_PARAMETER.sub("", redacted) if count else redacted


def _redact_members(document: Any) -> bool:
    """Redact the strings of a document in place, at any depth; returns whether anything changed."""
    changed = False
    pending: list[tuple[Any, str]] = [(document, "")]
    while pending:
        container, enclosing_name = pending.pop()
        members = container.items() if isinstance(container, dict) else enumerate(container)
        pair_name = _pair_name(container) if isinstance(container, dict) else None
        has_name = isinstance(container, dict) and isinstance(container.get("namespace"), str)
        for key, value in list(members):
            name = key if isinstance(key, str) else enclosing_name
            if isinstance(value, dict | list):
                pending.append((value, name))
            elif isinstance(value, str) and value:
                if has_name and name in {"namespace", "name"}:
                    redacted = redact_name(value)
                else:
                    redacted = _redact_member(pair_name if name == "value" and pair_name else name, value)
                if redacted != value:
                    container[key] = redacted
                    changed = True
    return changed


def _pair_name(container: dict[str, Any]) -> str | None:
    """Return the name of an object such as `{"name": "password", "value": "x"}`."""
    return next((container[key] for key in ("name", "key") if isinstance(container.get(key), str)), None)


def _redact_member(name: str, value: str) -> str:
    if _is_secret_name(name):
        return value if _HARMLESS_VALUE.fullmatch(value) else MASK
    return redact_text(value, is_sql=name.lower() in _SQL_KEYS)


def redact_text(text: str, *, is_sql: bool = False) -> str:
    if not may_contain_secrets(text.encode(errors="replace")):
        return text
    text = redact_url(text)
    for pattern in (_SQL_LITERALS,) if is_sql else _ASSIGNMENTS:
        text = pattern.sub(_mask, text)
    for pattern in _STATEMENTS:
        text = pattern.sub(_mask, text)
    return text


def _mask(match: re.Match[str]) -> str:
    """Replace the second group, including its quotes, unless its value reveals nothing."""
    value = match[2]
    if _HARMLESS_VALUE.fullmatch(value.strip("\"'")):
        return match[0]
    quote = value[-1] if value[-1] in "\"'" else ""
    return f"{match[1]}{quote}{MASK}{quote}"
