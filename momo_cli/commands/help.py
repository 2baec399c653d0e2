"""Explain a topic (exit-codes, errors, environment, formatting, files, cron) or a command."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import topics
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.render import dumps
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo help exit-codes
  momo help formatting
  momo help tx list
"""
_VIEW: Final = View(fields=(Field("text"),), id="topic")


@dataclass(frozen=True, slots=True)
class Options:
    """What `momo help` was asked about."""

    topic: str


def command(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic, or a command's words.")],
) -> Call:
    """Read the flags."""
    if topic not in topics.TOPICS:
        known = ", ".join(topics.TOPICS)
        raise usage(f"there is no topic or command {topic!r}; topics are {known}", "momo --help")
    return Call(run, Options(topic), _VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Return the topic's text, line by line."""
    topic = topics.TOPICS[options.topic]
    text = topic.text()
    rows = [{"topic": options.topic, "text": line} for line in text.splitlines()]
    document = {"topic": options.topic, "text": text, **topic.data()}
    return Answer(
        document=dumps({"success": True, "data": document}),
        rows=rows,
        lines=text.splitlines(),
        plain=text,
    )
