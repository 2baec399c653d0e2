"""Explain a topic (exit-codes, errors, environment, formatting, files, cron) or a command.

--man writes a man page for each command into a folder, such as ~/.local/share/man/man1; `all` prints
the reference of all commands, in Markdown.
"""

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from momo_cli import topics
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo help exit-codes
  momo help formatting
  momo help tx list
  momo help --man ~/.local/share/man/man1
  momo help all --markdown
"""
_ALL: Final = "all"
_VIEW: Final = View(fields=(Field("text"),), id="topic")


@dataclass(frozen=True, slots=True)
class Options:
    """What `momo help` was asked about."""

    topic: str
    man: str | None


def command(
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="A topic, or a command's words.")
    ] = None,
    man: Annotated[
        str | None, typer.Option("--man", metavar="FOLDER", help="Write man pages there.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="With `all`: in Markdown, which it is anyway.")
    ] = False,
) -> Call:
    """Read the flags."""
    if topic is None and man is not None:
        return Call(run, Options("", man), _VIEW)
    if topic == _ALL or (topic in topics.TOPICS and not markdown):
        return Call(run, Options(topic or "", man), _VIEW)
    known = ", ".join((*topics.TOPICS, _ALL))
    raise usage(f"there is no topic or command {topic!r}; topics are {known}", "momo --help")


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Return the topic's text, line by line; or write the man pages."""
    if options.man is not None:
        return _written(terminal, options.man)
    if options.topic == _ALL:
        return _said(_ALL, _reference().markdown("##"), {})
    topic = topics.TOPICS[options.topic]
    return _said(options.topic, topic.text(), topic.data())


def _reference() -> Any:
    """Return the reference: by its name, as the tree finds commands, because it is made from the tree."""
    return import_module("momo_cli.reference")


def _said(name: str, text: str, data: dict[str, Any]) -> Answer:
    text = text.rstrip("\n")
    rows = [{"topic": name, "text": line} for line in text.splitlines()]
    document = {"topic": name, "text": text, **data}
    return Answer(
        document=dumps({"success": True, "data": document}),
        rows=rows,
        # The reference is Markdown: what is read by people alone is wrapped.
        lines=() if name == "all" else text.splitlines(),
        verbatim=text.splitlines() if name == "all" else (),
        plain=text,
    )


def _written(terminal: Terminal, folder: str) -> Answer:
    home = terminal.located.environ.get("HOME", "")
    place = home + folder[1:] if folder.startswith("~/") else folder
    names = []
    try:
        os.makedirs(place, exist_ok=True)  # noqa: PTH103  # pathlib is not needed here
        for name, text in _reference().man_pages():
            with open(f"{place}/{name}", "w", encoding="utf-8") as file:  # noqa: PTH123  # the same
                file.write(text)
            names.append(name)
    except OSError as problem:
        raise usage(f"--man: {place}: {problem.strerror}") from None
    said = f"{len(names)} pages written to {place}."
    return Answer(
        document=dumps({"success": True, "data": {"folder": place, "pages": names}}),
        rows=[{"topic": "man", "text": name} for name in names],
        lines=[said],
        next=["man momo"],
    )
