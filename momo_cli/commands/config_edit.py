"""Change the settings in your own editor (VISUAL, EDITOR, else nano or vi). A copy is edited, and checked before it counts.

A copy that is wrong is not thrown away: on a terminal you may go on editing it, and else it is named.
"""

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import ErrorCode
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo config edit
  EDITOR=nano momo config edit
"""
VIEW: Final = View(fields=(Field("path"), Field("changed"), Field("restart")), id="path")
_EMPTY: Final = "# The settings of this shop: docs/configuration.md, momo config show.\n"


@dataclass(frozen=True, slots=True)
class Options:
    """`momo config edit` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Edit a copy until it is right, and put it in the file's place."""
    path = terminal.located.places.config
    copy = f"{path}.edit.toml"
    before = _read(path)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120  # no pathlib
        with open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:  # noqa: PTH123 -- pathlib is not needed here
            out.write(before or _EMPTY)
    except OSError as problem:
        raise Failure(ErrorCode.INTERNAL_ERROR, f"{copy}: {problem.strerror}") from None
    words = _editor(terminal)
    while True:
        subprocess.run([*words, copy], env=terminal.located.environ, check=False)  # noqa: S603  # the person's own editor
        try:
            ask(terminal, "config", "--json", "validate", copy)
            break
        except Failure as failure:
            if not terminal.can_ask():
                failure.facts["copy"] = copy
                raise
            terminal.complain(f"✗ {failure.message}")
            if terminal.ask("Edit it again? [Y/n] ", "a right one").lower() in ("n", "no"):
                os.unlink(copy)  # noqa: PTH108 -- pathlib is not needed here
                return _answer(terminal, path, "cancelled", restart=False)
    changed = _read(copy) != (before or _EMPTY)
    if not changed:
        os.unlink(copy)  # noqa: PTH108 -- pathlib is not needed here
        return _answer(terminal, path, "unchanged", restart=False)
    os.replace(copy, path)  # noqa: PTH105 -- pathlib is not needed here
    return _answer(terminal, path, "changed", restart=client.alive())


def _editor(terminal: Terminal) -> list[str]:
    environ = terminal.located.environ
    chosen = environ.get("VISUAL") or environ.get("EDITOR")
    if chosen:
        return shlex.split(chosen)
    path = environ.get("PATH")
    for name in ("nano", "vi"):
        if shutil.which(name, path=path):
            return [name]
    raise usage("there is no editor: name one in EDITOR", "momo config set KEY VALUE")


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # no pathlib needed
            return file.read()
    except FileNotFoundError:
        return ""


def _answer(terminal: Terminal, path: str, status: str, *, restart: bool) -> Answer:
    row: dict[str, Any] = {"path": path, "changed": status == "changed", "restart": restart}
    said = {
        "changed": f"{terminal.style('✓', 'green')} Saved: {path}",
        "unchanged": "Nothing was changed.",
        "cancelled": "Nothing was changed.",
    }
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=[said[status]],
        next=["momo daemon restart"] if restart else [],
        exit_code=exits.CANCELLED if status == "cancelled" else exits.OK,
    )
