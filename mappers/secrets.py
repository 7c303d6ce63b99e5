"""What looks like a secret, hidden: passwords, tokens and keys are not for a catalogue."""

import re
from typing import Any

MASK = "***"
#: Words of names and options; `passport`, `passenger` and `passed` are no passwords.
_WORDS = r"(?:pass(?!port|enger|iv|ed|age|ing)|pwd|secret|token|(?:api|access|private)[._-]?key|credentials?)"
_NAME = re.compile(rf"{_WORDS}|private|(?:^|_)pw$", re.IGNORECASE)
#: `--password x`, `-password=x`, `PASSWORD=x`, `passwd: x`, with or without quotes.
_NAMED = re.compile(
    rf"((?:^|[\s;&|\"'(])(?:--?)?(?!sshpass\b)[\w.-]*{_WORDS}[\w.-]*(?:\s*[=:]\s*|\s+))(\"[^\"]*\"|'[^']*'|[^\s;&|\"')]+)",
    re.IGNORECASE,
)
#: `user:password@host` of URLs, `user/password@host` of Oracle, `?password=x` and `;password=x` behind either.
_URL = re.compile(r"(://[^\s/:@\"']*:)([^\s@\"'/]+)(@)")
_ORACLE = re.compile(r"(jdbc:oracle:\w+:[^\s/@]*/)([^\s@]+)(@|(?=\s|$))", re.IGNORECASE)
_PARAMETER = re.compile(rf"([?&;:][\w.-]*{_WORDS}[\w.-]*=)([^\s&;\"']+)()", re.IGNORECASE)
_ADDRESS = re.compile(r"://|jdbc:", re.IGNORECASE)
#: `user/password@db` of sqlplus, `-u user:password` of curl, `-pPASSWORD` of mysql.
_LOGIN = re.compile(r"(?<![\w/.-])([A-Za-z_][\w$#.-]*/)([^\s/@\"']+)(@[\w.:/-]+)")
_QUOTED = re.compile(r"([\"'][A-Za-z_][\w$#]*/)([^\s/@\"']+)([\"']?@)")
_CURL = re.compile(r"((?:^|\s)(?:-u|--user)[ =]?[\"']?[^\s:\"']+:)([^\s\"']+)")
_MYSQL = re.compile(r"(\bmysql\w*\b[^;&|]*?\s-p)([^\s\"'-][^\s\"']*)")
_DB2 = re.compile(r"(\bdb2\b[^;&|]*?\busing\s+)([^\s\"';]+)", re.IGNORECASE)
_SQLPLUS = re.compile(r"(\bsqlplus\b[^;&|]*?\s[A-Za-z_][\w$#]*/)([^\s@\"']+)", re.IGNORECASE)
_BTEQ = re.compile(r"(\.logon\s+[^\s,;]+,)([^\s;\"']+)", re.IGNORECASE)
_BEARER = re.compile(r"(\b(?:Bearer|Basic)\s+)([A-Za-z0-9+/_.=~-]{8,})")
_PAIR = re.compile(rf"(name=\"?[\w.-]*{_WORDS}[\w.-]*\"?\s*,\s*value=)(\"[^\"]*\"|\S+)", re.IGNORECASE)
_CLIENT = re.compile(r"(\b(?:isql|bcp|osql|sqlcmd)\b[^;&|]*?\s-P\s*)([^\s\"'-][^\s\"']*)")
_SSHPASS = re.compile(r"(\bsshpass\s+-p\s*)(\S+)")
#: Without any of these there is nothing to hide.
_HINT = re.compile(
    r"pass|pwd|secret|token|key|cred|://|@|\s-[upP]|--user|using|logon|sqlplus|bearer|basic", re.IGNORECASE
)


def is_secret(name: str) -> bool:
    """Tell whether something is called like a secret."""
    return _NAME.search(name) is not None


def masked(text: str) -> str:
    """Give a command with what looks like a secret hidden."""
    if not _HINT.search(text):
        return text
    text = masked_address(text)
    for pattern in (_LOGIN, _QUOTED):
        text = pattern.sub(rf"\g<1>{MASK}\g<3>", text)
    for pattern in (_CURL, _MYSQL, _DB2, _SQLPLUS, _BTEQ, _BEARER, _PAIR, _CLIENT, _SSHPASS, _NAMED):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text


def masked_value(name: str, value: str) -> str:
    """Give a value as it may be kept: nothing of one that is called like a secret, and no secret of any other."""
    return MASK if is_secret(name) else masked(value)


def masked_address(text: str) -> str:
    """Give a text with the passwords of addresses in it hidden, and nothing else."""
    if not _ADDRESS.search(text):
        return text
    for pattern in (_URL, _ORACLE, _PARAMETER):
        text = pattern.sub(rf"\g<1>{MASK}\g<3>", text)
    return text


def without_secrets(value: Any) -> Any:
    """Give a document as it may be kept: without values called like secrets, and passwords in addresses."""
    if isinstance(value, dict):
        return {key: MASK if is_secret(key) else without_secrets(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    return masked_address(value) if isinstance(value, str) else value
