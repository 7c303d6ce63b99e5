"""Commands without their secrets: what looks like a password is not for a catalogue."""

import re

MASK = "***"
_WORDS = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
#: `--password x`, `-password=x`, `PASSWORD=x`, `passwd: x`, with or without quotes.
_NAMED = re.compile(
    rf"((?:^|[\s;&|\"'(])(?:--?)?[\w.-]*{_WORDS}[\w.-]*(?:\s*[=:]\s*|\s+))(\"[^\"]*\"|'[^']*'|[^\s;&|\"')]+)",
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


def masked(text: str) -> str:
    """Give a command with what looks like a secret hidden."""
    for pattern in (_URL, _LOGIN):
        text = pattern.sub(rf"\g<1>{MASK}\g<3>", text)
    for pattern in (_CURL, _MYSQL, _DB2, _SQLPLUS, _BTEQ, _NAMED):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text
