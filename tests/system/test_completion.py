"""Completion, asked by a real bash at a real terminal."""

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


def script(shell: str) -> str:
    done = CliRunner().invoke(app, ["completion", shell], catch_exceptions=False)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


class Terminal:
    """A terminal: what is typed, and what is shown."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.shown = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while part := os.read(self._number, 1 << 12):
                self.shown += part
        except OSError:
            return  # the shell has ended

    def type(self, text: str) -> None:
        os.write(self._number, text.encode())

    def await_shown(self, text: str) -> None:
        until(lambda: text.encode() in self.shown, f"{text!r} on the terminal, which shows {self.shown!r}")


@contextmanager
def bash(folder: Path) -> Iterator[Terminal]:
    """Run bash at a terminal, with the command of this checkout in its path."""
    command = folder / "lineage-bridge"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m bridge "$@"\n')
    command.chmod(0o755)
    ours, theirs = pty.openpty()
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TERM": "dumb",
        "PS1": "> ",
    }
    words = ["bash", "--norc", "--noprofile", "-i"]
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder, start_new_session=True
    ) as shell:
        os.close(theirs)
        try:
            yield Terminal(ours)
        finally:
            shell.kill()
            os.close(ours)


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
    ("shell", "said"),
    [
        ("bash", "complete -o default -F _lineage_bridge_completion lineage-bridge"),
        ("zsh", "#compdef lineage-bridge"),
        ("fish", "complete --command lineage-bridge"),
    ],
)
def test_each_shell_asks_the_command_itself(shell: str, said: str) -> None:
    assert said in script(shell)
    assert f"_LINEAGE_BRIDGE_COMPLETE=complete_{shell}" in script(shell)


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", {"COMP_WORDS": "lineage-bridge ru", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "lineage-bridge ru"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "lineage-bridge ru", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_what_a_shell_asks_is_answered(shell: str, asked: dict[str, str]) -> None:
    environment = os.environ | asked | {"_LINEAGE_BRIDGE_COMPLETE": f"complete_{shell}"}
    done = subprocess.run(
        [sys.executable, "-m", "bridge"], env=environment, cwd=ROOT, capture_output=True, check=True
    )
    assert b"runs" in done.stdout
    assert b"rejected" not in done.stdout
