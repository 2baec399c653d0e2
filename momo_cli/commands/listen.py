"""Send the sandbox's webhooks to a program on this machine, signed as real ones are, until Ctrl-C.

For writing a receiver: no public address, no certificate. Make payments with momo simulate payment in another
terminal. What your receiver answers is what momo's log says, and what it does not take comes again after 5 s, 30 s
and so on. It is an endpoint of its own, and goes when this ends; with --keep it stays, paused, and
--endpoint ID goes on with it and gets what it missed. --fail tells momo something else than what was answered,
try by try, and the truth after that.
"""

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Answer, Call, Row
from momo_cli.client import Client, path_of
from momo_cli.ending import ending
from momo_cli.errors import Failure, usage
from momo_cli.listening import VIEW, Webhook, listen
from momo_cli.local_receiver import Heard, Receiver, receiver_at
from momo_cli.secret_file import secret_file
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo listen --forward-to http://127.0.0.1:3000/hook
  momo listen --forward-to http://127.0.0.1:3000/hook --fail 503,503,200 --dup
  momo listen --forward-to http://127.0.0.1:3000/hook --secret-file hook.secret --slow 20
  momo listen --print
"""
_FAILS_MAX: Final = 50
_SLOW_S_MAX: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo listen`."""

    receiver: Receiver | None
    fails: tuple[int, ...]
    twice: bool
    slow_s: float
    shown: bool
    secret_file: str | None
    endpoint: str | None
    keep: bool


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    forward_to: Annotated[
        str | None, typer.Option(metavar="URL", help="Your receiver, on this machine.")
    ] = None,
    fail: Annotated[
        str | None, typer.Option(metavar="CODES", help="Tell momo these answers, try by try.")
    ] = None,
    dup: Annotated[bool, typer.Option("--dup", help="Forward each one twice.")] = False,
    slow: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, max=_SLOW_S_MAX, help="Answer so late.")
    ] = 0.0,
    print_: Annotated[bool, typer.Option("--print", help="Show what is sent.")] = False,
    secret_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the signing secret there.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with a listener that was kept.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave it there, paused.")] = False,
) -> Call:
    """Read the flags."""
    if forward_to is None and not print_:
        raise usage("say where to with --forward-to http://127.0.0.1:PORT/PATH, or --print")
    if endpoint is not None and secret_file is not None:
        raise usage("--secret-file: the secret was shown when it was made: momo endpoints reveal")
    receiver = None if forward_to is None else receiver_at(forward_to)
    kept = None if endpoint is None else endpoint.strip()
    return Call(
        run,
        Options(
            receiver, _fails(fail), dup, slow, print_, secret_file, kept, keep or kept is not None
        ),
        VIEW,
    )


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the endpoint, and take what is sent to it."""
    endpoint = options.endpoint
    if endpoint is None:
        with secret_file(options.secret_file, "--secret-file") as keep:
            body = client.call("POST", Path.LOCAL_LISTEN, body={"keep": options.keep}).body
            keep(str(body["secret"]))
        endpoint = str(body["data"]["id"])
        where = options.secret_file or clean(body["secret"])
        # On stderr, also with -q: without it nothing can be verified.
        terminal.complain(f"secret {where}")
    return Answer(rows=_rows(client, terminal, options, endpoint), stream=True)


def _rows(client: Client, terminal: Terminal, options: Options, endpoint: str) -> Iterator[Row]:
    def handle(webhook: Webhook) -> Heard:
        return take(webhook, options)

    told = False
    with _ended_by_signals():
        try:
            for row in listen(client, endpoint, handle, lambda: _now(terminal)):
                if row is None:
                    terminal.note(f"Listening as endpoint {endpoint}. Ctrl-C ends it.")
                    continue
                if options.shown and terminal.human:
                    terminal.verbatim(dumps(row["payload"]))
                yield row
                if not told and row["status_code"] not in range(200, 300):
                    told = _paused(client, terminal, endpoint)
        finally:
            # Ctrl-C too: what is kept is paused by the daemon, because nobody is connected.
            if not options.keep:
                with ending(terminal), contextlib.suppress(Failure):
                    client.call("DELETE", path_of(Path.ENDPOINT, id=endpoint))


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End as by Ctrl-C when the terminal is closed, or somebody ends us."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def take(webhook: Webhook, options: Options) -> Heard:
    """Forward one webhook, and make of the answer what the flags say."""
    heard = Heard(200, None, "", 0)
    if options.receiver is not None:
        heard = options.receiver.post(webhook.headers, webhook.body)
        if options.twice:
            options.receiver.post(webhook.headers, webhook.body)
    if options.slow_s:
        system.sleep(options.slow_s)
    if webhook.attempt <= len(options.fails):
        said = options.fails[webhook.attempt - 1]
        if not 200 <= said < 300:
            return Heard(said, None, "momo listen --fail", heard.duration_ms)
    return heard


def _paused(client: Client, terminal: Terminal, endpoint: str) -> bool:
    """Say so when momo has paused it after too many failures."""
    try:
        seen: dict[str, Any] = client.get(path_of(Path.ENDPOINT, id=endpoint)).data
    except Failure:
        return False
    if seen.get("auto_paused_at"):
        terminal.complain(
            f"momo paused it after {seen['consecutive_failures']} failures in a row, as it would a real one; "
            f"next: momo endpoints resume {endpoint}"
        )
        return True
    return False


def _now(terminal: Terminal) -> str:
    return f"{terminal.now():%Y-%m-%dT%H:%M:%SZ}"


def _fails(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = text.split(",")
    codes = tuple(int(word) for word in words if word.strip().isdecimal())
    if (
        len(codes) != len(words)
        or len(codes) > _FAILS_MAX
        or not all(200 <= c <= 599 for c in codes)
    ):
        raise usage("--fail: statuses from 200 to 599 with commas between, such as 503,503,200")
    return codes
