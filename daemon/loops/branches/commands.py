"""Carry out the commands of the hub at a branch, by kind."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from daemon import wire
from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.errors import MomoError, Refusal, Unavailable
from daemon.core.inputs import HttpAnswer, Idempotency, Keep, Repeated
from daemon.env import Env
from daemon.flows.branches import commands
from daemon.flows.payments import review
from daemon.flows.upkeep import erasure, settings
from daemon.loops.keep_running import set_aside
from daemon.runtime.config_file import find_row
from daemon.runtime.log import Log
from parsers.masking import describe_error
from parsers.phone import read_phone

Command = Mapping[str, Any]
Outcome = dict[str, Any]


class HubCommands:
    """Carries out commands; each has an outcome, which is kept and given again."""

    def __init__(self, env: Env, places: wire.Places, log: Log) -> None:
        self._env = env
        self._places = places
        self._log = log
        self._by_kind: Final[Mapping[str, Callable[[Env, Command], Awaitable[Outcome]]]] = {
            "claim": commands.claim,
            "release": commands.release,
            "decided": commands.hear,
            "paid_twice": commands.hear,
            "send_sms": commands.send_sms,
        }

    async def carry_out(self, command: Command) -> Outcome:
        """Return the outcome of a command; one that trips a fault of ours has failed, and the feed goes on.

        Raises:
            Unavailable: It cannot be carried out now; the hub sends it again.
        """
        try:
            return await self._carry_out(command)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 -- else the hub would send the same command for ever
            why = describe_error(error)
            await set_aside(self._env, self._log, "hub", f"a command {command['kind']}", error)
            return {"done": False, "why": why}

    async def _carry_out(self, command: Command) -> Outcome:
        env, kind = self._env, command["kind"]
        # These look for an earlier outcome themselves, in the commit of their effect.
        own = self._by_kind.get(kind)
        known = None if own else await commands.known_outcome(env, command["id"])
        if known is not None:
            return known
        try:
            if own:
                return await own(env, command)
            outcome = await self._other(command)
        except Unavailable:
            raise
        except Repeated:  # carried out before, in a commit whose outcome was not kept
            outcome = {"done": True}
        except Refusal as refusal:
            outcome = {"done": False, "why": refusal.code, "message": str(refusal.message)}
        except (MomoError, OSError, ValueError, LookupError) as error:
            outcome = {"done": False, "why": str(error)}
        if not outcome["done"]:
            why = outcome["why"]
            self._log.warning("hub.command_refused", command=command["id"], kind=kind, why=why)
        return await commands.keep_outcome(env, command, outcome)

    async def _other(self, command: Command) -> Outcome:
        kind, body, caller = command["kind"], command["body"], _caller(command)
        if kind == "decide_review":
            claim = Idempotency("hub", command["id"], kind)
            keep = Keep[review.Decided](claim, lambda _: HttpAnswer(200, b""))
            if body["action"] == "approve":
                approval = review.Approval(body.get("reference"), body.get("notes"), confirmed=True)
                await review.approve(self._env, caller, command["subject"], approval, keep=keep)
            else:
                notes = str(body.get("notes") or "rejected at head office")
                await review.reject(self._env, caller, command["subject"], notes, keep=keep)
            return {"done": True}
        if kind == "forget_payer":
            number = read_phone(str(body["number"]))
            if number is None:
                return {"done": False, "why": "not a phone number"}
            done = await erasure.forget(self._env, caller, number)
            return {"done": True, "counts": done.counts}
        if kind == "settings":
            key = str(body["key"])
            if not find_row(key).setting.hub:
                return {"done": False, "why": f"{key} is only changed at the branch"}
            changed = await settings.change(self._env, caller, self._places, key, body.get("value"))
            return {"done": True, "restart": changed["changed"] and not changed["live"]}
        return {"done": False, "why": f"this version does not know the command {kind}"}


def _caller(command: Command) -> Caller:
    name = commands.actor_of(command)
    return Caller(
        CallerKind.SOCKET, None, ALL_SCOPES, None, publishable=False, name=name, owner=True
    )
