"""The same files through Spark: what is true of those of this machine is true of all."""

from pathlib import Path
from typing import Any

import pytest

from connectors.spark.file_system import HadoopFileSystem, LocalFileSystem
from tests.connectors.spark.file_system_cases import CASES, check_case

pytestmark = [
    pytest.mark.system("java", "spark"),
    pytest.mark.timeout(300),
    # Py4J leaves the sockets of its gateway to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
@pytest.mark.parametrize("case", CASES)
def test_files_through_spark(tmp_path: Path, spark: Any, case: str, scheme: str) -> None:
    check_case(HadoopFileSystem(lambda: spark), tmp_path, CASES[case], scheme)


def test_both_tell_the_same_of_a_file(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "a").write_bytes(b"123")
    through = [
        one._replace(path=one.path.removeprefix("file:"))
        for one in HadoopFileSystem(lambda: spark).files(str(tmp_path))
    ]
    assert through == LocalFileSystem().files(str(tmp_path))
