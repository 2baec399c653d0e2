"""The first run: from the owner's password to the first payment that is seen, step by step on one page.

Each step says whether it is done, read from the shop's data; nothing is kept about the steps themselves.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from daemon.core.errors import FieldError, Refusal
from daemon.core.names import SHOP_NAME_FOR_NOW, network_name, provider_name
from daemon.dash.pages.lines import sim_view
from daemon.dash.pages.lines.sim_view import SimView
from daemon.dash.parts.message_text import visible
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.lines import smscs
from daemon.flows.lines.smscs import TestPayment
from daemon.flows.upkeep import setup as flow
from daemon.store.engine import Reader
from daemon.store.payments import payment_list, reviews
from daemon.store.payments.payment_list import Listed, PaymentFilter
from daemon.store.webhooks import endpoints
from daemon.wire import ErrorCode, Mode
from parsers.providers import PROVIDERS

HERE: Final = "/dash/first"
STEPS: Final = ("shop", "modem", "number", "payment", "endpoint", "poster")


class FirstRunData(Struct, frozen=True):
    """The rows of the page, read in one snapshot."""

    rows: sim_view.Rows
    latest: Sequence[Listed]
    reviews_open: int
    endpoints: int
    tests: dict[str, TestPayment | None]


async def show(visit: Visit) -> Shown:
    """Show all steps."""
    return await _page(visit, 200)


async def begin(visit: Visit) -> Outcome:
    """Name the shop and set the first password."""
    password = visit.form.get("password", "")
    if password != visit.form.get("again", ""):
        visit.fail(FieldError("again", "invalid", visit.words("password_differs")))
        return await _page(visit, 422)
    try:
        begun = await flow.begin(visit.env, visit.caller, visit.form.get("shop", ""), password)
    except Refusal as refusal:
        if refusal.code is not ErrorCode.VALIDATION_ERROR:
            raise
        fields = {str(one["field"]) for one in refusal.extras.get("details") or ()}
        for name, word in (("shop", "first_name_wrong"), ("password", "password_hint")):
            if name in fields:
                visit.fail(FieldError(name, "invalid", visit.words(word)))
        return await _page(visit, 422)
    return Goto(HERE, "said_first_shop" if begun else "said_first_before")


async def _page(visit: Visit, status: int) -> Shown:
    def read(reader: Reader) -> FirstRunData:
        latest, _more = payment_list.listed(reader, PaymentFilter(), limit=1)
        rows = sim_view.read(reader, visit.now)
        _, waiting = reviews.page(reader, state=reviews.OPEN, mode=Mode.LIVE, limit=1, offset=0)
        return FirstRunData(
            rows,
            latest,
            waiting,
            len(endpoints.in_use(reader, Mode.LIVE)),
            {
                f"{sim.device_id}:{sim.slot_index}": smscs.expected(reader, sim, visit.now)
                for sim in rows.sims
            },
        )

    facts = await visit.env.store.read(read)
    sims = [view for view in sim_view.views(visit, facts.rows) if not view.ignored]
    strangers = sim_view.strangers(visit, facts.rows)
    done = _done(visit, facts, sims)
    return Shown(
        "upkeep/first.html",
        {
            "steps": STEPS,
            "done": done,
            "next_step": next((step for step in STEPS if not done[step]), ""),
            "name": ""
            if visit.shop is None or visit.shop.name == SHOP_NAME_FOR_NOW
            else visit.shop.name,
            "sims": sims,
            "strangers": strangers,
            "tests": facts.tests,
            "providers": {
                view.id: [
                    (one.name, provider_name(one.name))
                    for one in PROVIDERS.values()
                    if view.sim is not None and view.sim.network in (None, one.network)
                ]
                for view in sims
            },
            "network_of": network_name,
            "latest": facts.latest[0] if facts.latest else None,
            "reviews_open": facts.reviews_open,
            "text": visible,
        },
        status=status,
    )


def _done(visit: Visit, facts: FirstRunData, sims: Sequence[SimView]) -> dict[str, bool]:
    assert visit.who is not None
    return {
        "shop": visit.who.user.has_password,
        "modem": any(view.sim is not None and view.health is not None for view in sims),
        "number": any(view.method is not None for view in sims),
        "payment": bool(facts.latest),
        "endpoint": facts.endpoints > 0,
        # Nobody can tell whether it hangs on the wall: it is the last step, and never holds up another one.
        "poster": bool(facts.latest),
    }
