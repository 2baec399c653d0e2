"""The first run: from the owner's password to the first payment that is seen, step by step on one page.

Each step says whether it is done, read from the shop's data; nothing is kept about the steps themselves.
"""

from typing import Any, Final

from daemon.core.errors import Refusal
from daemon.core.names import SHOP_NAME_FOR_NOW
from daemon.dash.pages.lines.lines import networks_of, sim_views
from daemon.dash.web.visit import FormWrong, Goto, Outcome, Shown, Visit
from daemon.flows.lines import smscs
from daemon.flows.upkeep import setup as flow
from daemon.store.engine import Reader
from daemon.store.payments import payment_list, reviews
from daemon.store.payments.payment_list import PaymentFilter
from daemon.store.webhooks import endpoints
from daemon.wire import ErrorCode

HERE: Final = "/dash/first"
STEPS: Final = ("shop", "modem", "number", "payment", "endpoint", "poster")


async def show(visit: Visit) -> Shown:
    """Show all steps."""
    assert visit.who is not None
    has_password = visit.who.user.has_password

    def read(reader: Reader) -> dict[str, Any]:
        latest, _more = payment_list.listed(reader, PaymentFilter(mode=visit.mode), limit=1)
        views, strangers = sim_views(visit, reader)
        sims = [view for view in views if not view.ignored]
        _, waiting = reviews.page(reader, state=reviews.OPEN, mode=visit.mode, limit=1, offset=0)
        done = {
            "shop": has_password,
            "modem": any(view.sim is not None and view.health is not None for view in sims),
            "number": any(view.method is not None for view in sims),
            "payment": bool(latest),
            "endpoint": bool(endpoints.in_use(reader, visit.mode)),
            # Nobody can tell whether it hangs on the wall: it is the last step, and never holds up another one.
            "poster": bool(latest),
        }
        return {
            "done": done,
            "next_step": next((step for step in STEPS if not done[step]), ""),
            "sims": sims,
            "strangers": strangers,
            "tests": {
                view.id: None if view.sim is None else smscs.expected(reader, view.sim, visit.now) for view in sims
            },
            "providers": {view.id: [] if view.sim is None else networks_of(view) for view in sims},
            "latest": latest[0] if latest else None,
            "reviews_open": waiting,
        }

    found = await visit.env.store.read(read)
    name = "" if visit.shop is None or visit.shop.name == SHOP_NAME_FOR_NOW else visit.shop.name
    shared = {"steps": STEPS, "name": name}
    return Shown("upkeep/first.html", {**found, **shared})


async def begin(visit: Visit) -> Outcome:
    """Name the shop and set the first password."""
    password = visit.form.get("password", "")
    if password != visit.form.get("again", ""):
        visit.wrong("again", "password_differs")
    try:
        begun = await flow.begin(visit.env, visit.caller, visit.form.get("shop", ""), password)
    except Refusal as refusal:
        if refusal.code is not ErrorCode.VALIDATION_ERROR:
            raise
        fields = {str(one["field"]) for one in refusal.extras.get("details") or ()}
        for name, word in (("shop", "first_name_wrong"), ("password", "password_hint")):
            if name in fields:
                visit.fail(name, word)
        raise FormWrong from refusal
    return Goto(HERE, "said_first_shop" if begun else "said_first_before")
