"""Ask for the user's own password before something dangerous.

A form shows `{{ ui.confirm(v) }}`, and its action begins with `await confirm(visit)`.
"""

from msgspec.structs import replace

from daemon.core.access.callers import Operation
from daemon.core.errors import Refusal
from daemon.core.inputs import ReconcileRequest
from daemon.core.model import Payment
from daemon.dash.web.visit import FormWrong, Visit
from daemon.flows.access import users
from daemon.flows.payments import reconcile
from daemon.flows.payments.reconcile import UnprovedSource
from daemon.wire import ErrorCode


async def confirm(visit: Visit) -> None:
    """Check the field `confirm_password` of a dangerous form.

    The password holds for 10 minutes in this browser, and the field is shown only when it is needed (`needs_password`).
    """
    try:
        await users.confirm(visit.env, visit.caller, visit.form.get("confirm_password"))
    except Refusal as refusal:
        if refusal.code is not ErrorCode.INVALID_PASSWORD:
            raise
        left = visit.words.number("login_left", int(refusal.extras["attempts_remaining"]))
        visit.errors["confirm_password"] = f"{visit.words('password_wrong')} {left}"
        raise FormWrong from refusal
    if visit.who is not None and visit.form.get("confirm_password"):
        # The form may be shown again, for another reason: it does not ask for the password again.
        session = replace(visit.who.session, confirmed_at=visit.now)
        visit.who = replace(visit.who, session=session)


def doubt_words(visit: Visit, doubt: UnprovedSource | None, payment: Payment) -> str:
    """Return the doubt about a payment in the user's language; "" for none, and for a user who may not decide about it."""
    if doubt is None or not visit.may(Operation.DECIDE_FORGERY):
        return ""
    return visit.words(f"{doubt}_why", money=visit.money(payment.amount_minor, payment.currency))


async def vouched(visit: Visit, reference: str, request: ReconcileRequest) -> ReconcileRequest:
    """Return what may be reconciled; for a doubtful payment only after `ui.vouch` was filled in.

    Else the doubt is among the errors, as `doubt`. A user who may not decide about the doubt is refused by the flow.
    """
    doubt = await reconcile.needs_password(visit.env, visit.caller, reference, request, visit.idempotency)
    if doubt is None or not visit.may(Operation.DECIDE_FORGERY):
        return request
    visit.errors["doubt"] = doubt_words(visit, *doubt)
    if visit.form.get("sure") != "yes":
        visit.wrong("sure", "sure_missing")
    await confirm(visit)
    return replace(request, confirmed=True)
