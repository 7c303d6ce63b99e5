"""Where a store lives: named without its password, never made by who only reads."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bridge.errors import IncompatibleStore, StorageFailure, StoreUnreachable
from bridge.store.connect import StoreUrl
from connectors.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://me:secret@db:5432/x", "postgresql://me:***@db:5432/x"),
        ("postgres://me:se%40cret@db/x", "postgres://me:***@db/x"),
        (
            "postgresql://db/x?user=me&password=secret&sslmode=require",
            "postgresql://db/x?user=me&password=***&sslmode=require",
        ),
        ("postgresql://db/x", "postgresql://db/x"),
        ("sqlite:////var/lib/x.db", "/var/lib/x.db"),
    ],
)
def test_a_store_is_named_without_its_password(url: str, name: str) -> None:
    assert StoreUrl(url).name == name


@pytest.mark.parametrize("url", ["mysql://me:secret@db/x", "postgresql://me:sec@ret@db/x", ""])
def test_a_url_that_is_none_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match=r"store\.url") as refused:
        StoreUrl(url).open_for_reading()
    assert "sec" not in str(refused.value)


def test_a_folder_that_cannot_be_entered_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(IncompatibleStore, match=r"the store .* cannot be used: .*Permission denied"):
        StoreUrl(f"sqlite:///{tmp_path}/store.db").open_for_reading()


def test_the_folder_made_for_a_store_is_nobody_elses(tmp_path: Path) -> None:
    StoreUrl(f"sqlite:///{tmp_path}/made/store.db").prepare()
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700


def test_a_store_that_is_looked_at_as_it_is_keeps_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE photos (id INTEGER)")
    before = path.read_bytes()
    with closing(StoreUrl(f"sqlite:///{path}").open_unmigrated()) as db:
        assert db.column_names("photos") == ("id",)
        with pytest.raises(StorageFailure, match="readonly"):
            db.execute("DROP TABLE photos")
    assert path.read_bytes() == before


def test_who_only_reads_makes_no_store(tmp_path: Path) -> None:
    path = tmp_path / "typo" / "store.db"
    with pytest.raises(IncompatibleStore, match=f"no store at {path}"):
        StoreUrl(f"sqlite:///{path}").open_for_reading()
    assert not path.parent.exists()
    StoreUrl(f"sqlite:///{path}").open_for_writing().close()
    StoreUrl(f"sqlite:///{path}").open_for_reading().close()


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(StoreUnreachable, match=r"me:\*\*\*@127\.0\.0\.1:1/x cannot be used") as gone:
        StoreUrl("postgresql://me:secret@127.0.0.1:1/x").prepare()
    assert "secret" not in str(gone.value)


def test_a_store_that_this_user_may_not_write_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = StoreUrl(f"sqlite:///{tmp_path / 'store.db'}")
    location.open_for_writing().close()
    monkeypatch.setattr("bridge.store.connect.os.access", lambda *_: False)
    for opened in (location.open_for_writing, location.open_for_background_writes):
        with pytest.raises(
            IncompatibleStore, match=r"store\.db is not writable by this user: run as the user that owns"
        ):
            opened()
    location.open_for_reading().close()


def test_a_file_without_a_store_in_it_is_no_store_to_read(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with pytest.raises(IncompatibleStore, match="no store at"):
        StoreUrl(f"sqlite:///{path}").open_for_reading()
    assert path.stat().st_size == 0


def test_a_store_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    StoreUrl(f"sqlite:///{path}").open_for_writing().close()
    assert path.stat().st_mode & 0o077 == 0
