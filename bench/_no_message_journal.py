"""Run `python -m daemon ...` without its message journal, for `message_journal.py` only: no shop may run like this."""

import runpy
import sys

from daemon.flows.messages import ingest


async def _nothing(*_arguments: object) -> None:
    """Take the place of the write to the journal."""


if __name__ == "__main__":
    ingest._journal = _nothing  # type: ignore[assignment]  # noqa: SLF001 -- the product has no switch for it
    sys.argv = sys.argv[sys.argv.index("-m") + 1 :]
    runpy.run_module("daemon", run_name="__main__", alter_sys=True)
