"""The parts of uvicorn that serve the API, without its command-line program.

`import uvicorn` loads that too, with click and what restarts a changed program: 1.6 MB and 70 ms of the daemon's start. And
it loads `logging.config` with pickle, for settings of a log that the daemon does not have: 0.7 MB.
"""

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Final

_PROGRAM: Final = "uvicorn.main"


@contextlib.contextmanager
def _without_program() -> Iterator[None]:
    """Let an empty module stand in the place of the program while uvicorn is imported."""
    if "uvicorn" in sys.modules:
        yield
        return
    empty = ModuleType(_PROGRAM)
    vars(empty).update(Server=None, main=None, run=None)
    sys.modules[_PROGRAM] = empty
    stands_in = "logging.config" not in sys.modules
    if stands_in:
        sys.modules["logging.config"] = ModuleType("logging.config")
    try:
        yield
    finally:
        del sys.modules[_PROGRAM]
        if stands_in:
            del sys.modules["logging.config"]


with _without_program():
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.server import ServerState

__all__ = ["Config", "HttpToolsProtocol", "ServerState"]
