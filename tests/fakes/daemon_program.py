"""A stand-in for `python -m daemon COMMAND` and for programs of the machine, without a process.

It answers with the test's documents and records the calls.
"""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from momo_cli import system

Document = dict[str, Any]


class Became(BaseException):
    """The process would have been replaced by another program; carries its command line."""


class FakeProgram:
    """Replacement for `subprocess.run`, `subprocess.Popen` and `os.execve`.

    Attributes:
        says: Command (its first words, or all of them with their flags but --json) -> document and exit code.
        asked: The command line of each call.
    """

    def __init__(self) -> None:
        self.says: dict[str, tuple[Document, int]] = {}
        self.asked: list[list[str]] = []

    def run(self, words: Sequence[str], **kwargs: Any) -> subprocess.CompletedProcess[Any]:
        """Answer as the program does."""
        self.asked.append(list(words))
        before = system.python_argv("daemon")
        if list(words[: len(before)]) != before:
            return subprocess.CompletedProcess(words, 0, "", "")
        plain = [word for word in words[len(before) :] if not word.startswith("-")]
        flagged = " ".join(word for word in words[len(before) :] if word != "--json")
        names = [flagged, " ".join(plain[:2]), *plain[:1]]
        found = next((self.says[name] for name in names if name in self.says), None)
        if found is None:
            raise AssertionError(f"no answer was scripted for {plain}")
        document, code = found
        return subprocess.CompletedProcess(words, code, json.dumps(document).encode(), b"")

    def become(self, path: str, words: Sequence[str], environ: object) -> None:
        """Raise `Became` where the process would be replaced."""
        self.asked.append(list(words))
        raise Became(*words)
