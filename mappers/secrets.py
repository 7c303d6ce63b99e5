"""What looks like a secret, hidden: passwords, tokens and keys are not for a catalogue."""

import re
from typing import Any

MASK = "***"
#: Words of names and options; `passport`, `passenger` and `passed` are no passwords.
_KEYS = r"(?:api|access|private|account|storage|shared)[._-]?key"
_WORDS = rf"(?:pass(?!port|enger|iv|ed|age|ing)|pwd|secret|token|{_KEYS}|credentials?)"
_NAME = re.compile(rf"{_WORDS}|private|(?:^|_)pw$", re.IGNORECASE)
#: What a secret may look like; quotes keep blanks together.
_VALUE = r"(N?\"[^\"]*\"|N?'[^']*'|[^\s;&|\"')]+)"
_NO_OPTION = r"(?![-=:])(\"[^\"]*\"|'[^']*'|[^\s;&|\"')]+)"
_BEFORE = r"(?:^|[\s;&|\"'({])"
#: `-password=x`, `PASSWORD=x`, `/password:x`, `"passwd": "x"`; `--password x`, `password 'x'`, but no option there.
_NAMED = (
    re.compile(rf"({_BEFORE}[-/]{{0,2}}[\w.-]*{_WORDS}[\w.-]*[\"']?\s*[=:]\s*){_VALUE}", re.IGNORECASE),
    re.compile(
        rf"({_BEFORE}(?:--?[\w.-]*{_WORDS}[\w.-]*|(?:password|passwd|passphrase))\s+){_NO_OPTION}", re.IGNORECASE
    ),
)
#: `user:password@host` of URLs, `user/password@host` of Oracle; `?password=x`, `;password=x`, `,password=x` behind.
_URL = re.compile(r"(://[^\s/:@\"']*:)([^\s@\"'/]+)(@)")
_ORACLE = re.compile(r"(jdbc:oracle:\w+:[^\s/@]*/)([^\s@]+)(@|(?=\s|$))", re.IGNORECASE)
_PARAMETER = re.compile(rf"([?&;:][\w.-]*{_WORDS}[\w.-]*=)([^\s&;\"']+)()", re.IGNORECASE)
_PROPERTY = re.compile(rf"([,/][\w.-]*{_WORDS}[\w.-]*=)('[^']*'|[^\s&;,\"']+)()", re.IGNORECASE)
_ADDRESS = re.compile(r"://|jdbc:", re.IGNORECASE)
#: `user/password@db` of sqlplus.
_LOGIN = re.compile(r"(?<![\w/.-])([A-Za-z_][\w$#.-]*/)([^\s/@\"']+)(@[\w.:/-]+)")
_QUOTED = re.compile(r"([\"'][A-Za-z_][\w$#]*/)([^\s/@\"']+)([\"']?@)")
#: The rest of a command, from its program on: what stands in quotes belongs to it.
_REST = r"\b(?:[^;&|\"']|\"[^\"]*\"|'[^']*')*?"
#: Options behind which, or in which, stands a secret: what they mean depends on the program.
_OPTIONS = {
    "mysql\\w*|mariadb\\w*|7z\\w*": r"-p(?=\S)", "isql|bcp|osql|sqlcmd|tsql": r"-P\s*", "sshpass": r"-p\s*",
    "beeline|pmcmd|pmrep|tdload|mongo\\w*": r"-p\s+", "pmrep": r"-x\s+", "redis-cli": r"-a\s+",
    "ldap\\w+": r"-w\s*", "nz\\w+|plink|pscp|psftp": r"-pw\s+", "unzip|zip": r"-P\s*", "openssl": r"-[kK]\s+",
    "lftp|ncftp\\w*": r"-u\s*[^\s,]+,",
    "smb\\w+": r"(?:-U\s*|--user[= ])[^\s%]+%",
}  # fmt: skip
_PROGRAMS = tuple(
    re.compile(rf"(\b(?:{program}){_REST}\s{option}){_NO_OPTION}") for program, option in _OPTIONS.items()
)
_LIKE = (
    # `-u user:password` of curl and others; an address is none.
    re.compile(r"((?:^|\s)(?:-u|--user)[ =]?[\"']?(?!\S*://)[^\s:\"']+:)([^\s\"']+)"),
    re.compile(r"(\b(?:db2\b[^;&|]*?|user\s+\S+\s+)\busing\s+)([^\s\"';]+)", re.IGNORECASE),
    # `user/password` of Oracle's programs.
    re.compile(r"(\bsqlplus\b[^;&|]*?\s[\"']?[A-Za-z_][\w$#]*/)([^\s@\"']+)", re.IGNORECASE),
    re.compile(
        r"(\b(?:exp|imp|expdp|impdp|sqlldr|sqlcl|rman(?:\s+(?:target|catalog|auxiliary))+)(?:\s+-\S+)*"
        r"\s+[\"']?[A-Za-z_][\w$#]*/)([^\s@\"'/]+)(?![^\s@]*/)", re.IGNORECASE),
    re.compile(r"(\buserid\s*=\s*[\"']?[^\s/\"'@]*/)([^\s@\"']+)", re.IGNORECASE),
    re.compile(r"(\.logon\s+[^\s,;]+,)([^\s;\"']+)", re.IGNORECASE),
    re.compile(r"(\b(?:Bearer|Basic)\s+)([A-Za-z0-9+/_.=~-]{8,})"),
    re.compile(rf"(name=\"?[\w.-]*{_WORDS}[\w.-]*\"?\s*,\s*value=)(\"[^\"]*\"|\S+)", re.IGNORECASE),
    # SQL that makes or changes a user.
    re.compile(rf"(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:values\s+)?){_VALUE}", re.IGNORECASE),
    re.compile(rf"(\bidentified\s+by\s+\S+\s+replace\s+){_VALUE}", re.IGNORECASE),
)  # fmt: skip
#: Without any of these there is nothing to hide.
_HINT = re.compile(
    r"pass|pwd|secret|token|key|cred|://|jdbc:|@|\s-[aAkKpPuUwx]|--user|userid|using|logon|identified|bearer|basic"
    r"|sqlplus|sqlldr|sqlcl|rman|\b(?:exp|imp)", re.IGNORECASE
)  # fmt: skip


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
    for pattern in (*_PROGRAMS, *_LIKE, _PROPERTY, *_NAMED):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text


def masked_value(name: str, value: str) -> str:
    """Give a value as it may be kept: nothing of one that is called like a secret, and no secret of any other."""
    return MASK if is_secret(name) else masked(value)


def masked_address(text: str) -> str:
    """Give a text with the passwords of addresses in it hidden, and nothing else."""
    if not _ADDRESS.search(text):
        return text
    for pattern in (_URL, _ORACLE, _PARAMETER, _PROPERTY):
        text = pattern.sub(rf"\g<1>{MASK}\g<3>", text)
    return text


def without_secrets(value: Any) -> Any:
    """Give a document as it may be kept: without values called like secrets, and passwords in addresses."""
    if isinstance(value, dict):
        return {key: MASK if is_secret(key) else without_secrets(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    return masked_address(value) if isinstance(value, str) else value
