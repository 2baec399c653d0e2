"""The SIMs and their modems: the list, one SIM, and the actions on it."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from daemon.core.access.callers import Operation, require
from daemon.core.errors import FieldError, Refusal
from daemon.core.limits import ACCOUNT_NAME_CHARACTERS_MAX, NOTES_CHARACTERS_MAX
from daemon.core.lines import modem_health, silence
from daemon.core.lines.line_json import MethodChanges, NewMethod, Slot
from daemon.core.messages.balance_chain import ChainEntry
from daemon.core.model import Payment
from daemon.core.names import currency_of, network_name, provider_name
from daemon.core.payments.payer_texts import TextKind
from daemon.dash.pages.lines import sim_view
from daemon.dash.pages.lines.sim_view import SimView
from daemon.dash.parts import chart
from daemon.dash.parts.message_text import visible
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.lines import modems, payment_methods, sims, smscs
from daemon.flows.lines.smscs import TestPayment
from daemon.store.engine import Reader
from daemon.store.lines import payment_methods as methods_store
from daemon.store.messages import balances
from daemon.store.payments import payments, texts
from daemon.store.payments.texts import PayerText
from daemon.wire import ErrorCode, Mode
from parsers.phone import read_phone
from parsers.read import PROVIDERS

CHAIN_SHOWN: Final = 10
SIGNAL_MOST: Final = 31
_PIN: Final = re.compile(r"[0-9]{4,8}", re.ASCII)
_ID: Final = re.compile(r"([0-9a-f-]{36}):([0-9]{1,2})", re.ASCII)
_GHANA: Final = "+233"
_AGAIN: Final = frozenset(
    {
        ErrorCode.VALIDATION_ERROR,
        ErrorCode.PAYMENT_METHOD_EXISTS,
        ErrorCode.NETWORK_MISMATCH,
        ErrorCode.SIM_ALREADY_ASSIGNED,
        ErrorCode.SIM_NOT_FOUND,
        ErrorCode.RATE_LIMITED,
    }
)


class SimPageData(Struct, frozen=True):
    """Data of the page of one SIM besides its view."""

    chain: Sequence[ChainEntry]
    last: Payment | None
    text: PayerText | None
    asked: TestPayment | None


async def show_list(visit: Visit) -> Shown:
    """Show every SIM and its modem."""
    rows = await visit.env.store.read(lambda reader: sim_view.read(reader, visit.now))
    return Shown(
        "lines/list.html",
        {
            "sims": sim_view.views(visit, rows),
            "strangers": sim_view.strangers(visit, rows),
            "network_of": network_name,
            "text": visible,
        },
    )


async def show_one(visit: Visit) -> Shown:
    """Show one SIM."""
    return await _page(visit)


async def _page(visit: Visit, status: int = 200) -> Shown:
    rows = await visit.env.store.read(lambda reader: sim_view.read(reader, visit.now))
    view = _view(visit, rows)
    facts = await visit.env.store.read(lambda reader: _facts(visit, reader, view))
    network = None if view.sim is None else view.sim.network
    offered = [one for one in PROVIDERS.values() if network in (None, one.network)]
    return Shown(
        "lines/one.html",
        {
            "sim": view,
            "network": network_name(network),
            "currency": (currency_of(network) if network else None) or "GHS",
            "chain": facts.chain,
            "last": facts.last,
            "sent": facts.text,
            "asked": facts.asked,
            "hours": _hours(visit, view),
            "signals": _signals(visit, view),
            "providers": [(one.name, provider_name(one.name)) for one in offered],
            "manages": visit.may(Operation.MANAGE_LINES),
            "text": visible,
        },
        visible(f"{network_name(network)} · {view.device.name}:{view.slot}"),
        status,
    )


def _view(visit: Visit, rows: sim_view.Rows) -> SimView:
    for view in sim_view.views(visit, rows):
        if view.id == visit.places["id"].lower():
            return view
    raise Refusal(ErrorCode.ROUTE_NOT_FOUND)


def _facts(visit: Visit, reader: Reader, view: SimView) -> SimPageData:
    chain: list[ChainEntry] = []
    last, asked = None, None
    if view.sim is not None:
        asked = smscs.expected(reader, view.sim, visit.now)
    if view.sim is not None and view.method is not None:
        key = balances.Chain(view.sim.sim_key, view.method.provider)
        chain = sorted(
            balances.nearest(reader, key, visit.now, CHAIN_SHOWN), key=lambda one: -one.at
        )
        last = payments.last_of_line(reader, view.method.id)
    sent = texts.find(reader, visit.query.get("text", ""))
    return SimPageData(
        chain, last, sent if sent is not None and sent.kind is TextKind.TEST else None, asked
    )


def _hours(visit: Visit, view: SimView) -> chart.Bars | None:
    """Return the usual messages of each hour of this day of the week, with those of today in words."""
    if view.rhythm is None:
        return None
    t = visit.words
    hours = silence.day(view.rhythm, visit.now, sim_view.offset_us(visit))
    if not any(usual for _, usual in hours):
        return None
    values = [
        (
            f"{hour:02}",
            round((usual or 0) * 100),
            t("usual_and_today", usual=f"{usual or 0:.1f}", today=count or 0),
        )
        for hour, (count, usual) in enumerate(hours)
    ]
    return chart.bars(values, now=t.local(visit.now).hour)


def _signals(visit: Visit, view: SimView) -> chart.Bars | None:
    """Return the weakest signal of each of the last 24 hours; None if none was measured."""
    t, hours = visit.words, visit.env.signals.hours(view.device.device_id, visit.now)
    if all(hour.lowest is None for hour in hours):
        return None
    values = [
        (
            f"{t.local(hour.at):%H}",
            # A signal of 0 is weak and not missing, so its bar has some height.
            0 if hour.lowest is None else hour.lowest + 1,
            t("signal_none")
            if hour.lowest is None
            else t(
                "signal_range",
                lowest=modem_health.dbm(hour.lowest),
                highest=modem_health.dbm(hour.highest),
                bars=modem_health.bars(hour.lowest),
            ),
        )
        for hour in hours
    ]
    return chart.bars(values, now=len(values) - 1, full=SIGNAL_MOST + 1)


def _slot(visit: Visit) -> Slot:
    """Return the slot in the address.

    Raises:
        Refusal: ROUTE_NOT_FOUND.
    """
    found = _ID.fullmatch(visit.places["id"].lower())
    if found is None:
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    return Slot(found[1], int(found[2]))


def _here(visit: Visit, said: str, more: str = "") -> Goto:
    """Go back to the SIM, or to the page of the first run if its form was there."""
    if visit.form.get("back") == "first":
        return Goto("/dash/first", said)
    return Goto(f"/dash/lines/{visit.places['id']}{more}", said)


async def _again(visit: Visit, refusal: Refusal, field: str = "") -> Outcome:
    """Show the page again with the refusal, or raise it."""
    if refusal.code not in _AGAIN:
        raise refusal
    visit.refuse(refusal)
    if field and field not in visit.errors and "" in visit.errors:
        visit.errors[field] = visit.errors.pop("")
    return await _page(visit, 422)


async def name(visit: Visit) -> Outcome:
    """Name the modem."""
    slot, given = _slot(visit), visit.form.get("name", "").strip()
    problem = modems.name_problem(given)
    if problem is not None:
        visit.fail(FieldError("name", "invalid", visit.words(f"name_{problem}")))
        return await _page(visit, 422)
    try:
        await modems.name_modem(visit.env, visit.caller, slot.device_id, given)
    except Refusal as refusal:
        return await _again(visit, refusal, "name")
    return _here(visit, "said_line_named")


async def assign(visit: Visit) -> Outcome:
    """Put a number on the SIM: a registered one is moved, a new one is registered."""
    slot, t = _slot(visit), visit.words
    number = read_phone(visit.form.get("phone_number", ""))
    account = visit.form.get("account_name", "").strip()
    provider = visit.form.get("provider", "")
    if number is None or not number.startswith(_GHANA):
        visit.fail(FieldError("phone_number", "invalid", t("number_wrong")))
    if provider not in PROVIDERS:
        visit.fail(FieldError("provider", "invalid", t("network_wrong")))
    if not account or len(account) > ACCOUNT_NAME_CHARACTERS_MAX:
        visit.fail(FieldError("account_name", "invalid", t("account_wrong")))
    if visit.errors or number is None:
        return await _page(visit, 422)
    known = await visit.env.store.read(
        lambda reader: methods_store.with_number(reader, Mode.LIVE, provider, number)
    )
    place = _here(visit, "said_line_assigned")
    try:
        if known is None:
            new = NewMethod(provider, number, account, None, slot)
            await payment_methods.create(
                visit.env, visit.caller, new, keep=visit.keep(lambda _: place)
            )
        else:
            changes = MethodChanges(sim=slot, account_name=account)
            await payment_methods.change(visit.env, visit.caller, known.id, changes)
    except Refusal as refusal:
        return await _again(visit, refusal, "phone_number")
    return place


async def clear(visit: Visit) -> Outcome:
    """Take the number off the SIM."""
    _slot(visit)
    rows = await visit.env.store.read(lambda reader: sim_view.read(reader, visit.now))
    view = _view(visit, rows)
    if view.method is not None:
        changes = MethodChanges(sim=None)
        await payment_methods.change(visit.env, visit.caller, view.method.id, changes)
    return _here(visit, "said_line_cleared")


async def pin(visit: Visit) -> Outcome:
    """Store the PIN of the SIM; it is tried once, and never shown."""
    slot, given = _slot(visit), visit.form.get("pin", "")
    if _PIN.fullmatch(given) is None:
        visit.fail(FieldError("pin", "invalid", visit.words("pin_wrong_form")))
        return await _page(visit, 422)
    try:
        await sims.store_pin(visit.env, visit.caller, slot.device_id, slot.slot_index, given)
    except Refusal as refusal:
        return await _again(visit, refusal, "pin")
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
        visit.fail(FieldError("number", "invalid", visit.words("number_wrong")))
        return await _page(visit, 422)
    try:
        sent = await modems.queue_test_sms(visit.env, visit.caller, slot.device_id, number)
    except Refusal as refusal:
        return await _again(visit, refusal, "number")
    return _here(visit, "said_line_text", f"?text={sent.id}")


async def test_payment(visit: Visit) -> Outcome:
    """Name an odd amount that the owner pays to the SIM."""
    slot = _slot(visit)
    try:
        await smscs.expect_test_payment(visit.env, visit.caller, slot.device_id, slot.slot_index)
    except Refusal as refusal:
        return await _again(visit, refusal)
    return _here(visit, "said_test_payment", "#proof")


async def ignore(visit: Visit) -> Outcome:
    """Set the SIM aside, or take it back."""
    slot, wanted = _slot(visit), visit.form.get("ignored") == "yes"
    try:
        await sims.ignore(visit.env, visit.caller, slot.device_id, slot.slot_index, ignored=wanted)
    except Refusal as refusal:
        return await _again(visit, refusal)
    return _here(visit, "said_line_ignored" if wanted else "said_line_used")


async def acknowledge(visit: Visit) -> Outcome:
    """Mark the money without a message as explained."""
    slot, notes = _slot(visit), visit.form.get("notes", "").strip()
    if len(notes) > NOTES_CHARACTERS_MAX:
        visit.fail(FieldError("notes", "invalid", visit.words("note_long")))
        return await _page(visit, 422)
    await sims.acknowledge_unaccounted(
        visit.env, visit.caller, slot.device_id, slot.slot_index, notes or None
    )
    return _here(visit, "said_line_explained")
