"""The table of errors: code -> HTTP status, message and hint.

The API answers with it, `docs/developers/errors.md` lists it, the OpenAPI document shows it and `momo help errors` reads it, so a
change is made in one place. It imports only the codes, because the command line may see it too.
"""

from typing import Final, NamedTuple

from daemon.wire import ErrorCode


class Spec(NamedTuple):
    """A code's form on the wire."""

    http_status: int
    message: str
    """What happened."""
    hint: str
    """The next step, in one sentence."""


_E = ErrorCode
ERRORS: Final[dict[ErrorCode, Spec]] = {
    _E.MALFORMED_REQUEST: Spec(
        400,
        "The request is not valid HTTP/1.1.",
        "Use an HTTP library; if TLS is on, the address begins with https.",
    ),
    _E.INVALID_JSON: Spec(
        400, "The request body is not valid JSON.", "Send one JSON object in UTF-8."
    ),
    _E.UNAUTHORIZED: Spec(
        401,
        "A valid API key is needed.",
        "Send `Authorization: Bearer <API key>`; `momo setup` and `momo keys create` make keys.",
    ),
    _E.INSUFFICIENT_SCOPE: Spec(
        403,
        "This API key does not have the scope for that.",
        "Use a key that has the scope named in `required_scopes`.",
    ),
    _E.SESSION_REQUIRED: Spec(
        403,
        "An API key may not do that; a dashboard session or the local socket is needed.",
        "Log in, or use the `momo` command on the shop's machine.",
    ),
    _E.SECRET_KEY_REQUIRED: Spec(
        403,
        "A publishable key may not do that; a secret key is needed.",
        "Call from your server with the secret key.",
    ),
    _E.LIVE_KEY_REQUIRED: Spec(
        403, "A test key may not read or change live data.", "Use a live key."
    ),
    _E.INVALID_PASSWORD: Spec(
        403, "The password is wrong.", "Try again; attempts are limited to 5 in 15 minutes."
    ),
    _E.SECOND_FACTOR_REQUIRED: Spec(
        403,
        "The code of the second factor is missing or wrong.",
        "Send the six digits that the app shows now, or a recovery code, as `totp`.",
    ),
    _E.ROLE_REQUIRED: Spec(
        403,
        "Your role does not allow this.",
        "Ask the owner; `momo users role NAME ROLE` changes a role.",
    ),
    _E.FORM_REFUSED: Spec(
        403,
        "The form was not sent from a page of this dashboard, or it was open for too long.",
        "Open the page again and send the form once more.",
    ),
    _E.OPEN_COLLECTIONS_DISABLED: Spec(
        403,
        "Open collections (webhooks for every payment) are switched off for this shop.",
        "Set `enabled = true` under `[open_collections]` in config.toml.",
    ),
    _E.TRANSACTION_NOT_FOUND: Spec(
        404,
        "There is no transaction with that reference or code.",
        "List the transactions to find it.",
    ),
    _E.NO_MATCHING_TRANSACTION: Spec(
        404,
        "No payment with that transaction ID has arrived yet.",
        "Compare the ID with the customer's message, or wait until the payment's message arrives.",
    ),
    _E.ENDPOINT_NOT_FOUND: Spec(
        404, "There is no such endpoint.", "List the endpoints to see their ids."
    ),
    _E.DELIVERY_NOT_FOUND: Spec(
        404, "There is no such delivery.", "List the deliveries to see their ids."
    ),
    _E.PAYMENT_METHOD_NOT_FOUND: Spec(
        404, "There is no such payment method.", "List the payment methods to see their ids."
    ),
    _E.DEAD_LETTER_NOT_FOUND: Spec(
        404, "There is no such dead letter.", "List the dead letters to see their ids."
    ),
    _E.RULE_NOT_FOUND: Spec(
        404, "There is no such rule.", "List the endpoint's rules to see their ids."
    ),
    _E.REVIEW_NOT_FOUND: Spec(
        404, "There is no such review.", "List the reviews to see their ids."
    ),
    _E.DEVICE_NOT_FOUND: Spec(
        404, "There is no such phone.", "List the phones with `momo phones list`."
    ),
    _E.APPROVED_PAYER_NOT_FOUND: Spec(
        404, "There is no such approved payer.", "List them with `momo review payers list`."
    ),
    _E.KEY_NOT_FOUND: Spec(
        404, "There is no such API key.", "List the keys with `momo keys list`."
    ),
    _E.USER_NOT_FOUND: Spec(
        404, "There is no such user.", "List the users with `momo users list`."
    ),
    _E.MESSAGE_NOT_FOUND: Spec(
        404, "There is no such message.", "List the messages with `momo messages list`."
    ),
    _E.NOTICE_NOT_FOUND: Spec(
        404, "There is no such notice.", "List the notices with `momo notices list --all`."
    ),
    _E.ROUTE_NOT_FOUND: Spec(
        404, "The API has no such path.", "Compare the path with the API reference at `/docs`."
    ),
    _E.METHOD_NOT_ALLOWED: Spec(
        405,
        "This path does not accept that method.",
        "The `Allow` header lists the methods that it accepts.",
    ),
    _E.PAYLOAD_TOO_LARGE: Spec(
        413, "The request body is larger than 64 KB.", "Send less; `meta` takes at most 4 KB."
    ),
    _E.UNSUPPORTED_MEDIA_TYPE: Spec(
        415, "The request body must be JSON.", "Send `Content-Type: application/json`."
    ),
    _E.MISDIRECTED_REQUEST: Spec(
        421,
        "This shop does not answer to that host name.",
        "Set `public_base_url` under `[http]` in config.toml to the address that callers use.",
    ),
    _E.HEADERS_TOO_LARGE: Spec(
        431,
        "The request line and the headers are larger than 32 KB.",
        "Send fewer or shorter headers and cookies; data belongs into the body.",
    ),
    _E.TRANSACTION_ID_ALREADY_USED: Spec(
        409,
        "The payment with that transaction ID already paid another transaction: do not hand over goods.",
        "Look at the transaction that it paid, named in `used_by_reference`.",
    ),
    _E.ALREADY_VERIFIED: Spec(
        409, "This transaction is already paid.", "Nothing to do; retrieve it to see its payment."
    ),
    _E.LINES_NOT_READY: Spec(
        409,
        "At least one SIM has no number yet.",
        "Assign a number to each SIM in `sims_without_number` first, or set aside those that are not for payments.",
    ),
    _E.SIM_ALREADY_ASSIGNED: Spec(
        409,
        "That SIM already holds another number.",
        "Remove that number from the SIM first (PATCH it with `sim: null`).",
    ),
    _E.PAYMENT_METHOD_EXISTS: Spec(
        409, "This number is already registered.", "Use the existing payment method."
    ),
    _E.USER_EXISTS: Spec(
        409, "There is a user with this name already.", "List the users with `momo users list`."
    ),
    _E.METHOD_HAS_NO_SIM: Spec(409, "This number is on no SIM.", "Put the number on a SIM first."),
    _E.DELIVERY_NOT_REDELIVERABLE: Spec(
        409,
        "This delivery is still being tried; only delivered and failed ones can be sent again.",
        "Wait until it is delivered or failed.",
    ),
    _E.DEAD_LETTER_ALREADY_REPLAYED: Spec(
        409, "This dead letter was already replayed.", "Look at its delivery."
    ),
    _E.ENDPOINT_DELETED: Spec(
        409,
        "The endpoint of this delivery was deleted.",
        "Replay the payments to another endpoint.",
    ),
    _E.ENDPOINT_LIMIT: Spec(
        409, "There are already 50 endpoints.", "Delete one that is no longer used."
    ),
    _E.ROTATION_LIMIT: Spec(
        409, "This secret was rotated three times within 24 hours.", "Wait, or expire the old ones."
    ),
    _E.TRANSACTION_NOT_CANCELLABLE: Spec(
        409, "This transaction can no longer be cancelled.", "Retrieve it to see its status."
    ),
    _E.NOT_SETTLEABLE: Spec(
        409,
        "Nothing of this transaction is left to settle: it was not paid too little or too much.",
        "Retrieve it to see its status.",
    ),
    _E.ALREADY_SETTLED: Spec(
        409,
        "This transaction is settled already.",
        "Retrieve it to see how; take the settlement back if it was wrong.",
    ),
    _E.NO_CHECKOUT_PAGE: Spec(
        409,
        "This transaction has no checkout page, or no longer has one.",
        "The page exists from the creation of a payment request until 30 days after its end.",
    ),
    _E.PAYMENT_HANDED_UP: Spec(
        409,
        "This payment was handed to the head office, which alone may use it.",
        "Ask the head office to give it back: there, `momo hub release PAYMENT`.",
    ),
    _E.BELONGS_TO_BRANCH: Spec(
        409,
        "This belongs to a branch; head office has a copy of it.",
        "Change it at the branch named in `branch`.",
    ),
    _E.HUB_DECIDES: Spec(
        409,
        "This shop only receives payments; head office takes the orders.",
        "Create the transaction at the head office.",
    ),
    _E.NOT_A_HUB: Spec(409, "This shop is not a hub.", "Make it one with `momo hub init`."),
    _E.NOT_A_BRANCH: Spec(
        409,
        "This shop is not a branch.",
        "At the hub type `momo hub invite NAME`, then here the command that it prints.",
    ),
    _E.BRANCH_EXISTS: Spec(
        409,
        "This shop is a branch or a hub already.",
        "See `momo hub status` and `momo hub status`.",
    ),
    _E.BRANCH_NOT_FOUND: Spec(404, "There is no such branch.", "List them with `momo hub status`."),
    _E.BRANCH_DISPUTED: Spec(
        409,
        "Two machines send as this branch, so the hub takes nothing from either.",
        "At the hub type `momo hub invite NAME`; join again at the machine that has the modem.",
    ),
    _E.BRANCH_STALE: Spec(
        409,
        "The hub has a later request of this branch than this one.",
        "If this machine was restored from a backup, type `momo hub restore --from-hub`.",
    ),
    _E.INVITATION_INVALID: Spec(
        403,
        "This invitation is wrong, used or older than 15 minutes.",
        "At the hub type `momo hub invite NAME` again.",
    ),
    _E.HUB_REFUSED: Spec(
        502, "The hub refused the call.", "See the reason in the message, and `momo hub status`."
    ),
    _E.BRANCH_ASKED: Spec(
        503,
        "The branch has this payment and was asked for it.",
        "Repeat the call after `Retry-After` seconds; the branch answers when its connection is back.",
    ),
    _E.REVIEW_ALREADY_DECIDED: Spec(
        409, "This review was already decided.", "Retrieve it to see the decision."
    ),
    _E.DECISION_NOT_UNDOABLE: Spec(
        409, "This decision cannot be taken back.", "Retrieve the review to see what was decided."
    ),
    _E.PAYMENT_REVERSED: Spec(
        409,
        "The network took this payment back: do not hand over goods.",
        "Ask the customer to pay again.",
    ),
    _E.PAYER_STILL_OPEN: Spec(
        409,
        "This payer still has open transactions, reviews or webhooks; nothing was forgotten.",
        "Settle them first; `open` counts them.",
    ),
    _E.IDEMPOTENCY_IN_PROGRESS: Spec(
        409,
        "A call with this idempotency key is still running.",
        "Repeat the same call in a moment.",
    ),
    _E.AMOUNT_MISMATCH: Spec(
        422,
        "The payment's amount is not the amount you gave; nothing was changed.",
        "Repeat without `amount` to accept the received amount.",
    ),
    _E.VALIDATION_ERROR: Spec(
        422, "The request has invalid fields.", "Correct each field named in `details`."
    ),
    _E.AMBIGUOUS_TRANSACTION_ID: Spec(
        422,
        "Payments of several networks have that transaction ID.",
        "Repeat with `provider` set to one of `providers`.",
    ),
    _E.URL_NOT_ALLOWED: Spec(
        422,
        "That address may not receive webhooks.",
        "Use a public https address, or add the host to `[webhooks] allow_private_hosts`.",
    ),
    _E.SIM_NOT_FOUND: Spec(
        422, "There is no such SIM.", "List phones and slots with `momo phones list`."
    ),
    _E.NETWORK_MISMATCH: Spec(
        422,
        "That SIM belongs to another network than the number.",
        "Choose a SIM of the number's network.",
    ),
    _E.REPLAY_WINDOW_TOO_LARGE: Spec(
        422, "A replay covers at most 31 days.", "Replay a longer time in several calls."
    ),
    _E.IDEMPOTENCY_KEY_REUSED: Spec(
        422,
        "This idempotency key was used for a different request.",
        "Use a new key for each new request.",
    ),
    _E.IDEMPOTENCY_KEY_CONFLICT: Spec(
        422, "The header and the field have different idempotency keys.", "Send only one of them."
    ),
    _E.IDEMPOTENCY_KEY_INVALID: Spec(
        422, "An idempotency key has 1 to 255 characters.", "Use a UUID."
    ),
    _E.TOO_MANY_ATTEMPTS: Spec(429, "Too many attempts.", "Wait as long as `retry_after` says."),
    _E.RATE_LIMITED: Spec(429, "Too many requests.", "Wait as long as `retry_after` says."),
    _E.INTERNAL_ERROR: Spec(
        500,
        "Something went wrong on our side.",
        "Repeat the call; inform the operator if it fails again.",
    ),
    _E.UNAVAILABLE: Spec(
        503, "The service cannot take this right now.", "Repeat after `Retry-After` seconds."
    ),
    _E.NOT_SET_UP: Spec(503, "There is no shop on this machine yet.", "Run: momo setup"),
}
