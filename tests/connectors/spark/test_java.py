"""Selection of a Java version for a Spark release."""

import re
from pathlib import Path

import pytest

from bridge.doctor.finding import Level
from bridge.doctor.software import check_spark
from connectors.errors import MissingDependency
from connectors.spark import submit
from connectors.spark.releases import find_release
from connectors.spark.submit import find_java


@pytest.fixture
def jvm_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder that is searched."""
    monkeypatch.setattr(submit, "_JVM_FOLDERS", (str(tmp_path),))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setattr("shutil.which", lambda _: None)
    return tmp_path


def install_java(folder: Path, *versions: str) -> None:
    for version in versions:
        java = folder / f"jdk-{version}" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-20' >&2\n", encoding="utf-8")
        java.chmod(0o755)


@pytest.mark.parametrize(
    ("spark", "installed", "selected"),
    [
        ("4.1", ["17.0.18", "25.0.1"], 17),
        ("4.1", ["21.0.2", "25.0.1"], 21),
        ("4.1", ["1.8.0_402", "17.0.18"], 17),
        ("3.5", ["1.8.0_402", "21.0.2"], 8),
        ("3.5", ["11.0.9", "25"], 11),
    ],
)
def test_supported_java_is_selected(jvm_folder: Path, spark: str, installed: list[str], selected: int) -> None:
    install_java(jvm_folder, *installed)
    assert find_java(find_release(spark)).version == selected


@pytest.mark.parametrize(
    ("spark", "installed", "message"),
    [
        ("4.1", [], "Spark 4.1 requires Java 17 or 21; found no Java: install one"),
        ("4.1", ["25.0.1"], r"Spark 4.1 requires Java 17 or 21; found Java 25 in \S+/jdk-25.0.1: install one"),
        ("3.5", ["21.0.2"], r"Spark 3.5 requires Java 8, 11 or 17; found Java 21 in \S+/jdk-21.0.2: install one"),
    ],
)
def test_unsupported_java_is_reported(jvm_folder: Path, spark: str, installed: list[str], message: str) -> None:
    install_java(jvm_folder, *installed)
    with pytest.raises(MissingDependency, match=message):
        find_java(find_release(spark))


def test_java_home_takes_precedence(jvm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_java(jvm_folder, "17.0.18", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(jvm_folder / "jdk-17.0.18"))
    assert find_java(find_release("4.1")).home == jvm_folder / "jdk-17.0.18"


@pytest.mark.parametrize(
    ("installed", "level", "message"),
    [
        (["17.0.18", "25"], Level.ok, r"Spark 4\S+ runs on Java 17 \(\S+/jdk-17.0.18\)"),
        (["25"], Level.warning, r"Spark 4\S+ requires Java 17 or 21; found Java 25 in \S+/jdk-25"),
    ],
)
def test_doctor_reports_java(jvm_folder: Path, installed: list[str], level: Level, message: str) -> None:
    pytest.importorskip("pyspark")
    install_java(jvm_folder, *installed)
    (finding,) = check_spark()
    assert (finding.level, bool(re.fullmatch(message, finding.message))) == (level, True), finding
