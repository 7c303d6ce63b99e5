"""Redaction of secrets in commands, values and documents."""

from typing import Any

import pytest

from mappers.redaction import is_secret_name, redact_command, redact_document, redact_value

SECRETS = {
    "sqlplus scott/tiger@orcl @x": "sqlplus scott/***@orcl @x", "sqlplus -s scott/tiger": "sqlplus -s scott/***",
    "x --password hunter2 -f a": "x --password *** -f a", "curl -u ann:pw http://x": "curl -u ann:*** http://x",
    "PASSWORD='a b' ./run": "PASSWORD=*** ./run", "mysql -u r -psecret d": "mysql -u r -p*** d",
    "jdbc:db2://u:p@h/db": "jdbc:db2://u:***@h/db", "db2 connect to X user u using pw": "db2 connect to X user u using ***",
    'curl -H "Authorization: Bearer abcdefgh123"': 'curl -H "Authorization: Bearer ***"', "sshpass -p pw ssh h": "sshpass -p *** ssh h",
    'sqlplus -s "scott/tiger"@DB': 'sqlplus -s "scott/***"@DB', "isql -Usa -Ppw1": "isql -Usa -P***",
    "./x --token=abc": "./x --token=***", ".logon host/u,pw;": ".logon host/u,***;", "cp /a/b /c/d": "cp /a/b /c/d",
    "sftp u@h:/p": "sftp u@h:/p", "curl http://h/x?password=pw": "curl http://h/x?password=***",
    "beeline -u jdbc:hive2://h -n u -p SEKRET": "beeline -u jdbc:hive2://h -n u -p ***",
    'beeline -u "jdbc:hive2://h;ssl=true" -n u -p SEKRET': 'beeline -u "jdbc:hive2://h;ssl=true" -n u -p ***',
    "openssl enc -k mysecret -in /a/1": "openssl enc -k *** -in /a/1", "passwd --stdin": "passwd --stdin",
    "cp secrets.txt /x": "cp secrets.txt /x", "pwd; x": "pwd; x", "openssl enc -passin pass:x -in /a": "openssl enc -passin *** -in /a",
    "sqlldr userid=scott/tiger control=a/b.ctl": "sqlldr userid=scott/*** control=a/b.ctl", "sqlldr scott/x a/b.ctl": "sqlldr scott/*** a/b.ctl",
    "sqlldr control=a/b.ctl userid='scott/tiger'": "sqlldr control=a/b.ctl userid='scott/***'",
    "exp scott/x file=a": "exp scott/*** file=a", "impdp system/x directory=d": "impdp system/*** directory=d",
    "rman target sys/x": "rman target sys/***", "/bin/exp /a/b": "/bin/exp /a/b",
    "lftp -u u,pw h": "lftp -u u,*** h", "pmcmd startworkflow -u u -p pw w": "pmcmd startworkflow -u u -p *** w",
    "tdload -u u -p pw": "tdload -u u -p ***", "nzsql -u u -pw pw -f a": "nzsql -u u -pw *** -f a",
    "mongo -u u -p pw db": "mongo -u u -p *** db", "mongo --port 1 db": "mongo --port 1 db", "redis-cli -p 6379 -a pw": "redis-cli -p 6379 -a ***",
    "ldapsearch -D x -w pw -b y": "ldapsearch -D x -w *** -b y", "unzip -P pw a.zip": "unzip -P *** a.zip",
    "smbclient //h/s -U u%pw": "smbclient //h/s -U u%***", "mount -o ro,password=pw,user=u //h /m": "mount -o ro,password=***,user=u //h /m",
    "mount -o password=pw //h /m": "mount -o password=*** //h /m",
    "az storage blob upload --account-key k==": "az storage blob upload --account-key ***", "x.exe /password:pw /q": "x.exe /password:*** /q",
    "alter user u identified by SEKRET": "alter user u identified by ***", "GRANT x TO u IDENTIFIED BY 'a b'; x": "GRANT x TO u IDENTIFIED BY ***; x",
    "alter user u identified by values 'S:1' x": "alter user u identified by values *** x",
    "alter user u identified by new replace old": "alter user u identified by *** replace ***",
    "create user u with password = N'a b'": "create user u with password = ***", "create user u password 'x'": "create user u password ***",
    "connect to D user u using pw": "connect to D user u using ***", "select token from t": "select token from t",
    "jdbc:teradata://h/DATABASE=D,USER=u,PASSWORD=TopSecret99": "jdbc:teradata://h/DATABASE=D,USER=u,PASSWORD=***",
    "jdbc:teradata://h/PASSWORD=TopSecret99,USER=u": "jdbc:teradata://h/PASSWORD=***,USER=u",
    '{"password": "x"}': '{"password": ***}', "grep -p a b": "grep -p a b",
    "./x --dbpass pw --passport p": "./x --dbpass *** --passport p", "cp passengers.csv /x": "cp passengers.csv /x",
}  # fmt: skip


@pytest.mark.parametrize(("text", "safe"), SECRETS.items())
def test_secrets_in_commands_are_redacted(text: str, safe: str) -> None:
    assert redact_command(text) == safe


NAMES = {
    "password": True, "DB_PASSWD": True, "passphrase": True, "db_pass": True, "ftp_pwd": True, "user_pw": True,
    "client_secret": True, "apiToken": True, "api-key": True, "accessKey": True, "fs.s3a.access.key": True,
    "private": True, "private_key": True, "credential": True, "passport": False, "passed": False, "passengers": False,
    "key": False, "keys": False, "owner": False,
}  # fmt: skip


@pytest.mark.parametrize(("name", "secret"), NAMES.items())
def test_secret_names(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_values_are_redacted_by_name_or_content() -> None:
    values = {"db_password": "x", "connect": "u/x@db", "owner": "ann"}
    assert [redact_value(*item) for item in values.items()] == ["***", "u/***@db", "ann"]


DOCUMENTS: list[tuple[Any, Any]] = [
    ({"options": {"user": "ann", "password": "x"}}, {"options": {"user": "ann", "password": "***"}}),
    (
        {"options": {"fs.s3a.secret.key": "x", "apiToken": "y"}},
        {"options": {"fs.s3a.secret.key": "***", "apiToken": "***"}},
    ),
    ({"url": "jdbc:mysql://ann:x@db/shop"}, {"url": "jdbc:mysql://ann:***@db/shop"}),
    ({"url": "jdbc:oracle:thin:scott/x@//db:1521/shop"}, {"url": "jdbc:oracle:thin:scott/***@//db:1521/shop"}),
    ({"url": "jdbc:sqlserver://db;user=ann;password=x;"}, {"url": "jdbc:sqlserver://db;user=ann;password=***;"}),
    ({"url": "jdbc:teradata://h/USER=u,PASSWORD=x,LOG=y"}, {"url": "jdbc:teradata://h/USER=u,PASSWORD=***,LOG=y"}),
    ({"url": "https://h/x?token=y&z=1"}, {"url": "https://h/x?token=***&z=1"}),
    ([{"sql": "SELECT token FROM t WHERE password = 'x'"}], [{"sql": "SELECT token FROM t WHERE password = 'x'"}]),
    ({"dataset": "sales/daily@v1"}, {"dataset": "sales/daily@v1"}),
    ([{"sql": "SELECT passport FROM t"}, 1, None], [{"sql": "SELECT passport FROM t"}, 1, None]),
    ({"passport": "kept", "keys": ["id"]}, {"passport": "kept", "keys": ["id"]}),
]


@pytest.mark.parametrize(("document", "redacted"), DOCUMENTS)
def test_only_secrets_in_documents_are_redacted(document: Any, redacted: Any) -> None:
    assert redact_document(document) == redacted
