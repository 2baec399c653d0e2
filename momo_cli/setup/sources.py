"""Sources besides AT modems in `momo setup`: those of the flags, and the offer when no modem is found (docs/shop/sources.md)."""

import json
from typing import Any, Final

from daemon.wire import ErrorCode, Path, SourceKind
from momo_cli.errors import Failure
from momo_cli.service.daemon_program import run_verb
from momo_cli.service.start_stop import start_daemon, stop_daemon
from momo_cli.setup.answer_file import NETWORKS
from momo_cli.setup.step import Setup, outcome
from momo_cli.show.answer import Row
from momo_cli.text import clean

_STICK: Final = "http://192.168.8.1"
_RESTART_S: Final = 30.0
_DOCUMENT: Final = "docs/shop/sources.md shows what to press"


def keep_given(setup: Setup) -> tuple[str, str]:
    """Save the sources of the flags in the settings; return the error and the command to repeat, or empty texts."""
    answers = setup.answers
    try:
        if answers.hilink is not None:
            _add_stick(setup, answers.hilink)
    except Failure as failure:
        return failure.message, f"momo setup --hilink {answers.hilink}"
    if not answers.android:
        return "", ""
    try:
        _add_phone(setup, "phone1", answers.android, may_pay=bool(answers.android_may_pay))
    except Failure as failure:
        return failure.message, "momo phones sources"
    return "", ""


def offer(setup: Setup) -> Row | None:
    """Ask whether the SIM is in a HiLink stick or an Android phone, and add it.

    Returns:
        The result: `done` for a stick, which is read from now on, `needs_action` for a phone; None if nothing was added.
    """
    if not setup.may_ask("source"):
        return None
    setup.say("  A SIM may also be in a HiLink stick (it has a web page) or an Android phone.")
    while True:
        kind = setup.ask("Is it? hilink, android (Enter: neither) ", "--hilink URL").lower()
        if kind in ("", "n", "no", "neither"):
            setup.note("source", later=True)
            return None
        try:
            if kind == SourceKind.HILINK:
                setup.say(f"  Its page must open in a browser on this computer; {_DOCUMENT}.")
                url = setup.ask(f"Its address (Enter: {_STICK}) ", "--hilink URL") or _STICK
                _add_stick(setup, url)
                _restart(setup)
                return outcome("done", f"The stick at {clean(url)} is read")
            if kind == SourceKind.ANDROID:
                return _offer_phone(setup)
        except Failure as failure:
            setup.warn_of(failure)
        else:
            setup.warn("Type hilink or android, or only Enter.")


def _offer_phone(setup: Setup) -> Row:
    """Add a phone; its key and the app's settings are the next commands."""
    networks = _ask_networks(setup)
    setup.say("  Whoever holds the phone can invent messages. Without a yes they are history only.")
    may_pay = setup.agreed("May its messages pay?", "--android-may-pay")
    taken = {str(row["name"]) for row in setup.client.get(Path.LOCAL_SOURCES).data or ()}
    name = next(name for number in range(1, 100) if (name := f"phone{number}") not in taken)
    _add_phone(setup, name, networks, may_pay=may_pay)
    _restart(setup)
    certificate = [] if setup.get("http.tls_cert") else ["momo daemon certificate create"]
    following = [*certificate, f"momo phones rotate-key {name} --qr", "momo phones sources"]
    setup.say(f"  Then type these, in this order; {_DOCUMENT}:")
    for line in following:
        setup.say(f"      {line}")
    detail = f"{name} is added; it needs HTTPS, its key, and the app's settings"
    return outcome("needs_action", detail, following[0])


def _ask_networks(setup: Setup) -> tuple[str, ...]:
    question = "The networks of its SIMs, slot 1 first, such as mtn or mtn,none "
    while True:
        said = setup.ask(question, "--android NETWORK").lower().replace(",", " ").split()
        if said and set(said) <= set(NETWORKS) and set(said) != {"none"}:
            return tuple(said)
        setup.warn(f"Each is one of {', '.join(NETWORKS)}.")


def _add_stick(setup: Setup, url: str) -> None:
    added = run_verb(setup.terminal, "config", "--json", "add-hilink", url).data
    setup.restart |= bool(added["changed"]) and setup.client.alive()


def _add_phone(setup: Setup, name: str, networks: tuple[str, ...], *, may_pay: bool) -> None:
    entry: dict[str, Any] = {
        "name": name,
        "kind": SourceKind.ANDROID.value,
        "networks": list(networks),
    }
    if may_pay:
        entry["may_pay"] = True
    words = ("add-source", "--", json.dumps(entry))
    added = run_verb(setup.terminal, "config", "--json", *words).data
    setup.restart |= bool(added["changed"]) and setup.client.alive()


def _restart(setup: Setup) -> None:
    """Restart the daemon, which reads the sources when it starts."""
    if not setup.restart:
        return
    setup.say("  The daemon restarts, to read it.")
    if stop_daemon(setup.client, setup.terminal, _RESTART_S) == "stopping":
        why = "the daemon has not ended yet"
        raise Failure(ErrorCode.LOCKED, why, next=("momo daemon restart",))
    by_service = not setup.service_failed
    started = start_daemon(setup.client, setup.terminal, (), _RESTART_S, by_service=by_service)
    if started.status == "starting":
        why = f"the daemon is not ready yet: {clean(started.log)}"
        raise Failure(ErrorCode.UNAVAILABLE, why, next=("momo daemon logs",))
    setup.restart = False
