"""Block a daemon's connections outside loopback and record them.

    environ["PYTHONPATH"] = no_network.install(folder)
    ...
    assert no_network.refused(folder) ...

It uses Python's audit hook (PEP 578), installed before the program's first line; the program itself is unchanged.
"""

from pathlib import Path

_HOOK = """
import sys

def _hook(event, args):
    if event == "socket.connect":
        address = args[1]
        if isinstance(address, tuple) and not (address[0] == "::1" or address[0].startswith("127.")):
            _refuse(f"connect {address[0]} {address[1]}")
    elif event == "socket.getaddrinfo":
        host = args[0].decode() if isinstance(args[0], bytes) else args[0]
        if host not in (None, "localhost", "127.0.0.1", "::1"):
            _refuse(f"look-up {host}")

def _refuse(what):
    with open(LOG, "a", encoding="utf-8") as log:
        print(what.encode("unicode_escape").decode(), file=log)
    raise OSError(101, "Network is unreachable")

with open(LOG, "a", encoding="utf-8") as log:
    print("watching", file=log)
sys.addaudithook(_hook)
"""


def install(folder: Path) -> str:
    """Write the hook into `folder`, and return the value for `PYTHONPATH`."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "refused.log"
    (folder / "sitecustomize.py").write_text(f"LOG = {str(log)!r}\n{_HOOK}")
    return str(folder)


def refused(folder: Path) -> list[str]:
    """Return the refused addresses; fail if the hook was never installed."""
    lines = (folder / "refused.log").read_text().splitlines()
    assert "watching" in lines
    return [line for line in lines if line != "watching"]
