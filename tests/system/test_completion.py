"""Shell completion, also in a real bash on a pseudo-terminal."""

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app
from tests.system.service import ROOT, until


def completion_script(shell: str) -> str:
    result = CliRunner().invoke(app, ["completion", shell], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


class Terminal:
    """The controlling end of a pseudo-terminal."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.shown = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while part := os.read(self._number, 1 << 12):
                self.shown += part
        except OSError:
            return  # the shell exited

    def type(self, text: str) -> None:
        os.write(self._number, text.encode())

    def await_shown(self, text: str) -> None:
        until(lambda: text.encode() in self.shown, f"{text!r} on the terminal, which shows {self.shown!r}")


@contextmanager
def bash(folder: Path) -> Iterator[Terminal]:
    """Run bash on a pseudo-terminal, with the lineage-bridge of this checkout in PATH."""
    command = folder / "lineage-bridge"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m bridge "$@"\n')
    command.chmod(0o755)
    controller, terminal = pty.openpty()
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TERM": "dumb",
        "PS1": "> ",
    }
    arguments = ["bash", "--norc", "--noprofile", "-i"]
    with subprocess.Popen(
        arguments,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ) as shell:
        os.close(terminal)
        try:
            yield Terminal(controller)
        finally:
            shell.kill()
            os.close(controller)


@pytest.mark.system("bash")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("lineage-bridge ru", "lineage-bridge runs "),
        ("lineage-bridge rejected re", "lineage-bridge rejected retry "),
        ("lineage-bridge runs --fai", "lineage-bridge runs --failed "),
        ("lineage-bridge lineage --output mer", "lineage-bridge lineage --output mermaid "),
    ],
)
def test_bash_completes_commands_options_and_values(tmp_path: Path, typed: str, completed: str) -> None:
    with bash(tmp_path) as terminal:
        terminal.type("source <(lineage-bridge completion bash); echo is $((40 + 2))\n")
        terminal.await_shown("is 42")
        terminal.type(f"{typed}\t")
        terminal.await_shown(completed)


@pytest.mark.parametrize(
    ("shell", "registration"),
    [
        ("bash", "complete -o default -F _lineage_bridge_completion lineage-bridge"),
        ("zsh", "#compdef lineage-bridge"),
        ("fish", "complete --command lineage-bridge"),
    ],
)
def test_completion_script_of_each_shell(shell: str, registration: str) -> None:
    assert registration in completion_script(shell)
    assert f"_LINEAGE_BRIDGE_COMPLETE=complete_{shell}" in completion_script(shell)


@pytest.mark.parametrize(
    ("shell", "variables"),
    [
        ("bash", {"COMP_WORDS": "lineage-bridge ru", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "lineage-bridge ru"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "lineage-bridge ru", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_completion_request_of_each_shell(shell: str, variables: dict[str, str]) -> None:
    environment = os.environ | variables | {"_LINEAGE_BRIDGE_COMPLETE": f"complete_{shell}"}
    result = subprocess.run(
        [sys.executable, "-m", "bridge"], env=environment, cwd=ROOT, capture_output=True, check=True
    )
    assert b"runs" in result.stdout
    assert b"rejected" not in result.stdout
