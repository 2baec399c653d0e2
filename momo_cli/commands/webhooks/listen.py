"""The command listen: send test webhooks to a program on this machine."""

import contextlib
import shlex
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from daemon.wire import Path
from momo_cli import system
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import SECRET_FILE, flag, option
from momo_cli.inputs.typed_values import secret_file as keep_in
from momo_cli.listener import VIEW, LocalReceiver, PostResult, Webhook, parse_receiver
from momo_cli.listener import listen as deliver
from momo_cli.show.answer import Answer, Row, dumps
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean

_NOTE_AFTER_S: Final = 0.5
"""After this time without a sign people type Ctrl-C again, which would force the end."""
_FAILS_MAX: Final = 50
_SLOW_S_MAX: Final = 3600.0


@command("listen", view=VIEW)
def listen(
    client: Client,
    terminal: Terminal,
    forward_to: str | None = option("URL", "Your receiver, on this machine."),
    fail: str | None = option("CODES", "Answer momo with these codes, attempt by attempt."),
    dup: bool = flag("Forward each webhook twice."),
    slow: float = option("SECONDS", "Delay each answer.", default=0.0, min=0, max=_SLOW_S_MAX),
    print_: bool = flag("--print", "Show the webhooks."),
    secret_file: str | None = SECRET_FILE,
    endpoint: str | None = option("ID", "Continue with a kept endpoint."),
    keep: bool = flag("Keep the endpoint, paused."),
) -> Answer:
    """The sandbox's webhooks are sent until Ctrl-C. Use it to write a receiver: it needs no public address and no
    certificate. The webhooks are signed like real ones. Make payments with momo simulate payment in another terminal.
    The delivery log shows your receiver's responses, and a failed delivery is retried after 5 s, 30 s and so on. momo
    adds an endpoint, and deletes it at the end; with --keep it stays, paused, and --endpoint ID continues with it and
    gets the deliveries since. It goes on while the daemon restarts, and webhooks wait meanwhile; exit 7: the daemon was
    away for 30 s. --fail answers momo with these codes, attempt by attempt, and with the receiver's own
    after them.

    Examples:
        momo listen --forward-to http://127.0.0.1:3000/hook
        momo listen --forward-to http://127.0.0.1:3000/hook --fail 503,503,200 --dup
        momo listen --print
    """
    if forward_to is None and not print_:
        address = "http://127.0.0.1:PORT/PATH"
        raise usage(f"name the receiver with --forward-to {address}, or use --print")
    if endpoint is not None and secret_file is not None:
        raise usage("--secret-file: the secret was shown when it was made: momo endpoints reveal")
    receiver = None if forward_to is None else parse_receiver(forward_to)
    codes: tuple[int, ...] = ()
    if fail is not None:
        words = fail.split(",")
        codes = tuple(int(word) for word in words if word.strip().isdecimal())
        wrong = len(codes) != len(words) or not all(200 <= code <= 599 for code in codes)
        if wrong or len(codes) > _FAILS_MAX:
            form = "separated by commas, such as 503,503,200"
            raise usage(f"--fail: status codes from 200 to 599, {form}")
    answer = partial(answered, receiver=receiver, codes=codes, twice=dup, slow_s=slow)
    if endpoint is not None:
        endpoint, keep = endpoint.strip(), True
    else:
        with keep_in(secret_file, "--secret-file") as keep_secret:
            body = client.call("POST", Path.LOCAL_LISTEN, body={"keep": keep}).body
            keep_secret(str(body["secret"]))
        endpoint = str(body["data"]["id"])
        # Also with -q: the receiver cannot verify a webhook without the secret.
        terminal.complain(f"secret {secret_file or clean(body['secret'])}")
    to = "--print" if receiver is None else f"--forward-to {shlex.quote(receiver.url)}"
    hooks = deliver(client, endpoint, answer, terminal.now, f"momo listen {to} --endpoint {endpoint}")
    rows = _rows(client, terminal, hooks, endpoint, print_=print_, keep=keep)
    return Answer(rows=rows, stream=True)


def answered(
    webhook: Webhook,
    receiver: LocalReceiver | None = None,
    codes: Sequence[int] = (),
    *,
    twice: bool = False,
    slow_s: float = 0.0,
) -> PostResult:
    """Forward one webhook and return the answer for momo: the codes of the first attempts, then the receiver's own, or 200."""
    heard = PostResult(200, None, "", 0)
    if receiver is not None:
        heard = receiver.post(webhook.headers, webhook.body)
        if twice:
            receiver.post(webhook.headers, webhook.body)
    if slow_s:
        system.sleep(slow_s)
    status = codes[webhook.attempt - 1] if webhook.attempt <= len(codes) else 200
    if 200 <= status < 300:
        return heard
    return PostResult(status, None, "momo listen --fail", heard.duration_ms)


def _rows(
    client: Client, terminal: Terminal, hooks: Iterator[Row | None], endpoint: str, *, print_: bool, keep: bool
) -> Iterator[Row]:
    paused = False
    with system.ended_by_signals():
        try:
            for row in hooks:
                if row is None:
                    terminal.note(f"Listening as endpoint {endpoint}. Ctrl-C ends it.")
                    continue
                if print_ and terminal.human:
                    terminal.verbatim(dumps(row["payload"]))
                yield row
                if not paused and row["status_code"] not in range(200, 300):
                    seen = client.find(path_of(Path.ENDPOINT, id=endpoint))
                    paused = bool(at(seen, "auto_paused_at"))
                    if paused:
                        terminal.complain(
                            f"momo paused the endpoint after {seen['consecutive_failures']} failures in a row, as it would "
                            f"a real one; next: momo endpoints resume {endpoint}"
                        )
        finally:
            # After Ctrl-C too. A kept endpoint is paused by the daemon, because no listener is connected.
            if not keep:
                with ending(terminal), contextlib.suppress(Failure):
                    client.call("DELETE", path_of(Path.ENDPOINT, id=endpoint))


@contextlib.contextmanager
def ending(terminal: Terminal, note_after_s: float = _NOTE_AFTER_S) -> Iterator[None]:
    """Run the block that clears up, with a note if it takes longer than `note_after_s`.

    A second Ctrl-C ends it, and leaves the rest undone.
    """
    note = "\nStopping… (Ctrl-C again to force)"
    timer = threading.Timer(note_after_s, terminal.note, args=(note,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
