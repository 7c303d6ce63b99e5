"""Store URLs: display names, opening stores, and errors."""

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
def test_store_name_omits_password(url: str, name: str) -> None:
    assert StoreUrl(url).name == name


@pytest.mark.parametrize("url", ["mysql://me:secret@db/x", "postgresql://me:sec@ret@db/x", ""])
def test_invalid_url_is_rejected_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match=r"store\.url") as raised:
        StoreUrl(url).open_for_reading()
    assert "sec" not in str(raised.value)


def test_inaccessible_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", deny)
    with pytest.raises(IncompatibleStore, match=r"the store .* cannot be used: .*Permission denied"):
        StoreUrl(f"sqlite:///{tmp_path}/store.db").open_for_reading()


def test_store_folder_is_accessible_to_its_owner_only(tmp_path: Path) -> None:
    StoreUrl(f"sqlite:///{tmp_path}/made/store.db").prepare()
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700


def test_open_unmigrated_changes_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE photos (id INTEGER)")
    before = path.read_bytes()
    with closing(StoreUrl(f"sqlite:///{path}").open_unmigrated()) as db:
        assert db.column_names("photos") == ("id",)
        with pytest.raises(StorageFailure, match="readonly"):
            db.execute("DROP TABLE photos")
    assert path.read_bytes() == before


def test_open_for_reading_creates_no_store(tmp_path: Path) -> None:
    path = tmp_path / "typo" / "store.db"
    with pytest.raises(IncompatibleStore, match=f"no store at {path}"):
        StoreUrl(f"sqlite:///{path}").open_for_reading()
    assert not path.parent.exists()
    StoreUrl(f"sqlite:///{path}").open_for_writing().close()
    StoreUrl(f"sqlite:///{path}").open_for_reading().close()


def test_unreachable_server_is_named_without_password() -> None:
    with pytest.raises(StoreUnreachable, match=r"me:\*\*\*@127\.0\.0\.1:1/x cannot be used") as raised:
        StoreUrl("postgresql://me:secret@127.0.0.1:1/x").prepare()
    assert "secret" not in str(raised.value)


def test_unwritable_store_is_reported_with_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_url = StoreUrl(f"sqlite:///{tmp_path / 'store.db'}")
    store_url.open_for_writing().close()
    monkeypatch.setattr("bridge.store.connect.os.access", lambda *_: False)
    for open_store in (store_url.open_for_writing, store_url.open_for_background_writes):
        with pytest.raises(
            IncompatibleStore, match=r"store\.db is not writable by this user: run as the user that owns"
        ):
            open_store()
    store_url.open_for_reading().close()


def test_empty_file_is_not_a_readable_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with pytest.raises(IncompatibleStore, match="no store at"):
        StoreUrl(f"sqlite:///{path}").open_for_reading()
    assert path.stat().st_size == 0


def test_store_file_is_accessible_to_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    StoreUrl(f"sqlite:///{path}").open_for_writing().close()
    assert path.stat().st_mode & 0o077 == 0
