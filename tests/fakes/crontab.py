"""The cron recipes of the documents, and a stand-in for cron (crontab(5))."""

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from momo_cli.frame.reference import TOPICS

ROOT = Path(__file__).parents[2]


def recipes() -> list[str]:
    """Return every line of the documents and of `momo help cron` that cron would run."""
    texts = [path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]]
    blocks = [block for text in texts for block in re.findall(r"```crontab\n(.*?)```", text, re.DOTALL)]
    lines = [line.strip() for block in (*blocks, TOPICS["cron"].text()) for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if re.match(r"(?:[*\d/,-]+\s+){5}", line)))


def command_of(recipe: str) -> str:
    """Return the command of a crontab line: the text after its five fields."""
    fields = recipe.split(None, 5)
    assert len(fields) == 6, recipe
    assert "%" not in fields[5].replace(r"\%", ""), "cron reads % as the end of the line"
    return fields[5]


def run_as_cron(command: str, home: Path, table: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command as cron does: /bin/sh, no terminal, the home folder, and these variables only.

    Args:
        command: Of the line.
        home: The user's home folder.
        table: The variables that the crontab sets; their values are taken as they stand.
    """
    environ = {"HOME": str(home), "LOGNAME": "ama", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", **table}
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=home, env=environ, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip


class Watcher(HTTPServer):
    """A stand-in for Healthchecks that records its requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/uuid"


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Watcher)
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"OK")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the protocol's own name
        """Say nothing."""


@contextmanager
def watching() -> Iterator[Watcher]:
    """Run a watcher for a block."""
    with Watcher() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()
