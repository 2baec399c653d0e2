"""The daemon's own program, `python -m daemon VERB`, and the machine's programs: a few lines instead of a process.

It answers with the documents that the test gives it, and writes down what it was asked.
"""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

Document = dict[str, Any]


class Became(BaseException):
    """This process would have been replaced by another program; carries its words."""


class FakeProgram:
    """What stands in for `subprocess.run`, `subprocess.Popen` and `os.execve`.

    Attributes:
        says: Verb (its first words) -> document, and the exit code that goes with it.
        asked: The words of each call.
    """

    def __init__(self) -> None:
        self.says: dict[str, tuple[Document, int]] = {}
        self.asked: list[list[str]] = []

    def run(self, words: Sequence[str], **kwargs: Any) -> subprocess.CompletedProcess[Any]:
        """Answer as the program would."""
        self.asked.append(list(words))
        if "daemon" not in words:
            return subprocess.CompletedProcess(words, 0, "", "")
        plain = [word for word in words[words.index("daemon") + 1 :] if not word.startswith("-")]
        names = [" ".join(plain[:2]), *plain[:1]]
        found = next((self.says[name] for name in names if name in self.says), None)
        if found is None:
            raise AssertionError(f"nobody said what {plain} answers")
        document, code = found
        return subprocess.CompletedProcess(words, code, json.dumps(document).encode(), b"")

    def become(self, path: str, words: Sequence[str], environ: object) -> None:
        """Stop where the process would be replaced."""
        self.asked.append(list(words))
        raise Became(*words)
