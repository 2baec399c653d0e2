"""Ask a modem now how it fares: signal, network, storage, SIM.

It is asked by the daemon between two messages, so nothing is disturbed. Says what is well and what is not; exit 6 when
no message can come in. With --send-to it then sends one SMS, which costs what the network takes for it, so it asks first;
exit 6 when that did not go out, 8 when nobody knows yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import ErrorCode, Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call, Cell, Field, Row, View
from momo_cli.client import Client, path_of
from momo_cli.errors import Failure, usage
from momo_cli.modems import (
    FAIL,
    VIEW,
    called,
    document,
    find,
    network,
    signal,
    storage,
    trouble_lines,
)
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import ago, phone, styled

EXAMPLES: Final = """\
  momo modems test front-desk
  momo modems test front-desk --quiet || echo "look at the modem"
  momo modems test front-desk --send-to 0244124567 --yes
"""
TEST_VIEW: Final = View(
    fields=(*VIEW.fields, Field("answered"), Field("took_ms"), Field("sms", "sms.status")),
    id=VIEW.id,
)
_OK: Final = Cell("✓", "green")
_WRONG: Final = Cell("✗", "red")
_LIMIT_S: Final = 90.0
"""A network may take a minute to say that it has an SMS."""
_LOOK_S: Final = 0.25
_UNDER_WAY: Final = ("queued", "sending")
_ENDS: Final = {
    "sent": (_OK, "the network took the SMS to {number}"),
    "failed": (_WRONG, "the SMS to {number} was not sent"),
    "unknown": (Cell("!", "yellow"), "the SMS to {number} may or may not have been sent"),
    "expired": (_WRONG, "the SMS to {number} was not sent in time"),
}
_WAITS: Final = (Cell("…", "dim"), "the SMS to {number} is still under way")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo modems test`."""

    modem: str
    send_to: str | None = None


def command(
    modem: Annotated[
        str, typer.Argument(metavar="MODEM", help="Its name, id or port: momo modems list.")
    ],
    send_to: Annotated[
        str | None, typer.Option("--send-to", help="Send an SMS from it, and say what came of it.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(modem, send_to), TEST_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Let the daemon ask it, and say what it answered; then send, if that was asked for."""
    if options.send_to is not None:
        _may_send(terminal, options.send_to)
    row = find(client, options.modem)
    if options.send_to is not None and row.get("simulated"):
        raise Failure(ErrorCode.SIM_NOT_FOUND, f"{called(row)} is simulated: no SMS leaves it")
    if row.get("device_id") is None:
        row = {**row, "answered": False, "took_ms": None}
        text = document(row)
    else:
        reply = client.call("POST", path_of(Path.LOCAL_MODEM_TEST, id=row["device_id"]))
        row, text = reply.data, reply.text
    failing = any(trouble.get("level") == FAIL for trouble in row.get("troubles") or ())
    well = bool(row.get("answered")) and not failing
    told = [terminal.style(called(row), "bold"), *_lines(row, terminal)]
    if options.send_to is None or not well:
        if options.send_to is not None:
            text = document({**row, "sms": None})
            told.append("No SMS was sent.")
        return Answer(
            document=text,
            rows=[row],
            lines=told,
            next=() if well else ["momo doctor modem"],
            exit_code=exits.OK if well else exits.FINDINGS,
        )
    return _send(client, terminal, row, told, options.send_to)


def _may_send(terminal: Terminal, number: str) -> None:
    """Refuse before the modem is asked what could not be sent afterwards.

    Raises:
        Failure: USAGE, for a number that is none, or where nobody can say yes.
    """
    from parsers.phone import read_phone  # noqa: PLC0415  # only what sends needs the numbers of all countries

    if read_phone(number.strip()) is None:
        raise usage(
            f"--send-to: {clean(number)!r} is no phone number; write for example 0244124567"
        )
    if not terminal.flags.yes and not terminal.can_ask():
        raise usage("an SMS costs money: --yes is missing, and there is nobody to ask")


def _send(client: Client, terminal: Terminal, row: Row, told: list[str], number: str) -> Answer:
    """Send one SMS from a phone that is well, and say what came of it."""
    if terminal.human and not terminal.flags.yes:
        # The person decides with the modem's answer before their eyes.
        for line in told:
            terminal.note(line)
        told = []
    if not terminal.flags.yes:
        asked = f"Send an SMS from {called(row)} to {clean(number)}? It costs what the network takes. [y/N] "
        if terminal.ask(asked, "--yes").lower() not in ("y", "yes"):
            return Answer(
                document=document({**row, "sms": None}),
                rows=[row],
                lines=["No SMS was sent."],
                exit_code=exits.CANCELLED,
            )
    device_id = row["device_id"]
    path = path_of(Path.LOCAL_MODEM_TEXTS, id=device_id)
    sms = client.call("POST", path, body={"number": number}).data
    terminal.note("Sending; a network may take a minute…")
    path = path_of(Path.LOCAL_MODEM_TEXT, id=device_id, text_id=sms["id"])
    sms = _wait(client, path, sms, terminal.flags.timeout_s)
    status = clean(sms.get("status"))
    mark, sentence = _ENDS.get(status, _WAITS)
    why = f": {clean(sms['why'])}" if sms.get("why") else ""
    row = {**row, "sms": sms}
    codes = {"sent": exits.OK} | dict.fromkeys(_UNDER_WAY, exits.PENDING)
    return Answer(
        document=document(row),
        rows=[row],
        lines=[
            *told,
            f"{styled(mark, terminal)} {sentence.format(number=phone(sms.get('number')))}{why}",
        ],
        next=["momo doctor modem"] if status == "failed" else (),
        exit_code=codes.get(status, exits.FINDINGS),
    )


def _wait(client: Client, path: str, sms: Any, limit_s: float | None) -> Any:
    """Look at the SMS until it has come to its end; 0 is for ever."""
    limit_s = _LIMIT_S if limit_s is None else limit_s
    started = system.monotonic()
    while sms.get("status") in _UNDER_WAY:
        if limit_s and system.monotonic() - started >= limit_s:
            break
        client.pause(_LOOK_S)
        sms = client.get(path).data
    return sms


def _lines(row: Row, terminal: Terminal) -> Iterator[str]:
    mark = styled(_OK, terminal)
    if row.get("answered"):
        yield f"{mark} it answers ({row.get('took_ms')} ms)"
        ids = {trouble.get("id") for trouble in row.get("troubles") or ()}
        if row.get("signal") and "modem.signal" not in ids:
            yield f"{mark} signal {signal(row, terminal)}"
        if row.get("registration") and "modem.network" not in ids:
            yield f"{mark} network {network(row)}"
        if row.get("storage") and not ids & {"modem.full", "modem.nearly_full"}:
            yield f"{mark} the SIM holds {storage(row)} messages"
        if last := ago(row.get("last_sms_at"), terminal):
            yield f"{mark} last SMS {last}"
    elif not row.get("troubles"):
        yield f"{styled(Cell('✗', 'red'), terminal)} it does not answer"
    yield from trouble_lines(row, terminal)
