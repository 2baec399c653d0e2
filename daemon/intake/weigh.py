"""What is a message of a network's own sender worth? Rules 3, 5 and 6 of decisions.md section 4.

In this order: a transaction ID that is known already makes it a twin or a conflict; `core.doubts` and `core.balance` say
what speaks against it; its entry in the line's chain is written, with what changes for earlier messages (a hold that
ends by itself lets its payment pay now); and only then is it believed, or put before a person.

Test messages touch none of this (decisions.md section 4).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from daemon.core.balance import BalanceCheck, Ruling, decide, is_plain, judge
from daemon.core.balance_line import Away, Entry, Gap, Standing, Why, effects_of, id_number, matters
from daemon.core.doubts import Doubt, Facts, counting, doubts_about, of_the_route, teaches_smsc
from daemon.core.limits import HISTORY_US, SECOND_US
from daemon.intake.desk import Desk
from daemon.intake.follow import believe, follow, tell_gap
from daemon.intake.outcome import Arrived, Outcome
from daemon.intake.parts import microseconds
from daemon.intake.pay import ask, request_for
from daemon.intake.twins import conflict, is_known, own_id
from daemon.store import balances, transactions
from daemon.wire import MessageState, Mode, ReviewReason
from parsers import reading as readings
from parsers.money import render
from parsers.read import PROVIDERS

UNVERIFIED: Final = "wording_unverified"
"""No genuine message has confirmed this wording yet, so it is shown and never pays by itself."""


def weigh(desk: Desk, arrived: Arrived, outcome: Outcome, reading: readings.Reading) -> None:
    """Judge a message whose sender is the network's own, and let follow what follows; fills in `outcome`."""
    if desk.mode is not Mode.LIVE or not matters(reading):
        _conclude(desk, arrived, outcome, reading, None, [])
        return
    if is_known(desk, arrived, outcome, reading):
        return
    ruling, doubts = _judge(desk, arrived, reading)
    if ruling.why is Why.ID_TAKEN:
        conflict(desk, arrived, outcome, _taken_by(desk, arrived, reading))
        return
    follow(desk, ruling)
    tell_gap(desk, ruling.entry, warning=ruling.warning)
    _conclude(desk, arrived, outcome, reading, ruling, doubts)


def _taken_by(desk: Desk, arrived: Arrived, reading: readings.Reading) -> dict[str, Any]:
    """Return which message has this ID already, written otherwise (leading zeros): the details of a conflict."""
    number = id_number(own_id(reading))
    entries = balances.around(desk.tx, arrived.chain, arrived.at)
    found = (entry.key for entry in entries if id_number(entry.telco_id) == number)
    return {"message_id": next(found)}


def take_word(desk: Desk, message_id: str, *, genuine: bool) -> None:
    """Take a person's word for a message that is held, and let follow what follows for those behind it."""
    known = balances.of_message(desk.tx, message_id)
    undecided = {Standing.HELD, Standing.UNPROVEN, Standing.FORGED} if genuine else {Standing.HELD}
    if known is None or known.entry.standing not in undecided:
        return
    entries = balances.around(desk.tx, known.chain, known.entry.at)
    others = [entry for entry in entries if entry.key != message_id]
    ruling = decide([*others, known.entry], message_id, genuine=genuine)
    balances.change(desk.tx, ruling.entry, why=Why.PERSON)
    tell_gap(desk, ruling.entry)
    follow(desk, ruling)


def _judge(
    desk: Desk, arrived: Arrived, reading: readings.Reading
) -> tuple[Ruling, Sequence[Doubt]]:
    """Judge a message among those of its line, and write its entry down."""
    facts = _facts(desk, arrived, reading)
    entries = balances.nearest(desk.tx, arrived.chain, arrived.at)
    ruling, doubts = _judge_among(desk, arrived, reading, facts, entries)
    if not is_plain(entries, ruling):
        entries = balances.around(desk.tx, arrived.chain, arrived.at)
        ruling, doubts = _judge_among(desk, arrived, reading, facts, entries)
    if ruling.why is Why.ID_TAKEN:
        return ruling, doubts
    balances.add(
        desk.tx,
        arrived.chain,
        ruling.entry,
        payment_method_id=arrived.payment_method_id,
        why=ruling.why,
        doubts=doubts,
    )
    new_smsc = arrived.smsc is not None and arrived.smsc not in facts.smscs_known
    if new_smsc and teaches_smsc(ruling, doubts):
        balances.learn_smsc(desk.tx, arrived.sim_key, arrived.smsc or "", arrived.id, desk.now)
    return ruling, doubts


def _judge_among(
    desk: Desk,
    arrived: Arrived,
    reading: readings.Reading,
    facts: Facts,
    entries: Sequence[Entry],
) -> tuple[Ruling, Sequence[Doubt]]:
    doubts = doubts_about(facts, entries)
    balance = None if isinstance(reading, readings.Unreadable) else reading.balance
    new = balances.new_entry(
        arrived.id,
        at=arrived.at,
        stored_at=arrived.stored_at,
        telco_id=facts.telco_id,
        pays=isinstance(reading, readings.Payment),
        effects=effects_of(reading),
        after=None if balance is None else balance.minor,
        doubted=of_the_route(doubts),
    )
    check = BalanceCheck(desk.env.config.trust.balance_check)
    return judge(entries, new, away=_away(desk, entries), check=check), doubts


def _conclude(
    desk: Desk,
    arrived: Arrived,
    outcome: Outcome,
    reading: readings.Reading,
    ruling: Ruling | None,
    doubts: Iterable[Doubt],
) -> None:
    """Believe a message, or put it before a person; of those that are no money there is nothing to ask."""
    if not isinstance(reading, readings.Payment | readings.Reversal):
        return
    against: list[str] = [*counting(doubts, ruling)]
    if reading.unverified and isinstance(reading, readings.Payment):
        # A reversal in such a wording is believed: to doubt the money it names is the safe side.
        against.append(UNVERIFIED)
    if ruling is not None and _is_held(ruling):
        _hold(desk, arrived, outcome, reading, ruling, against)
    elif against:
        outcome.state = MessageState.HELD
        outcome.trusted = False
        outcome.reasons = against
        ask(desk, arrived.id, ReviewReason.UNTRUSTED_SENDER, {"doubts": against})
    else:
        believe(desk, arrived, outcome, reading)


def _is_held(ruling: Ruling) -> bool:
    """Say whether a receipt is held, or a reversal whose balance joins nothing: it passes the same rules."""
    return ruling.holds or (not ruling.entry.pays and ruling.entry.standing is Standing.UNPROVEN)


def _hold(
    desk: Desk,
    arrived: Arrived,
    outcome: Outcome,
    reading: readings.Payment | readings.Reversal,
    ruling: Ruling,
    against: list[str],
) -> None:
    """Put a message whose balance does not fit before a person; the order that it names waits meanwhile."""
    outcome.state = MessageState.HELD
    outcome.trusted = False
    outcome.reasons = [ReviewReason.BALANCE_BREAK, *against]
    request, waits = None, False
    if isinstance(reading, readings.Payment):
        request, waits = request_for(desk, arrived, reading)
    if request is not None and waits and not against:
        # Nothing untrusted moves a request: only a receipt that its balance alone speaks against.
        transactions.hold(desk.tx, request.id, None)
    currency = PROVIDERS[arrived.chain.provider].currency
    details: dict[str, Any] = {
        "why": ruling.why,
        "gaps": [_gap(gap, currency) for gap in ruling.gaps],
    }
    if against:
        details["doubts"] = against
    request_id = None if request is None else request.id
    ask(desk, arrived.id, ReviewReason.BALANCE_BREAK, details, request_id)


def _gap(gap: Gap, currency: str) -> dict[str, Any]:
    """Return an amount that no message accounts for, as a review's details show it."""
    return {
        "amount": render(gap.minor, currency),
        "currency": currency,
        "since_message_id": gap.since,
    }


def _facts(desk: Desk, arrived: Arrived, reading: readings.Reading) -> Facts:
    """Return what the doubts are about; a message that cannot be read says nothing but where it came from."""
    said = None if isinstance(reading, readings.Unreadable) else reading
    assert arrived.provider is not None, "a trusted message is of a network that we know"
    return Facts(
        provider=arrived.provider,
        telco_id=own_id(reading),
        sent_at=arrived.sent_at,
        printed_at=None if said is None else microseconds(said.printed_at),
        reference=None if said is None else said.reference,
        payer_name=None if said is None else said.payer_name,
        smsc=arrived.smsc,
        smscs_known=balances.smscs(desk.tx, arrived.sim_key),
    )


def _away(desk: Desk, entries: Sequence[Entry]) -> list[Away]:
    """Return when no modem was there to receive: in the SIM's history, and while it was away since.

    SMSC times are whole seconds, so the second in which a modem comes back is not counted as one without it.
    """
    since = min((entry.at for entry in entries), default=desk.now)
    history = Away(0, desk.sim.first_seen_at - HISTORY_US)
    absences = balances.absences(desk.tx, desk.sim.sim_key, since)
    return [
        history,
        *(
            replace(away, until=None if away.until is None else away.until - SECOND_US)
            for away in absences
        ),
    ]
