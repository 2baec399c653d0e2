"""Settle a line by what its wallet shows: a proof that did not come by SMS.

Everything happens in one transaction, and each message is told in one sentence. A number that needs an answer first changes
nothing: the caller asks the owner and calls again with the answer.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.limits import DAY_US
from daemon.core.messages import line_trust
from daemon.core.messages.balance_chain import ChainEntry, Standing, Why
from daemon.core.messages.line_history import USUAL_DAYS
from daemon.core.messages.line_trust import PROOF_MINUTES_US, SWEPT_MINOR, Provisional, Row
from daemon.core.messages.trust import PROVED_DAYS, PROVED_MESSAGES, PROVED_PART, SmscSource
from daemon.core.text import Text
from daemon.steps.context import Context
from daemon.steps.judge import Line, judge_again_through, learn_smsc
from daemon.store import journal
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import Chain
from parsers.money import render
from parsers.providers import PROVIDERS

NEAR: Final = 200
"""So many messages on each side of a statement's last row are looked at."""
PROVED: Final = "wallet.proved"
"""The kind of the journal entry of a proof."""


class Question(StrEnum):
    """What the owner is asked before a number counts."""

    UNTOLD = "untold"
    """Nothing that came by SMS leads to it: is it so?"""
    LEFT = "left"
    """Did this money leave the wallet?"""
    FOUND = "found"
    """Doubtful messages fit exactly: are they genuine?"""


class Told(Struct, frozen=True):
    """What a proof means for one message: `paid`, `confirmed`, `contradicted` or `waits`."""

    message_id: str
    outcome: str
    sentence: Text


class Proof(Struct, frozen=True):
    """The result of a number.

    Attributes:
        settled: It counts now. False: the question must be answered first, and nothing was changed.
        question: What to ask; with `settled`, a further yes lets doubtful messages pay.
        sentence: The result, or the question, in one sentence.
        told: What it means for each message.
        about: The messages that the question is about.
        shown_minor: The number, in minor units.
        untold_minor: What no message accounts for, signed; 0 if every message leads to it.
    """

    settled: bool
    question: Question | None
    sentence: Text
    shown_minor: int
    untold_minor: int = 0
    told: tuple[Told, ...] = ()
    about: tuple[str, ...] = ()


class Seen(Struct, frozen=True):
    """When the wallet showed a number.

    With `statement_from`, the time of its first row, a statement of the network has the number after its last row. It may be
    older than the last minutes: it refutes nothing that came after it or before its first row, and never becomes the balance.
    """

    at: int
    statement_from: int | None = None


def prove(context: Context, chain: Chain, shown: int, *, seen: Seen, answer: Question | None, actor: str) -> Proof:
    """Let the number that the wallet showed settle the line, or return what to ask first."""
    return _Prover(context, chain, shown, seen, answer, actor).prove()


class _Prover:
    def __init__(
        self, context: Context, chain: Chain, shown: int, seen: Seen, answer: Question | None, actor: str
    ) -> None:
        self.context, self.chain, self.shown, self.at = context, chain, shown, seen.at
        self.statement_from = seen.statement_from
        self.proved_at = context.now if seen.statement_from is None else seen.at
        self.answer, self.actor = answer, actor
        self.line = Line(context, chain, actor=actor)
        self.told: dict[str, Told] = {}
        self.pieces: list[ChainEntry] = []

    def prove(self) -> Proof:
        line, shown = self.line, self.shown
        # What the chain did after a statement, the statement does not know.
        went_on = self.statement_from is not None and line.state.sent_at > self.at + line_trust.REORDERED_US
        before = None if went_on else line.state.balance
        place, since = self._place_in_chain()
        if place is not None:
            self._believe_chain(place, since)
            self._find_pieces(accept=self.answer is Question.FOUND)
            return self._done(Text("proof.said.agrees", shown=self._money(shown)))
        row = None if shown <= SWEPT_MINOR else self._row()
        if row is not None:
            return self._pay_row_aside(row) if went_on else self._prove_row(row)
        way = []
        if before is not None and shown > SWEPT_MINOR:
            loose = balances.loose(self.context.tx, self.chain, self.at - USUAL_DAYS * DAY_US)
            if self.statement_from is not None:
                loose = [one for one in loose if one.time <= self.at + PROOF_MINUTES_US]
            way = line_trust.path(before, shown, loose)
        if way:
            if self.answer is not Question.FOUND:
                return self._ask(Question.FOUND, self._found(way), way)
            self._accept_way(way)
            return self._done(Text("proof.said.found", shown=self._money(shown)))
        if before is not None and self.statement_from is None and self.answer is not Question.UNTOLD:
            return self._ask(Question.UNTOLD, Text("proof.said.untold", shown=self._money(shown), believed=self._money(before)))  # fmt: skip
        return self._begin_again(before)

    # --- the three ways to agree -------------------------------------------------------------------

    def _place_in_chain(self) -> tuple[int | None, int]:
        """Return the place of the chain where the wallet showed the number in the last minutes, and the time of that place."""
        state = self.line.state
        if self.statement_from is not None:
            found = [one for one in self._around() if one.standing is Standing.ACCEPTED and one.position is not None]
            at = max(found, key=lambda one: one.position or 0, default=None)
            return (None, 0) if at is None else (at.position, min(self.at, at.time))
        if state.balance == self.shown:
            return state.position, self.at
        for entry in balances.of_chain(self.context.tx, self.chain, 2 * NEAR):
            if state.gap_left is not None:
                break  # the owner named another balance since then
            if entry.position != state.position and entry.stored_at < self.at - PROOF_MINUTES_US:
                continue
            if entry.after == self.shown:
                return entry.position, entry.time
            if entry.before == self.shown and entry.position is not None and not entry.has_gap:
                return entry.position - 1, entry.time - 1
        return None, 0

    def _believe_chain(self, place: int, since: int) -> None:
        """Confirm the chain up to a place: what waits there pays, and rows that it contradicts are refuted."""
        line, tx = self.line, self.context.tx
        if self.shown <= SWEPT_MINOR:
            # Everybody knows what an emptied wallet holds: the number proves no receipt.
            return
        for entry in balances.counting(tx, self.chain):
            if entry.standing is Standing.ACCEPTED and line.state.base <= (entry.position or 0) <= place:
                self._tell(entry, "confirmed")
        line.confirm(place)
        for entry in balances.unpaid_of_chain(tx, self.chain, line.state.base):
            if entry.position is not None and entry.position <= place:
                line.accept(entry, Why.PROVED)
                self._tell(entry, "paid")
        self._set_aside(since, None)
        self._firm()

    def _around(self) -> list[ChainEntry]:
        """Return the messages within some minutes of the statement's last row that have its balance as theirs."""
        near = balances.nearest(self.context.tx, self.chain, self.at, NEAR)
        return [one for one in near if one.after == self.shown and abs(one.time - self.at) <= PROOF_MINUTES_US]

    def _row(self) -> Row | None:
        """Return the row whose last balance is the number, or one of the last minutes; a rival first."""
        if self.statement_from is not None:
            found = [balances.row_of(self.context.tx, one.row) for one in self._around() if one.row]
            return min((one for one in found if one), key=lambda one: one.lapsed, default=None)
        rows = balances.all_rows(self.context.tx, self.chain)
        for row in rows:
            if row.after == self.shown:
                return row
        since = self.at - PROOF_MINUTES_US
        for row in rows:
            if not row.lapsed and row.grew_at >= since:
                entries = balances.of_row(self.context.tx, row)
                if any(one.after == self.shown and one.stored_at >= since for one in entries):
                    return row
        return None

    def _last_shown(self, entries: list[ChainEntry]) -> ChainEntry:
        """Return the last message of a row that the number proves: what came after a statement's last balance, it does not."""
        near = (one for one in entries if one.after == self.shown and abs(one.time - self.at) <= PROOF_MINUTES_US)
        return entries[-1] if self.statement_from is None else list(near)[-1]

    def _prove_row(self, row: Row) -> Proof:
        """Make a row the chain. What it says left the wallet, only the owner can confirm."""
        line, tx = self.line, self.context.tx
        entries = balances.of_row(tx, row)
        last = self._last_shown(entries)
        entries = entries[: entries.index(last) + 1]
        if (asked := self._ask_what_left(entries)) is not None:
            return asked
        row, later = line.cut(row, last)
        for entry in entries:
            self._tell_proved(entry)
        parallel = [
            one
            for one in balances.counting(tx, self.chain)
            if one.standing is Standing.ACCEPTED and one.time > row.began_at
        ]
        untold = row.before - (line.state.balance or row.before)
        if row.lapsed:
            line.revive(row)
            row = replace(row, lapsed=False)
        self._set_aside(row.began_at, row)
        proved_at = line.state.proved_at
        line.win(row, Why.PROVED)
        line.state = replace(line.state, proved_at=proved_at)
        for entry in parallel:
            self._tell(entry, "contradicted")
        line.strike(parallel)
        self._firm()
        for entry in later:
            line.take(entry)
        return self._done(Text("proof.said.row", shown=self._money(self.shown)), untold)

    def _pay_row_aside(self, row: Row) -> Proof:
        """Let what leads in a row to the statement's balance pay beside the chain, which went on since; the rest stays a row."""
        entries = balances.of_row(self.context.tx, row)
        last = self._last_shown(entries)
        proved = entries[: entries.index(last) + 1]
        if (asked := self._ask_what_left(proved)) is not None:
            return asked
        for entry in proved:
            self._tell_proved(entry)
        self.line.accept_aside_until(row, last, Why.PROVED)
        return self._done(Text("proof.said.row", shown=self._money(self.shown)))

    def _found(self, way: list[ChainEntry]) -> Text:
        total = sum(one.amount or 0 for one in way)
        return Text("proof.said.found_ask", count=len(way), total=self._money(total), shown=self._money(self.shown))

    def _accept_way(self, way: list[ChainEntry]) -> None:
        """Continue the chain with messages beside it that lead exactly to the number; learn their centres."""
        line = self.line
        self._drop_rows(way)
        for entry in way:
            self._tell_proved(entry)
            line.append(entry, Why.PROVED)
        line.absorb()
        self._set_aside(self.at, None)
        self._firm()
        self._learn_centres(way)

    def _drop_rows(self, way: list[ChainEntry]) -> None:
        """Remove the rows whose messages become part of the chain."""
        for number in {one.row for one in way if one.row is not None}:
            row = balances.row_of(self.context.tx, number)
            if row is not None:
                self.line.drop_row(row)

    def _learn_centres(self, way: list[ChainEntry]) -> None:
        """Let a centre be home whose messages proofs have confirmed often enough, and judge its other messages again."""
        line, tx = self.line, self.context.tx
        for smsc in {one.smsc for one in way if not one.home and one.smsc is not None}:
            count, days, total = balances.proved_through(tx, self.chain, smsc)
            if count >= PROVED_MESSAGES and days >= PROVED_DAYS and count * PROVED_PART >= total:
                one = next(entry for entry in way if entry.smsc == smsc)
                learn_smsc(self.context, self.chain, one, SmscSource.PROVED)
                judge_again_through(line, smsc)

    def _find_pieces(self, *, accept: bool) -> None:
        """Find doubtful messages that fill a gap of the chain exactly, from both sides; they pay after a yes."""
        line, tx = self.line, self.context.tx
        since = self.at - USUAL_DAYS * DAY_US
        gaps = [one for one in balances.gaps(tx, self.chain, since) if one.gap_left is not None]
        loose = balances.loose(tx, self.chain, since) if gaps else []
        for right in gaps:
            assert right.gap_left is not None, "it was looked at"
            assert right.before is not None, "it names a balance"
            inside = [one for one in loose if line_trust.is_in_gap(one.time, right)]
            way = line_trust.path(right.gap_left, right.before, inside)
            if not way:
                continue
            if not accept:
                self.pieces += way
            else:
                balances.change(tx, replace(right, gap_minor=0, gap_left=None, gap_left_at=None))
                self._drop_rows(way)
                for entry in way:
                    line.accept_aside(entry, Why.PROVED)
                    self._tell(entry, "paid")
                self._learn_centres(way)

    def _begin_again(self, before: int | None) -> Proof:
        """Believe the number, with a gap before it: the difference is booked as untold when the next message joins."""
        line, shown = self.line, self._money(self.shown)
        if self.statement_from is not None:
            return Proof(False, None, Text("proof.said.statement", shown=shown), self.shown)
        untold = 0 if before is None else self.shown - before
        balances.lapse_rows(self.context.tx, self.chain)
        line.state = replace(
            line.state,
            live_rows=0,
            balance=self.shown,
            gap_left=before if line.state.gap_left is None else line.state.gap_left,
            gap_left_at=line.state.sent_at if line.state.gap_left is None else line.state.gap_left_at,
            base=line.state.position + 1,
            moved_at=self.context.now,
            since=self.context.now,
            joined=0,
        )
        self._firm()
        if self.shown <= SWEPT_MINOR:
            line.state = replace(line.state, provisional=Provisional.SWEPT)
        key = "proof.said.first" if before is None else "proof.said.begun"
        return self._done(Text(key, shown=self._money(self.shown), missing=self._money(abs(untold))), untold)

    # --- what every proof does ---------------------------------------------------------------------

    def _set_aside(self, until: int, but: Row | None) -> None:
        """Let the rows that began before a time be no rivals any more; what the chain contradicts is refuted, the rest waits."""
        line, tx = self.line, self.context.tx
        gaps = balances.gaps(tx, self.chain, until - USUAL_DAYS * DAY_US)
        # With as many gaps as are looked at, there may be more before the oldest one.
        known_from = gaps[-1].time if len(gaps) == balances.GAPS_MAX else 0
        if self.statement_from is not None:
            known_from = max(known_from, self.statement_from)
        if but is not None and line.state.balance is not None and but.before != line.state.balance:
            # The row begins behind a gap that its first message will have.
            first = balances.of_row(tx, but)[0]
            gaps.append(replace(first, gap_left=line.state.balance, gap_left_at=line.state.sent_at))
        for row in balances.rivals(tx, self.chain, "before", until - line_trust.REORDERED_US):
            if but is not None and row.number == but.number:
                continue
            if self.statement_from is not None and row.began_at < self.statement_from:
                continue
            line.set_aside(row)
            entries = balances.of_row(tx, row)
            contradicted = row.began_at >= known_from and line_trust.is_contradicted(row.began_at, gaps)
            if contradicted:
                line.contradict(entries)
            for entry in entries:
                if entry.pays:
                    self._tell(entry, "contradicted" if contradicted else "waits")

    def _firm(self) -> None:
        """Make the balance firm; what nothing confirmed counts to the limit of its day only."""
        state = self.line.state
        if self.proved_at < max(state.proved_at, state.swept_at):
            return  # the wallet was proved or emptied since
        balances.spend(self.context.tx, self.chain, self.proved_at)
        if state.provisional is not Provisional.SILENCE or state.since <= self.proved_at:
            state = replace(state, provisional=None)
        self.line.state = replace(state, proved_at=self.proved_at, swept_at=0)
        self.line.pay_waiting()

    # --- answers -----------------------------------------------------------------------------------

    def _ask(self, question: Question, sentence: Text, about: Iterable[ChainEntry] = ()) -> Proof:
        asked = tuple(one.key for one in about)
        return Proof(False, question, sentence, self.shown, about=asked)

    def _done(self, sentence: Text, untold: int = 0) -> Proof:
        self.line.save()
        data = {
            "balance_minor": self.shown,
            **({} if self.statement_from is None else {"statement_at": self.at}),
            "untold_minor": untold,
            "currency": PROVIDERS[self.chain.provider].currency,
            "messages": len(self.told),
        }
        journal.add(self.context.tx, PROVED, self.context.now, actor=self.actor, data=data)
        told = tuple(self.told.values())
        if not self.pieces:
            return Proof(True, None, sentence, self.shown, untold, told)
        asked = tuple(one.key for one in self.pieces)
        total = self._money(sum(one.amount or 0 for one in self.pieces))
        found = Text("proof.said.pieces", said=sentence, count=len(asked), total=total)
        return Proof(True, Question.FOUND, found, self.shown, untold, told, asked)

    def _ask_what_left(self, entries: list[ChainEntry]) -> Proof | None:
        """Return the question about the money that messages say left the wallet; None without such money or after a yes."""
        left = [one for one in entries if not one.pays and (one.effect or 0) < 0]
        if not left or self.answer is Question.LEFT:
            return None
        amounts = ", ".join(self._moment(one) for one in left)
        return self._ask(Question.LEFT, Text("proof.said.left", amounts=amounts), left)

    def _tell_proved(self, entry: ChainEntry) -> None:
        """Tell that a receipt is confirmed, or paid now; before it is."""
        if entry.pays:
            paid = messages.payment_of(self.context.tx, entry.key) is not None
            self._tell(entry, "confirmed" if paid else "paid")

    def _tell(self, entry: ChainEntry, outcome: str) -> None:
        sentence = Text(f"proof.told.{outcome}", what=self._moment(entry))
        self.told[entry.key] = Told(entry.key, outcome, sentence)

    def _moment(self, entry: ChainEntry) -> str:
        amount = entry.amount if entry.pays else abs(entry.effect or 0)
        return f"{self._money(amount or 0)} ({entry.telco_id or '?'})"

    def _money(self, minor: int) -> str:
        currency = PROVIDERS[self.chain.provider].currency
        return f"{currency} {render(minor, currency)}"
