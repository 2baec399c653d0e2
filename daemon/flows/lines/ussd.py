"""A USSD session of the owner on a line: the network's menu is shown, and what is typed is handed to the phone and kept nowhere."""

import asyncio

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid
from daemon.core.lines.ussd import ANSWER_S, CODE, IDLE_S, REPLY, UssdEnd, UssdMenu, UssdSession
from daemon.core.text import Text
from daemon.env import Env
from daemon.store import journal
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods
from daemon.wire import ErrorCode
from parsers.money import Money, read_balance
from parsers.providers import PROVIDERS


class UssdScreen(Struct, frozen=True):
    """A menu of the network, with the balance of the wallet that it shows, if it shows one."""

    menu: UssdMenu
    balance: Money | None = None

    @property
    def sentence(self) -> Text | None:
        """Why the session is over, or why the reply was not sent; None if there is nothing to say."""
        if self.menu.end is not None:
            return Text(f"ussd.end.{self.menu.end}")
        return None if self.menu.sent else Text("ussd.unsent")


async def dial(env: Env, caller: Caller, method_id: str, session_id: str, code: str) -> UssdScreen:
    """Open a session with a code, such as `*170#`, and return what the network shows.

    `session_id` is a new id of the caller, for `reply` and `end`.

    Raises:
        Refusal: ROLE_REQUIRED, PAYMENT_METHOD_NOT_FOUND, METHOD_HAS_NO_SIM; USSD_IN_USE if a session is open on that line;
            VALIDATION_ERROR for what is no code.
    """
    device_id, currency, held = await _find(env, caller, method_id)
    if CODE.fullmatch(code) is None:
        raise invalid([FieldError("code", "invalid", Text("ussd.field.code"))])
    if held is not None:
        raise Refusal(ErrorCode.USSD_IN_USE, Text("ussd.in_use", who=held.who))
    port = env.ussd.port_of(device_id)
    if port is None:
        return UssdScreen(UssdMenu("", UssdEnd.LOST))
    held = env.ussd.open[device_id] = UssdSession(session_id, caller.name, port, env.clock.monotonic())
    mode, at, data = caller.lines_mode, env.clock.now_us(), {"payment_method_id": method_id}
    try:
        await env.store.write(lambda tx: journal.add(tx, "ussd.opened", at, actor=caller.name, mode=mode, data=data))
    except Unavailable:
        del env.ussd.open[device_id]
        raise
    return await _send(env, device_id, held, code, currency, opens=True)


async def reply(env: Env, caller: Caller, method_id: str, session_id: str, typed: str) -> UssdScreen:
    """Answer the menu with what the person typed, and return what the network shows then.

    Raises:
        Refusal: As `dial`; USSD_IN_USE if the last reply has no answer yet.
    """
    device_id, currency, held = await _find(env, caller, method_id)
    if REPLY.fullmatch(typed) is None:
        raise invalid([FieldError("reply", "invalid", Text("ussd.field.reply"))])
    if held is None or held.id != session_id:
        return UssdScreen(UssdMenu("", UssdEnd.IDLE, sent=False))
    if held.stop is not None:
        raise Refusal(ErrorCode.USSD_IN_USE, Text("ussd.waits"))
    return await _send(env, device_id, held, typed, currency, opens=False)


async def end(env: Env, caller: Caller, method_id: str, session_id: str) -> UssdScreen:
    """End the session at the network, also while its answer is awaited; one that is over changes nothing."""
    device_id, _currency, held = await _find(env, caller, method_id)
    if held is not None and held.id == session_id:
        del env.ussd.open[device_id]
        if held.stop is not None:
            held.stop()
        await held.port.cancel()
    return UssdScreen(UssdMenu("", UssdEnd.CANCELLED))


async def _find(env: Env, caller: Caller, method_id: str) -> tuple[str, str, UssdSession | None]:
    """Return the phone of a number, its currency, and its session; one to which nobody replied is ended."""
    require(caller, Operation.USE_USSD)

    def read(reader: Reader) -> tuple[str, str]:
        method = payment_methods.get(reader, method_id, caller.lines_mode)
        if method is None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        sim = None if method.sim_seq is None else devices.sim_by_seq(reader, method.sim_seq)
        if sim is None:
            raise Refusal(ErrorCode.METHOD_HAS_NO_SIM)
        return sim.device_id, PROVIDERS[method.provider].currency

    device_id, currency = await env.store.read(read)
    held = env.ussd.open.get(device_id)
    if held is not None and held.stop is None and env.clock.monotonic() - held.at_s > IDLE_S:
        del env.ussd.open[device_id]
        await held.port.cancel()
    return device_id, currency, env.ussd.open.get(device_id)


async def _send(env: Env, device_id: str, held: UssdSession, text: str, currency: str, *, opens: bool) -> UssdScreen:
    sending = asyncio.ensure_future(held.port.send(text, opens=opens))
    held.stop, menu = sending.cancel, UssdMenu("", UssdEnd.SILENT)
    try:
        await asyncio.wait({sending}, timeout=ANSWER_S)
        if sending.done():
            menu = UssdMenu("", UssdEnd.CANCELLED) if sending.cancelled() else sending.result()
    finally:
        sending.cancel()
        held.stop, held.at_s = None, env.clock.monotonic()
        if menu.end is not None and env.ussd.open.get(device_id) is held:
            del env.ussd.open[device_id]
    if menu.end in {UssdEnd.SILENT, UssdEnd.REFUSED}:
        await held.port.cancel()
    return UssdScreen(menu, read_balance(menu.text, currency))
