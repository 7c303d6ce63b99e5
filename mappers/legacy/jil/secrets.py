"""Commands without their secrets: what looks like a password is not for a catalogue."""

import re

MASK = "***"
_WORDS = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
#: `--password x`, `-password=x`, `PASSWORD=x`, `passwd: x`, with or without quotes.
_NAMED = re.compile(
    rf"((?:^|[\s;&|\"'(])(?:--?)?(?!sshpass\b)[\w.-]*{_WORDS}[\w.-]*(?:\s*[=:]\s*|\s+))(\"[^\"]*\"|'[^']*'|[^\s;&|\"')]+)",
    re.IGNORECASE,
)
#: `user/password@db` of sqlplus, `user:password@host` of URLs, `-u user:password` of curl, `-pPASSWORD` of mysql.
_LOGIN = re.compile(r"(?<![\w/.-])([A-Za-z_][\w$#.-]*/)([^\s/@\"']+)(@[\w.:/-]+)")
_URL = re.compile(r"(://[^\s/:@\"']*:)([^\s@\"'/]+)(@)")
_CURL = re.compile(r"((?:^|\s)(?:-u|--user)[ =]?[\"']?[^\s:\"']+:)([^\s\"']+)")
_MYSQL = re.compile(r"(\bmysql\w*\b[^;&|]*?\s-p)([^\s\"'-][^\s\"']*)")
_DB2 = re.compile(r"(\bdb2\b[^;&|]*?\busing\s+)([^\s\"';]+)", re.IGNORECASE)


_SQLPLUS = re.compile(r"(\bsqlplus\b[^;&|]*?\s[A-Za-z_][\w$#]*/)([^\s@\"']+)", re.IGNORECASE)
_BTEQ = re.compile(r"(\.logon\s+[^\s,;]+,)([^\s;\"']+)", re.IGNORECASE)


_BEARER = re.compile(r"(\b(?:Bearer|Basic)\s+)([A-Za-z0-9+/_.=~-]{8,})")
_PAIR = re.compile(rf"(name=\"?[\w.-]*(?:{_WORDS}|pwd)[\w.-]*\"?\s*,\s*value=)(\"[^\"]*\"|\S+)", re.IGNORECASE)
_QUOTED = re.compile(r"([\"'][A-Za-z_][\w$#]*/)([^\s/@\"']+)([\"']?@)")
_CLIENT = re.compile(r"(\b(?:isql|bcp|osql|sqlcmd)\b[^;&|]*?\s-P\s*)([^\s\"'-][^\s\"']*)")
_SSHPASS = re.compile(r"(\bsshpass\s+-p\s*)(\S+)")
#: Without any of these there is nothing to hide.
_HINT = re.compile(
    r"pass|pwd|secret|token|key|cred|://|@|\s-[upP]|--user|using|logon|sqlplus|bearer|basic", re.IGNORECASE
)
_NAME = re.compile(rf"{_WORDS}|(?:^|_)pw$|_pwd", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Tell whether something is called like a secret."""
    return _NAME.search(name) is not None


def masked(text: str) -> str:
    """Give a command with what looks like a secret hidden."""
    if not _HINT.search(text):
        return text
    for pattern in (_URL, _LOGIN, _QUOTED):
        text = pattern.sub(rf"\g<1>{MASK}\g<3>", text)
    for pattern in (_CURL, _MYSQL, _DB2, _SQLPLUS, _BTEQ, _BEARER, _PAIR, _CLIENT, _SSHPASS, _NAMED):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text
