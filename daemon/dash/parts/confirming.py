"""Ask for the user's own password before something dangerous.

A form shows `{{ ui.confirm(v) }}`, and its action begins with `if not await confirmed(visit): return <the form again>`.
"""

from daemon.core.errors import FieldError, Refusal
from daemon.dash.web.visit import Visit
from daemon.flows.access import password
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
