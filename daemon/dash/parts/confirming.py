"""Ask for the user's own password before something dangerous.

A form shows `{{ ui.confirm(v) }}`, and its action begins with `if not await confirmed(visit): return <the form again>`.
"""

from msgspec.structs import replace

from daemon.core.access.callers import Operation
from daemon.core.errors import FieldError, Refusal
from daemon.core.inputs import ReconcileRequest
from daemon.core.model import Payment
from daemon.dash.web.visit import Visit
from daemon.flows.access import password
from daemon.flows.payments import reconcile
from daemon.flows.payments.reconcile import UnprovedSource
from daemon.wire import ErrorCode


async def confirmed(visit: Visit) -> bool:
    """Check the field `confirm_password` of a dangerous form; on False its error is in `visit.errors`.

    The password holds for 10 minutes in this browser, and the field is shown only when it is needed (`needs_password`).
    """
    try:
        await password.confirm(visit.env, visit.caller, visit.form.get("confirm_password"))
    except Refusal as refusal:
        if refusal.code is not ErrorCode.INVALID_PASSWORD:
            raise
        left = visit.words.number("login_left", int(refusal.extras["attempts_remaining"]))
        text = f"{visit.words('password_wrong')} {left}"
        visit.fail(FieldError("confirm_password", "invalid", text))
        return False
    return True


def doubt_words(visit: Visit, doubt: UnprovedSource | None, payment: Payment) -> str:
    """Return the doubt about a payment in the user's language; "" for none, and for a user who may not decide about it."""
    if doubt is None or not visit.may(Operation.DECIDE_FORGERY):
        return ""
    return visit.words(f"{doubt}_why", money=visit.money(payment.amount_minor, payment.currency))


async def vouched(
    visit: Visit, reference: str, request: ReconcileRequest
) -> ReconcileRequest | None:
    """Return what may be reconciled; for a doubtful payment only after `ui.vouch` was filled in.

    On None its errors are in `visit.errors`, the doubt as `doubt`. A user who may not decide about it is refused by the flow.
    """
    doubt = await reconcile.needs_password(
        visit.env, visit.caller, reference, request, visit.idempotency
    )
    if doubt is None or not visit.may(Operation.DECIDE_FORGERY):
        return request
    visit.errors["doubt"] = doubt_words(visit, *doubt)
    if visit.form.get("sure") != "yes":
        visit.fail(FieldError("sure", "required", visit.words("sure_missing")))
        return None
    return replace(request, confirmed=True) if await confirmed(visit) else None
