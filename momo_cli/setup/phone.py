"""The steps of `momo setup` about the phone: add it, find its SIM, unlock it with its PIN, wait for a test payment."""

import json
import select
from collections.abc import Iterator
from typing import Any, Final

from daemon.wire import ErrorCode, MessageState, Path, SourceKind
from momo_cli import system
from momo_cli.errors import Failure
from momo_cli.inputs import typed_values
from momo_cli.inputs.ids import endpoint_name, sim_object, split_sim
from momo_cli.service import modem_manager
from momo_cli.service.daemon_program import run_verb, start_daemon, stop_daemon
from momo_cli.setup.step import NETWORKS, Setup, outcome
from momo_cli.show.answer import Row
from momo_cli.show.words import phone
from momo_cli.socket.client import Client
from momo_cli.text import at, clean
from momo_cli.views.lines import agrees_to_network, ask_test_payment, ignore_sim, smscs_of, test_payment_text

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

    Returns `done` for a stick, which is read from now on, `needs_action` for a phone; None if nothing was added.
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
            if kind == "android":
                return _offer_phone(setup)
        except Failure as failure:
            setup.warn_of(failure)
        else:
            setup.warn("Type hilink or android, or only Enter.")


def _offer_phone(setup: Setup) -> Row:
    """Add a phone; its key and the app's settings are the next commands."""
    app = setup.ask("Its app? httpsms, textbee, smsforwarder (Enter: capcom6) ", "momo phones add").lower() or "capcom6"
    networks = _ask_networks(setup)
    setup.say("  Whoever holds the phone can invent messages. Without a yes they are history only.")
    may_pay = setup.agreed("May its messages pay?", "--android-may-pay")
    taken = {str(row["name"]) for row in setup.client.get(Path.LOCAL_SOURCES).data or ()}
    name = next(name for number in range(1, 100) if (name := f"phone{number}") not in taken)
    _add_phone(setup, name, networks, may_pay=may_pay, app=app)
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


def _add_phone(setup: Setup, name: str, networks: tuple[str, ...], *, may_pay: bool, app: str = "capcom6") -> None:
    entry: dict[str, Any] = {"name": name, "kind": SourceKind.POST.value, "networks": list(networks)}
    if may_pay:
        entry["may_pay"] = True
    if app != "capcom6":
        entry["preset"] = app
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


PERSON_S: Final = 300.0
"""Time for a person to find the modem, or the other phone."""
MODEM_S: Final = 30.0
"""Time for a connected modem to start and read its SIM."""
LOOK_S: Final = 0.5
_PASSING: Final = frozenset({"starting", "restarting", "recovering", "resuming", "gone"})
"""Passing states of a phone."""
_AWAY: Final = "away"
_NOT_TESTED: Final = "No test payment yet: foreign and first messages wait for you"
_PIN: Final = "momo lines pin "
_RELEASE: Final = "momo phones release "


def all_sims(client: Client) -> list[dict[str, Any]]:
    """Return each SIM with the id and name of its phone."""
    return [
        {**sim, "device_id": one["device_id"], "name": one.get("name")}
        for one in client.get(Path.SIMS).data or ()
        for sim in one.get("sims") or ()
    ]


def sim_text(sim: Row) -> str:
    """Return `the MTN SIM …4567 in zte-front`."""
    network, last = clean(sim.get("network")) or "unknown", clean(sim.get("iccid_last4"))
    card = f"{network} SIM …{last}" if last else f"{network} SIM"
    return f"the {card} in {clean(sim.get('name') or sim.get('device_id'))}"


def modem(setup: Setup) -> Row:
    """Find a SIM that can be read; unlock it with its PIN, and make ModemManager release it, if needed and agreed."""
    found = _plugged_in(setup.client, _modems(setup.client))
    if not found and not setup.looks:
        found = _wait(setup, "Plug in the modem, with its SIM.")
        if not found and not _in_use(setup) and (added := offer(setup)) is not None:
            if added["status"] != "done":
                return added
            found = _wait(setup, "The stick is asked for its SIM.")
    if found:
        return outcome("done", f"Found {', '.join(sim_text(sim) for sim in found)}")
    known = _modems(setup.client)
    for one in known:
        if one.get("detail") and one.get("state") != _AWAY:
            fix = clean(one.get("next")) or "momo doctor modem"
            return outcome("needs_action", clean(one["detail"]), fix)
    status = "needs_action" if setup.looks else "skipped"
    away = ", ".join(clean(one.get("name")) for one in known if one.get("state") == _AWAY)
    detail = f"{away} is not plugged in" if away else "No phone yet; plug it in at any time"
    return outcome(status, detail, "momo phones status" if away else "momo phones list --wait")


def first_payment(setup: Setup) -> Row:
    """Check that the balance of each SIM with a number is known; ask for the test payment that makes it known."""
    again = "momo setup --first-payment"
    sims = [sim for sim in all_sims(setup.client) if sim["phone_number"]]
    unknown = [sim for sim in sims if not _is_known(setup.client, sim)]
    wanted = setup.answers.first_payment
    if sims and not unknown:
        return outcome("done", "The network's SMS are read, and the balance is known")
    if setup.looks:
        return outcome("needs_action" if wanted else "skipped", _NOT_TESTED, again)
    if not sims or wanted is False or not (wanted or setup.may_ask("first_payment")):
        return outcome("skipped", _NOT_TESTED, again)
    return next((row for row in (_tested(setup, sim, again) for sim in unknown) if row), None) or (
        outcome("done", "The test payment came: the SMS are read, and the balance is known")
    )


def _is_known(client: Client, sim: Row) -> bool:
    return bool(smscs_of(client, sim).data["has_chain"])


def _tested(setup: Setup, sim: Row, again: str) -> Row | None:
    """Ask for the test payment of a SIM and wait for it; return why it did not come, else None."""
    seen = {message["id"] for message in _messages(setup.client)}
    asked = ask_test_payment(setup.client, sim).data
    skip = " Press Enter to skip." if setup.asks else ""
    setup.terminal.note(f"  {test_payment_text(asked, sim['phone_number'], setup.terminal)}{skip}")
    setup.say("  It tests that SMS are read, and proves the network's service centre.")
    begun = system.monotonic()
    while system.monotonic() - begun < PERSON_S:
        if _is_known(setup.client, sim):
            return None
        for message in reversed(_messages(setup.client)):
            if message["id"] not in seen and (result := _outcome_of(message)) is not None:
                return result
            seen.add(message["id"])
        if _enter(setup):
            setup.note("first_payment", later=True)
            return outcome("skipped", _NOT_TESTED, again)
    return outcome("needs_action", "The test payment did not come", "momo doctor modem")


def _outcome_of(message: Row) -> Row | None:
    """Return the outcome of the step after one new SMS; None if it must wait for another."""
    match message["state"]:
        case MessageState.UNPARSED:
            detail = "An SMS came with a wording that momo does not know"
            return outcome("needs_action", detail, f"momo messages sample {message['id']}")
        case MessageState.HELD:
            detail = "An SMS came that is held for review"
            return outcome("needs_action", detail, "momo review list")
        case _:
            return None


def _messages(client: Client) -> list[dict[str, Any]]:
    """Return the newest real SMS, newest first."""
    found = client.get(Path.LOCAL_MESSAGES, limit=50).data or ()
    return [one for one in found if not one.get("test")]


def _modems(client: Client) -> list[dict[str, Any]]:
    """Return the phones that are not simulated."""
    found: list[dict[str, Any]] = client.get(Path.LOCAL_MODEMS).data or []
    return [one for one in found if not one.get("simulated")]


def _plugged_in(client: Client, phones: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the SIMs of connected phones."""
    away = {one.get("device_id") for one in phones if one.get("state") == _AWAY}
    return [sim for sim in all_sims(client) if sim["device_id"] not in away]


def _in_use(setup: Setup) -> bool:
    """Return whether a modem is connected, which the operator meant then; a HiLink stick's own port is none."""
    return any(one.get("state") not in (_AWAY, "hilink") for one in _modems(setup.client))


def _wait(setup: Setup, request: str) -> list[dict[str, Any]]:
    """Poll until there is a SIM, none can come, Enter is pressed, or the time is over."""
    answers = setup.answers
    begun, shown = system.monotonic(), set[str]()
    wait_s = PERSON_S if setup.asks else MODEM_S
    setup.say(f"  {request} Press Enter to continue without one.")
    while system.monotonic() - begun < wait_s:
        phones = _modems(setup.client)
        if found := _plugged_in(setup.client, phones):
            return found
        for one in phones:
            state = f"{clean(one.get('port'))}: {clean(one.get('detail') or one.get('state'))}"
            if state not in shown:
                shown.add(state)
                setup.say(f"  … {state}")
                if not _helped(setup, one):
                    return []
        passing = [one for one in phones if one.get("state") in _PASSING or _is_locked(one)]
        expected = answers.modems or answers.pin_file or passing
        if _enter(setup) or not (setup.asks or expected):
            return []
    return []


def _helped(setup: Setup, one: Row) -> bool:
    """Unlock or release a phone if the operator agrees; return False if the answer makes waiting useless."""
    fix = clean(one.get("next"))
    if _is_locked(one):
        return _opened(setup, one)
    if fix.startswith(_RELEASE) and setup.asks:
        if not setup.agreed("ModemManager uses it. Make it release the modem?", "--no-input"):
            setup.say("      To read it through ModemManager: momo phones add modemmanager")
            return True
        port = fix.removeprefix(_RELEASE)
        try:
            modem_manager.release_modem(port, setup.terminal.located.environ, setup.client.pause)
        except Failure as failure:
            setup.warn(failure.message)
            fix = failure.next[0] if failure.next else ""
    if fix:
        setup.say(f"      {fix}")
    return True


def _is_locked(one: Row) -> bool:
    """Return whether a PIN would unlock it; with only one attempt left it must be unlocked in a telephone."""
    return clean(one.get("next")).startswith(_PIN)


def _opened(setup: Setup, one: Row) -> bool:
    """Send the typed PIN, or that of the file if only one SIM is locked; return False if it is postponed."""
    device, slot = split_sim(clean(one["next"]).removeprefix(_PIN), _PIN)
    if setup.answers.pin_file is not None:
        others = [other for other in _modems(setup.client) if _is_locked(other)]
        if len(others) > 1 or one.get("state") != "pin_needed":
            return False
        pin = typed_values.read_pin_file(setup.answers.pin_file, setup.terminal)
        typed_values.send_pin(setup.client, device, slot, pin)
        return True
    if not setup.may_ask("pin"):
        return False
    setup.say("  It is tried once; three wrong PINs block a SIM.")
    for pin in _typed(setup):
        try:
            typed_values.send_pin(setup.client, device, slot, pin)
        except Failure as failure:
            setup.warn_of(failure)
        else:
            setup.note("pin", later=False)
            return True
    setup.note("pin", later=True)
    return False


def _typed(setup: Setup) -> Iterator[str]:
    """Yield typed PINs until the input is empty."""
    while pin := setup.terminal.ask_secret("  The SIM's PIN (Enter: later) ", "--pin-file FILE"):
        if typed_values.is_pin(pin):
            yield pin
        else:
            setup.warn("A PIN is 4 to 8 digits.")


def _enter(setup: Setup) -> bool:
    """Wait a moment; return whether Enter was pressed meanwhile."""
    if not setup.asks:
        setup.client.pause(LOOK_S)
        return False
    stdin = setup.terminal.stdin
    if select.select([stdin], [], [], LOOK_S)[0]:
        stdin.readline()
        return True
    return False


PROVIDERS: Final = {"mtn": "momo_mtn", "telecel": "momo_telecel", "at": "momo_at"}
_WRONG_URL: Final = (ErrorCode.URL_NOT_ALLOWED, ErrorCode.VALIDATION_ERROR)
_LOCAL: Final = "momo listen --forward-to http://127.0.0.1:3000/hook"


def number(setup: Setup) -> Row:
    """Register the merchant numbers and assign them to their SIMs."""
    wanted = {str(body["phone_number"]): body for body in setup.answers.methods}
    for given, body in {} if setup.looks else wanted.items():
        place = next((sim for sim, its in setup.answers.sims if its == given), "")
        _add_number(setup.client, body, place)
    if setup.may_ask("number") and not all(_ask_number(setup, sim) for sim in _bare_sims(setup)):
        setup.note("number", later=True)
    taken = setup.client.get(Path.PAYMENT_METHODS).data or ()
    placed = [method for method in taken if method.get("sim")]
    fix = "momo setup --again"
    if setup.looks and (missing := len(wanted) - len(taken)) > 0:
        return outcome("needs_action", f"{missing} of the numbers are not registered yet", fix)
    if placed:
        shown = ", ".join(f"{phone(m['phone_number'])} ({clean(m['account_name'])})" for m in placed)
        without = [f"; {sim_text(sim)} has no number" for sim in _bare_sims(setup)[:1]]
        detail = "".join([f"Payments are received by {shown}", *without])
        return outcome("done", detail, "momo lines" if without else None)
    if taken:
        detail = "The number is on no SIM yet"
        return outcome("needs_action", detail, "momo phones list")
    status = "needs_action" if setup.looks else "skipped"
    return outcome(status, "No number receives payments yet", fix)


def _bare_sims(setup: Setup) -> list[Row]:
    """Return the SIMs for payments that have no number."""
    return [sim for sim in all_sims(setup.client) if not (sim["phone_number"] or sim.get("ignored"))]


def _ask_number(setup: Setup, sim: Row) -> bool:
    """Ask for the number of a SIM and assign it, or ignore the SIM; return False if it is postponed."""
    flag = "--method NET:PHONE:NAME"
    while True:
        setup.say(f"  On {sim_text(sim)}:")
        its = setup.ask("Its number, such as 0244124567 (no: not for payments; Enter: later) ", flag)
        if not its:
            return False
        if its.lower() in ("n", "no", "none"):
            ignore_sim(setup.client, sim)
            return True
        name = setup.ask("The account name of that wallet? ", flag)
        network = str(sim.get("network") or "").lower()
        while network not in PROVIDERS:
            network = setup.ask("Its network: mtn, telecel or at? ", flag).lower()
        if not agrees_to_network(setup.terminal, its, PROVIDERS[network]):
            continue
        body = {"provider": PROVIDERS[network], "phone_number": its, "account_name": name or its}
        try:
            _add_number(setup.client, body, f"{sim['device_id']}:{sim['slot_index']}")
        except Failure as failure:
            setup.warn_of(failure)
        else:
            return True


def _add_number(client: Client, body: dict[str, str], place: str) -> None:
    """Register a number, on the SIM `place` if given; do nothing if it is already registered."""
    given: dict[str, Any] = dict(body)
    if place:
        given["sim"] = sim_object(client, *split_sim(place, "--sim"))
    try:
        client.post_once(Path.PAYMENT_METHODS, given)
    except Failure as failure:
        if failure.code != "PAYMENT_METHOD_EXISTS":
            raise


def endpoint(setup: Setup) -> Row:
    """Add the endpoint of the shop's program, which gets a webhook for each payment."""
    fix = "momo endpoints add https://shop.example/hook"
    endpoints = setup.client.get(Path.ENDPOINTS).data or ()
    urls = [one.get("url") for one in endpoints if not one.get("is_sandbox")]
    url = setup.answers.endpoint
    if urls and url in (None, *urls):
        return outcome("done", f"Payments are sent to {clean(url or urls[0])}")
    if setup.looks and url:
        return outcome("needs_action", f"Payments are not sent to {clean(url)} yet", fix)
    if url is None and setup.may_ask("endpoint"):
        url = _ask_url(setup)
    while url:
        try:
            return _made_endpoint(setup, url)
        except Failure as failure:
            if not (setup.asks and failure.code in _WRONG_URL):
                raise
            setup.warn_of(failure)
            setup.say("  For a program on this machine, leave it empty and type later:")
            setup.say(f"      {_LOCAL}")
            url = _ask_url(setup)
    return outcome("skipped", "No program of yours gets webhooks", fix)


def _ask_url(setup: Setup) -> str:
    question = "URL that gets a webhook for each payment, https://... (Enter: none) "
    url = setup.ask(question, "--endpoint URL")
    setup.note("endpoint", later=not url)
    return url


def _made_endpoint(setup: Setup, url: str) -> Row:
    """Add an endpoint; first ask for the numbers of SIMs without one, if it is refused because of them."""
    try:
        reply = setup.client.post_once(Path.ENDPOINTS, {"url": url})
    except Failure as failure:
        lacking = at(failure.body, "error.sims_without_number")
        if failure.code != ErrorCode.LINES_NOT_READY or not lacking:
            raise
        setup.say("  Each SIM needs its number first, because payments without one match no rule.")
        if not (setup.asks and all(_ask_number(setup, sim) for sim in lacking)):
            detail = f"No endpoint yet: {sim_text(lacking[0])} has no number"
            return outcome("needs_action", detail, "momo lines")
        reply = setup.client.post_once(Path.ENDPOINTS, {"url": url})
    name = endpoint_name(reply.data, setup.client.find(Path.ENDPOINTS) or [reply.data])
    return outcome("done", f"Payments are sent to {clean(url)}", f"momo endpoints reveal {name}")


def practice(setup: Setup) -> Row:
    """Make a test transaction and pay it: a test of all parts but the modem."""
    asked_for = setup.answers.practice
    if asked_for is None and setup.noted("practice"):
        return outcome("done", "A practice payment was made before", "momo demo")
    if setup.looks or asked_for is False or not (setup.asks or asked_for):
        return outcome("skipped", "Not tested", "momo setup --practice")
    started = system.monotonic()
    body = {"amount": "1.00", "phone_number": "0244000000", "customer_name": "Practice"}
    transaction = setup.client.call(
        "POST", Path.INITIALIZE, body=body, idempotency_key=system.new_key(), sandbox=True
    ).data
    body = {"reference": transaction["reference"]}
    paid = setup.client.call("POST", Path.TEST_PAYMENTS, body=body, sandbox=True).data
    status = at(paid, "transaction.status")
    took_s = system.monotonic() - started
    if status != "SUCCESS":
        detail = f"Transaction {clean(transaction['svc_code'])} is {clean(status) or 'not paid'}"
        fix = f"momo tx show {transaction['reference']} --events"
        return outcome("failed", detail, fix)
    detail = (
        f"Transaction {clean(transaction['svc_code'])} of GHS 1.00 was created, paid and matched "
        f"in {took_s:.1f} s, with no real money"
    )
    setup.note("practice", later=True)
    return outcome("done", detail)
