"""The SIMs and their modems: the list, one SIM, and the actions on it; and the payments that came to a SIM without a number."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from daemon.core.access.callers import Operation, require
from daemon.core.errors import Refusal, needed
from daemon.core.limits import NOTES_CHARACTERS_MAX
from daemon.core.lines import modem_health, receiving, silence
from daemon.core.lines.line_json import ACCOUNT_NAME_CHARACTERS_MAX, ClaimedAnswer, MethodChanges, NewMethod, Slot
from daemon.core.lines.modem_health import ModemHealth, ModemProblem
from daemon.core.lines.readiness import UNACCOUNTED_WINDOW_US, UNPLACED_WINDOW_US
from daemon.core.lines.silence import Rhythm, Silence
from daemon.core.messages.balance_chain import ChainEntry
from daemon.core.messages.line_history import Unaccounted, unaccounted
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.names import currency_of, network_name, provider_name
from daemon.core.payments.payer_texts import TextKind
from daemon.dash.parts import chart
from daemon.dash.parts.confirming import confirm
from daemon.dash.parts.message_text import visible
from daemon.dash.web.visit import FormWrong, Goto, Outcome, Shown, Visit
from daemon.flows.lines import modems, payment_methods, smscs, ussd
from daemon.flows.lines import wallet as flow
from daemon.flows.lines.ussd import UssdScreen
from daemon.steps.prove import Question, Seen
from daemon.store.engine import Reader
from daemon.store.lines import devices, sim_pins, sms_rhythms
from daemon.store.lines import payment_methods as methods_store
from daemon.store.lines.sim_pins import PinnedSim
from daemon.store.messages import balances
from daemon.store.payments import payments, texts
from daemon.wire import ErrorCode, Mode
from parsers.money import render
from parsers.phone import read_phone
from parsers.read import PROVIDERS
from parsers.times import read_iso

CHAIN_SHOWN: Final = 10
SIGNAL_MOST: Final = 31
_PIN: Final = re.compile(r"[0-9]{4,8}", re.ASCII)
_ID: Final = re.compile(r"([0-9a-f-]{36}):([0-9]{1,2})", re.ASCII)
_GHANA: Final = "+233"
_AGAIN: Final = (
    ErrorCode.VALIDATION_ERROR,
    ErrorCode.PAYMENT_METHOD_EXISTS,
    ErrorCode.NETWORK_MISMATCH,
    ErrorCode.SIM_ALREADY_ASSIGNED,
    ErrorCode.SIM_NOT_FOUND,
    ErrorCode.RATE_LIMITED,
)
"""The refusals that are shown in the form."""


class SimView(Struct, frozen=True):
    """One SIM slot.

    Attributes:
        sim: None for a SIM that was never read, such as a locked one.
        health: The state of its modem now; None if it is on no port.
        problem: Why it cannot receive; None if it can.
        problems: All troubles of its modem.
        rhythm: Its usual hours; None for a new SIM.
        silence: The time without a message, and the usual time.
        missing: Money without a message.
        unplaced: Payments without a number.
        locked: The code that it asks for; None if it is unlocked.
    """

    device: Device
    slot: int
    sim: Sim | None
    method: PaymentMethod | None
    health: ModemHealth | None
    problem: ModemProblem | None
    problems: Sequence[ModemProblem]
    rhythm: Rhythm | None
    silence: Silence | None
    missing: Unaccounted
    unplaced: int
    locked: PinnedSim | None

    @property
    def id(self) -> str:
        """The SIM as it stands in an address and in a command."""
        return f"{self.device.device_id}:{self.slot}"

    @property
    def ignored(self) -> bool:
        """It is not for payments."""
        return self.sim is not None and self.sim.ignored_at is not None

    @property
    def bars(self) -> int | None:
        """The signal, 0 to 4 bars."""
        return None if self.health is None else modem_health.bars(self.health.signal)

    @property
    def dbm(self) -> int | None:
        """The signal in dBm."""
        return None if self.health is None else modem_health.dbm(self.health.signal)


def sim_views(visit: Visit, reader: Reader) -> tuple[list[SimView], list[ModemHealth]]:
    """Return the SIMs, those that are set aside last; and the ports with a modem that has not identified itself."""
    now, mode, known = visit.now, visit.mode, devices.known(reader, visit.mode)
    all_sims, in_use = devices.sims_in_phones(reader, mode), methods_store.in_use(reader, mode)
    rhythms = sms_rhythms.all_rhythms(reader)
    gaps = balances.gaps_since(reader, now - UNACCOUNTED_WINDOW_US)
    unplaced = methods_store.unplaced_by_sim(reader, now - UNPLACED_WINDOW_US, mode)
    phones = receiving.with_devices(known, visit.machine.phone_states())
    judged = receiving.judge(known, all_sims, in_use, phones, now)
    problems = {line.sim.seq: line.problem for line in judged}
    on_port = {phone.device_id: phone for phone in phones if phone.device_id is not None}
    methods = {method.sim_seq: method for method in in_use if method.sim_seq is not None}

    def view(device: Device, slot: int, sim: Sim | None) -> SimView:
        health = on_port.get(device.device_id)
        troubles = [] if health is None else modem_health.find_problems(health, now)
        rhythm = None if sim is None else rhythms.get(sim.sim_key)
        quiet = None
        if rhythm is not None:
            since = rhythm.watched_since if rhythm.last_at is None else rhythm.last_at
            quiet = silence.evaluate(rhythm, since, now, _offset_us(visit))
        problem: ModemProblem | None = None
        if sim is not None:
            problem = problems.get(sim.seq)
        else:
            problem = receiving.AWAY if health is None else next(iter(troubles), None)
        return SimView(
            device,
            slot,
            sim,
            None if sim is None else methods.get(sim.seq),
            health,
            problem,
            troubles,
            rhythm,
            quiet,
            unaccounted(() if sim is None else gaps.get(sim.sim_key, ())),
            0 if sim is None else unplaced.get(sim.sim_key, 0),
            sim_pins.locked(reader, device.device_id, 0) if slot == 0 else None,
        )

    found = []
    for device in known:
        mine = [one for one in all_sims if one.device_id == device.device_id and one.present]
        # A modem without a readable SIM has one row too: that of its first slot.
        found += [view(device, one.slot_index, one) for one in mine] or [view(device, 0, None)]
    strangers = [phone for phone in phones if phone.device_id is None]
    return sorted(found, key=lambda one: one.ignored), strangers


def _offset_us(visit: Visit) -> int:
    """Return the UTC offset of the shop's time zone."""
    offset = visit.words.local(visit.now).utcoffset()
    return 0 if offset is None else int(offset.total_seconds()) * 1_000_000


async def show_list(visit: Visit) -> Shown:
    """Show every SIM and its modem."""
    views, strangers = await visit.env.store.read(lambda reader: sim_views(visit, reader))
    values = {"sims": views, "strangers": strangers}
    return Shown("lines/list.html", values)


def _view(visit: Visit, reader: Reader) -> SimView:
    for view in sim_views(visit, reader)[0]:
        if view.id == visit.places["id"].lower():
            return view
    raise Refusal(ErrorCode.ROUTE_NOT_FOUND)


async def show_one(visit: Visit) -> Shown:
    """Show one SIM."""

    def read(reader: Reader) -> tuple[SimView, dict[str, Any]]:
        view = _view(visit, reader)
        chain: list[ChainEntry] = []
        last, asked = None, None
        if view.sim is not None:
            asked = smscs.expected(reader, view.sim, visit.now)
        if view.sim is not None and view.method is not None:
            key = balances.Chain(view.sim.sim_key, view.method.provider)
            chain = balances.nearest(reader, key, visit.now, CHAIN_SHOWN)
            last = payments.last_of_line(reader, view.method.id)
        sent = texts.find(reader, visit.query.get("text", ""))
        return view, {
            "chain": sorted(chain, key=lambda one: -one.at),
            "last": last,
            "sent": sent if sent is not None and sent.kind is TextKind.TEST else None,
            "asked": asked,
        }

    view, values = await visit.env.store.read(read)
    network = None if view.sim is None else view.sim.network
    return Shown(
        "lines/one.html",
        {
            **values,
            "sim": view,
            "network": network_name(network),
            "currency": (currency_of(network) if network else None) or "GHS",
            "hours": _hours(visit, view),
            "signals": _signals(visit, view),
            "providers": networks_of(view),
            "manages": visit.may(Operation.MANAGE_LINES),
            "proves": visit.may(Operation.DECIDE_FORGERY),
            "questions": tuple(Question),
        },
        visible(f"{network_name(network)} · {view.device.name}:{view.slot}"),
    )


def networks_of(view: SimView) -> list[tuple[str, str]]:
    """Return the networks that a number on the SIM may have, each with its name."""
    network = None if view.sim is None else view.sim.network
    offered = [one.name for one in PROVIDERS.values() if network in (None, one.network)]
    return [(name, provider_name(name)) for name in offered]


def _hours(visit: Visit, view: SimView) -> chart.Bars | None:
    """Return the usual messages of each hour of this day of the week, with those of today in words."""
    if view.rhythm is None:
        return None
    t = visit.words
    hours = silence.day(view.rhythm, visit.now, _offset_us(visit))
    if not any(usual for _, usual in hours):
        return None
    values = [
        (f"{hour:02}", round((usual or 0) * 100), t("usual_and_today", usual=f"{usual or 0:.1f}", today=count or 0))
        for hour, (count, usual) in enumerate(hours)
    ]
    return chart.bars(values, now=t.local(visit.now).hour)


def _signals(visit: Visit, view: SimView) -> chart.Bars | None:
    """Return the weakest signal of each of the last 24 hours; None if none was measured."""
    t, hours = visit.words, visit.env.signals.hours(view.device.device_id, visit.now)
    if all(hour.lowest is None for hour in hours):
        return None
    values = []
    for hour in hours:
        text, height = t("signal_none"), 0
        if hour.lowest is not None:
            # A signal of 0 is weak and not missing, so its bar has some height.
            height = hour.lowest + 1
            lowest, highest = modem_health.dbm(hour.lowest), modem_health.dbm(hour.highest)
            bars = modem_health.bars(hour.lowest)
            text = t("signal_range", lowest=lowest, highest=highest, bars=bars)
        values.append((f"{t.local(hour.at):%H}", height, text))
    return chart.bars(values, now=len(values) - 1, full=SIGNAL_MOST + 1)


def _slot(visit: Visit) -> Slot:
    """Return the slot in the address."""
    found = needed(_ID.fullmatch(visit.places["id"].lower()), ErrorCode.ROUTE_NOT_FOUND)
    return Slot(found[1], int(found[2]))


def _here(visit: Visit, said: str, more: str = "") -> Goto:
    """Go back to the SIM, or to the page of the first run if its form was there."""
    if visit.form.get("back") == "first":
        return Goto("/dash/first", said)
    return Goto(f"/dash/lines/{visit.places['id']}{more}", said)


async def name(visit: Visit) -> Outcome:
    """Name the modem."""
    slot, given = _slot(visit), visit.form.get("name", "").strip()
    problem = modems.name_problem(given)
    if problem is not None:
        visit.wrong("name", f"name_{problem}")
    with visit.shows(*_AGAIN, field="name"):
        await modems.name_modem(visit.env, visit.caller, slot.device_id, given)
    return _here(visit, "said_line_named")


async def assign(visit: Visit) -> Outcome:
    """Put a number on the SIM: a registered one is moved, a new one is registered."""
    slot = _slot(visit)
    number = read_phone(visit.form.get("phone_number", "")) or ""
    account = visit.form.get("account_name", "").strip()
    provider = visit.form.get("provider", "")
    if not number.startswith(_GHANA):
        visit.fail("phone_number", "number_wrong")
    if provider not in PROVIDERS:
        visit.fail("provider", "network_wrong")
    if not account or len(account) > ACCOUNT_NAME_CHARACTERS_MAX:
        visit.fail("account_name", "account_wrong")
    visit.check()
    known = await visit.env.store.read(lambda reader: methods_store.with_number(reader, Mode.LIVE, provider, number))
    place = _here(visit, "said_line_assigned")
    with visit.shows(*_AGAIN, field="phone_number"):
        if known is None:
            new = NewMethod(provider, number, account, None, slot)
            return await visit.kept(place, lambda keep: payment_methods.create(visit.env, visit.caller, new, keep=keep))
        changes = MethodChanges(sim=slot, account_name=account)
        await payment_methods.change(visit.env, visit.caller, known.id, changes)
    return place


async def clear(visit: Visit) -> Outcome:
    """Take the number off the SIM."""
    _slot(visit)
    view = await visit.env.store.read(lambda reader: _view(visit, reader))
    if view.method is not None:
        changes = MethodChanges(sim=None)
        await payment_methods.change(visit.env, visit.caller, view.method.id, changes)
    return _here(visit, "said_line_cleared")


async def pin(visit: Visit) -> Outcome:
    """Store the PIN of the SIM; it is tried once, and never shown."""
    slot, given = _slot(visit), visit.form.get("pin", "")
    if _PIN.fullmatch(given) is None:
        visit.wrong("pin", "pin_wrong_form")
    with visit.shows(*_AGAIN, field="pin"):
        await modems.store_pin(visit.env, visit.caller, slot.device_id, slot.slot_index, given)
    return _here(visit, "said_line_pin")


async def test(visit: Visit) -> Outcome:
    """Ask the modem for its state now."""
    require(visit.caller, Operation.MANAGE_LINES)
    answered = await visit.machine.inspect(_slot(visit).device_id)
    return _here(visit, "said_line_answers" if answered else "said_line_silent")


async def send_text(visit: Visit) -> Outcome:
    """Queue a test SMS."""
    slot, number = _slot(visit), read_phone(visit.form.get("number", ""))
    if number is None:
        visit.wrong("number", "number_wrong")
    with visit.shows(*_AGAIN, field="number"):
        sent = await modems.queue_test_sms(visit.env, visit.caller, slot.device_id, number)
    return _here(visit, "said_line_text", f"?text={sent.id}")


async def test_payment(visit: Visit) -> Outcome:
    """Name an odd amount that the owner pays to the SIM."""
    slot = _slot(visit)
    with visit.shows(*_AGAIN):
        await smscs.expect_test_payment(visit.env, visit.caller, slot.device_id, slot.slot_index)
    return _here(visit, "said_test_payment", "#proof")


async def ignore(visit: Visit) -> Outcome:
    """Set the SIM aside, or take it back."""
    slot, wanted = _slot(visit), visit.form.get("ignored") == "yes"
    with visit.shows(*_AGAIN):
        await modems.ignore(visit.env, visit.caller, slot.device_id, slot.slot_index, ignored=wanted)
    return _here(visit, "said_line_ignored" if wanted else "said_line_used")


async def acknowledge(visit: Visit) -> Outcome:
    """Mark the money without a message as explained."""
    slot, notes = _slot(visit), visit.form.get("notes", "").strip()
    if len(notes) > NOTES_CHARACTERS_MAX:
        visit.wrong("notes", "note_long")
    await modems.acknowledge_unaccounted(visit.env, visit.caller, slot.device_id, slot.slot_index, notes or None)
    return _here(visit, "said_line_explained")


async def say_wallet(visit: Visit) -> Outcome:
    """Settle what the messages leave open by the balance that the wallet shows, and show what that means for each."""
    view = await visit.env.store.read(lambda reader: _view(visit, reader))
    method = needed(view.method, ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    await confirm(visit)
    balance, answer = visit.form.get("balance", "").strip(), visit.form.get("answer", "")
    # On the form of the page Statement stand the times of its first and last row.
    at, since = (read_iso(visit.form.get(name, "")) for name in ("at", "statement_from"))
    # A yes is about the balance of the question, not about another one typed since.
    yes = answer in tuple(Question) and visit.form.get("asked", "") == balance
    with visit.shows(*_AGAIN, ErrorCode.METHOD_HAS_NO_SIM, field="balance"):
        proof, currency = await flow.say_balance(
            visit.env,
            visit.caller,
            method.id,
            balance,
            seen=None if at is None or since is None else Seen(at, since),
            answer=Question(answer) if yes else None,
        )
    if proof.question is not None:
        visit.errors[proof.question] = visit.cite(proof.sentence)
        raise FormWrong
    if not proof.settled:
        visit.wrong("balance", "wallet_no_statement")
    values = {"sim": view, "proof": proof, "currency": currency}
    return Shown("lines/wallet.html", values, visit.words("wallet_shows"))


async def show_ussd(visit: Visit) -> Shown:
    """Show the form for a USSD code; in a session, after a refused reply, that for another one."""
    return await _ussd_page(visit, None, visit.form.get("session", ""))


async def use_ussd(visit: Visit) -> Outcome:
    """Dial a code, send a reply, or end the session; what was typed is not shown again."""
    view = await visit.env.store.read(lambda reader: _view(visit, reader))
    if view.method is None:
        raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    session = visit.form.get("session", "")
    place = visit.env, visit.caller, view.method.id, session or visit.env.new_id()
    with visit.shows(*_AGAIN, ErrorCode.USSD_IN_USE, field="reply" if session else "code"):
        if not session:
            seen = await ussd.dial(*place, visit.form.get("code", "").strip())
        elif "reply" in visit.form:
            seen = await ussd.reply(*place, visit.form["reply"].strip())
        else:
            seen = await ussd.end(*place)
    return await _ussd_page(visit, seen, "" if seen.menu.end else place[-1])


async def _ussd_page(visit: Visit, seen: UssdScreen | None, session: str) -> Shown:
    view = await visit.env.store.read(lambda reader: _view(visit, reader))
    if view.method is None:
        raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    shown = None if seen is None else seen.balance
    balance = "" if shown is None else render(shown.minor, shown.currency)
    values = {"sim": view, "seen": seen, "session": session, "balance": balance, "text": visible}
    return Shown("lines/ussd.html", values, visit.words("ussd"))


async def show_unplaced(visit: Visit) -> Shown:
    """Show the sums of payments without a number, by SIM and network."""

    def read(reader: Reader) -> list[dict[str, Any]]:
        found = []
        for one in payments.unplaced_sums(reader, visit.now - UNPLACED_WINDOW_US):
            sim = devices.sim_by_key(reader, one.sim_key)
            device = None if sim is None else devices.get(reader, sim.device_id)
            method = None if sim is None else methods_store.on_sim(reader, sim.seq)
            # Only a number of this network may claim them.
            mine = method if method is not None and method.provider == one.provider else None
            found.append({"found": one, "sim": sim, "device": device, "method": mine})
        return found

    return Shown(
        "lines/unplaced.html",
        {
            "groups": await visit.env.store.read(read),
            "manages": visit.may(Operation.MANAGE_LINES),
            "replay": _replay(visit),
        },
    )


def _replay(visit: Visit) -> str:
    """Return the address of the replay of the payments just claimed; "" if there are none.

    Its fields have minutes of the shop's zone; the end is the minute after the last payment.
    """
    try:
        first, last = (datetime.fromisoformat(visit.query.get(name, "")) for name in ("from", "to"))
        last = last.astimezone(visit.words.zone) + timedelta(minutes=1)
        first = first.astimezone(visit.words.zone)
    except (ValueError, OverflowError):
        return ""
    window = urlencode({"from": f"{first:%Y-%m-%dT%H:%M}", "to": f"{last:%Y-%m-%dT%H:%M}"})
    return f"/dash/replay?{window}"


async def show_claim(visit: Visit) -> Shown:
    """Show the payments that a claim would assign to a number."""
    method = needed(
        await visit.env.store.read(lambda reader: methods_store.get(reader, visit.places["id"], Mode.LIVE)),
        ErrorCode.PAYMENT_METHOD_NOT_FOUND,
    )
    found = await payment_methods.claim_unplaced(visit.env, visit.caller, method.id, dry_run=True)
    would = ClaimedAnswer.of(found.count, found.first, found.last, found.details, dry_run=True)
    return Shown(
        "lines/claim.html",
        {
            "method": method,
            "count": found.count,
            "amounts": would.amounts or [],
            "payments": would.payments or [],
            "provider": provider_name(method.provider),
        },
    )


async def claim(visit: Visit) -> Outcome:
    """Claim them, and offer the replay of the same time."""

    def place(done: payment_methods.Claimed) -> Goto:
        if not done.count:
            return Goto("/dash/unplaced", "said_claimed_none")
        found = ClaimedAnswer.of(done.count, done.first, done.last, dry_run=False)
        window = urlencode({"from": found.since, "to": found.until})
        return Goto(f"/dash/unplaced?{window}", "said_claimed")

    method_id = visit.places["id"]
    return await visit.kept(
        place, lambda keep: payment_methods.claim_unplaced(visit.env, visit.caller, method_id, dry_run=False, keep=keep)
    )
