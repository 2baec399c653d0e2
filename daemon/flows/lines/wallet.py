"""The owner says what the wallet of a line shows: a proof that settles it at once."""

from daemon.core.access.callers import Caller, CallerKind, Operation, require
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.limits import MINUTE_US
from daemon.core.messages.line_trust import PROOF_MINUTES_US
from daemon.core.text import Text
from daemon.env import Env
from daemon.steps.context import Context
from daemon.steps.prove import Proof, Question, Seen, prove
from daemon.store.engine import Tx
from daemon.store.lines import devices, payment_methods
from daemon.store.messages.balances import Chain
from daemon.wire import ErrorCode, Mode
from parsers.money import read_money
from parsers.providers import PROVIDERS


async def say_balance(
    env: Env, caller: Caller, method_id: str, balance: str, *, seen: Seen | None = None, answer: Question | None = None
) -> tuple[Proof, str]:
    """Let the balance that the wallet shows settle what its messages leave open; the currency is returned too.

    The caller's password was checked. `seen` is when the wallet showed `balance` (as typed), now by default; `answer`
    is the question of an earlier call that was answered with yes.

    Raises:
        Refusal: SESSION_REQUIRED, PAYMENT_METHOD_NOT_FOUND, METHOD_HAS_NO_SIM; VALIDATION_ERROR for what is no
            amount, or a time that is not of the last minutes.
    """
    if caller.kind is CallerKind.KEY:
        raise Refusal(ErrorCode.SESSION_REQUIRED)
    require(caller, Operation.DECIDE_FORGERY)
    times = env.times()
    now = times.wall_us
    seen = Seen(now) if seen is None else seen
    oldest = now - PROOF_MINUTES_US if seen.statement_from is None else seen.statement_from
    if not oldest <= seen.at <= now + MINUTE_US:
        raise invalid([FieldError("at", "out_of_range", Text("proof.said.too_old"))])

    def job(tx: Tx) -> tuple[Proof, str]:
        env.refuse_if_damaged()
        method = needed(payment_methods.get(tx, method_id, Mode.LIVE), ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        sim = needed(
            None if method.sim_seq is None else devices.sim_by_seq(tx, method.sim_seq), ErrorCode.METHOD_HAS_NO_SIM
        )
        currency = PROVIDERS[method.provider].currency
        shown = read_money(balance, currency=currency)
        if shown is None:
            raise invalid([FieldError("balance", "invalid", Text("proof.said.no_amount"))])
        chain = Chain(sim.sim_key, method.provider)
        context = Context.of_line(env, tx, sim.sim_key, times)
        proof = prove(context, chain, shown.minor, seen=seen, answer=answer, actor=caller.name)
        return proof, currency

    return await env.store.write(job)
