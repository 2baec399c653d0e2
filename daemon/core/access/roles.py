"""Which role may do which operation. Pure.

Only users of the dashboard have a role. API keys have scopes, and the session token of the API and the Unix socket are
the owner's, so they are not asked here.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from daemon.core.access.callers import Caller
from daemon.core.errors import Refusal
from daemon.wire import ErrorCode, Role

EVERYBODY: Final = frozenset(Role)
READERS: Final = frozenset({Role.OWNER, Role.MANAGER, Role.VIEWER})
"""Roles that see whole phone numbers and may export."""
COUNTER: Final = frozenset({Role.OWNER, Role.MANAGER, Role.CASHIER})
"""Roles that serve customers."""
MANAGERS: Final = frozenset({Role.OWNER, Role.MANAGER})
OWNER: Final = frozenset({Role.OWNER})


class Operation(StrEnum):
    """Everything that a user can do and that is more than reading a page."""

    OWN_ACCOUNT = "own_account"
    """Change the own password, second factor, sessions and language."""
    CREATE_TRANSACTION = "create_transaction"
    CANCEL_TRANSACTION = "cancel_transaction"
    SEND_CODE = "send_code"
    """Send a customer the SMS with the code once more."""
    RECONCILE = "reconcile"
    DECIDE_REVIEW = "decide_review"
    DECIDE_FORGERY = "decide_forgery"
    """Approve or reject a receipt that may be forged."""
    MANAGE_PAYERS = "manage_payers"
    MANAGE_MESSAGES = "manage_messages"
    """Read messages again, confirm a wording, import a backup of messages."""
    MANAGE_LINES = "manage_lines"
    """Numbers, SIMs, PINs, service centres and modems; claim unplaced payments."""
    MANAGE_WEBHOOKS = "manage_webhooks"
    """Endpoints and their rules: create, change, pause, test, delete."""
    RESEND = "resend"
    """Redeliver, replay, and replay dead letters."""
    MANAGE_NOTICES = "manage_notices"
    EXPORT = "export"
    COMPARE_STATEMENT = "compare_statement"
    MAIL_REPORT = "mail_report"
    BACK_UP = "back_up"
    ERASE = "erase"
    CHANGE_SETTINGS = "change_settings"
    """Change the settings that are a manager's."""
    CHANGE_OWNERS_SETTINGS = "change_owners_settings"
    """Change all other settings."""
    MANAGE_KEYS = "manage_keys"
    MANAGE_SECRETS = "manage_secrets"
    """Reveal and rotate webhook secrets; store passwords of other services."""
    MANAGE_USERS = "manage_users"


ALLOWED: Final[Mapping[Operation, frozenset[Role]]] = {
    Operation.OWN_ACCOUNT: EVERYBODY,
    Operation.CREATE_TRANSACTION: COUNTER,
    Operation.CANCEL_TRANSACTION: COUNTER,
    Operation.SEND_CODE: COUNTER,
    Operation.RECONCILE: COUNTER,
    Operation.DECIDE_REVIEW: COUNTER,
    Operation.DECIDE_FORGERY: MANAGERS,
    Operation.MANAGE_PAYERS: MANAGERS,
    Operation.MANAGE_MESSAGES: MANAGERS,
    Operation.MANAGE_LINES: MANAGERS,
    Operation.MANAGE_WEBHOOKS: MANAGERS,
    Operation.RESEND: MANAGERS,
    Operation.MANAGE_NOTICES: MANAGERS,
    Operation.EXPORT: READERS,
    Operation.COMPARE_STATEMENT: MANAGERS,
    Operation.MAIL_REPORT: MANAGERS,
    Operation.BACK_UP: MANAGERS,
    Operation.ERASE: MANAGERS,
    Operation.CHANGE_SETTINGS: MANAGERS,
    Operation.CHANGE_OWNERS_SETTINGS: OWNER,
    Operation.MANAGE_KEYS: OWNER,
    Operation.MANAGE_SECRETS: OWNER,
    Operation.MANAGE_USERS: OWNER,
}


def allows(role: Role | None, operation: Operation) -> bool:
    """Return whether a role may do an operation; no role is a caller that is not a user, and may."""
    return role is None or role in ALLOWED[operation]


def require(caller: Caller, operation: Operation) -> None:
    """Reject an operation that the user's role does not allow.

    Raises:
        Refusal: ROLE_REQUIRED.
    """
    if not allows(caller.role, operation):
        allowed = [role for role in Role if role in ALLOWED[operation]]
        raise Refusal(ErrorCode.ROLE_REQUIRED, role=caller.role, allowed_roles=allowed)
