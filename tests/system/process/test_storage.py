"""The file system cases through Hadoop."""

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
def test_hadoop_file_system(tmp_path: Path, spark: Any, case: str, scheme: str) -> None:
    check_case(HadoopFileSystem(lambda: spark), tmp_path, CASES[case], scheme)


def test_hadoop_and_local_file_system_list_equal_files(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "a").write_bytes(b"123")
    hadoop_files = [
        file._replace(path=file.path.removeprefix("file:"))
        for file in HadoopFileSystem(lambda: spark).list_files(str(tmp_path))
    ]
    assert hadoop_files == LocalFileSystem().list_files(str(tmp_path))
