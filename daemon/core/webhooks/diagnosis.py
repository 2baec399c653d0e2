"""Explain in plain words why a delivery failed: the answer, since when it fails, and the next step. Pure.

Dead letters of one endpoint with the same `cause` share one fault, so a hundred of them need one repair.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from daemon.core.json_values import timestamp
from daemon.core.webhooks.delivery import (
    CLOCK_WAITS_MAX,
    DeadLetter,
    DeadLetterReason,
    DeliveryError,
)
from daemon.core.webhooks.endpoint import Endpoint


class Diagnosis(Struct, frozen=True):
    """The explanation for the operator.

    `cause` is one word for programs; new ones may be added. `text` has three sentences: the failure, since when it
    lasts, and the next step.
    """

    cause: str
    text: str


class _Cause(Struct, frozen=True):
    word: str
    means: str
    """The meaning of the answer; placed after a colon."""
    mend: str
    """The repair before it is sent again."""


_STATUSES: Final[Mapping[int, _Cause]] = MappingProxyType(
    {
        status: cause
        for statuses, cause in {
            (400, 415, 422): _Cause(
                "refused_content",
                "it read the webhook and rejected its content",
                "Look at the answer's text and at the receiver's log",
            ),
            (401, 403): _Cause(
                "refused_signature",
                "it does not accept that the webhook is from us",
                "Compare its signing secret with the endpoint's, and check any proxy or login in front of it",
            ),
            (404, 405): _Cause(
                "no_such_address",
                "nothing accepts webhooks at this address",
                "Correct the endpoint's address, or put the receiver back there",
            ),
            (410,): _Cause(
                "gone",
                "it asks for no more webhooks",
                "Give the endpoint its new address, or delete it",
            ),
            (413,): _Cause(
                "too_large",
                "it accepts no body of this size",
                "Let the receiver accept bodies of 20 kB",
            ),
            (408, 425, 429): _Cause(
                "too_busy",
                "it was too busy",
                "Let the receiver accept more webhooks, or name this status in `[webhooks] retry_4xx`",
            ),
        }.items()
        for status in statuses
    }
)
_CLOCK: Final = _Cause(
    "clock",
    "your receiver's clock and ours differ",
    "Let both machines take the time from the network (`momo doctor clock`)",
)
_OTHER_4XX: Final = _Cause(
    "refused", "it refused the webhook", "Look at the answer's text and at the receiver's log"
)
_ERRORS: Final[Mapping[str, _Cause]] = MappingProxyType(
    {
        DeliveryError.HTTP_ERROR: _Cause(
            "server_error", "it has an internal error", "Look at the receiver's log"
        ),
        DeliveryError.TIMEOUT: _Cause(
            "timeout",
            "it gave no complete answer in time",
            "Let the receiver answer first and process the webhook afterwards",
        ),
        DeliveryError.DNS_ERROR: _Cause(
            "dns_error",
            "its name could not be looked up",
            "Check the spelling of the endpoint's address and the domain's records",
        ),
        DeliveryError.CONNECTION_REFUSED: _Cause(
            "connection_refused",
            "nothing listens at that address",
            "Start the receiver, or correct the endpoint's address",
        ),
        DeliveryError.CONNECTION_RESET: _Cause(
            "connection_reset",
            "the connection broke before the answer",
            "Look at the receiver's log and at any proxy in front of it",
        ),
        DeliveryError.NETWORK_UNREACHABLE: _Cause(
            "network_unreachable",
            "it could not be reached over the network",
            "Check this machine's own connection, then the receiver's",
        ),
        DeliveryError.TLS_ERROR: _Cause(
            "tls_error",
            "no encrypted connection (TLS) could be made",
            "Check that its port speaks HTTPS and that its certificate is valid and complete (fullchain.pem); `[webhooks] ca_file` "
            "names a certificate authority of your own",
        ),
        DeliveryError.REDIRECT: _Cause(
            "redirect",
            "it redirects elsewhere, and webhooks follow no redirect",
            "Give the endpoint the address that it redirects to",
        ),
        DeliveryError.BLOCKED_ADDRESS: _Cause(
            "blocked_address",
            "its name leads to an address that may not be called",
            "Use a public address, or name the host in `[webhooks] allow_private_hosts`",
        ),
        DeliveryError.PROTOCOL_ERROR: _Cause(
            "protocol_error",
            "its answer is not HTTP",
            "Check that a web server listens at that address and port",
        ),
    }
)


def diagnose(letter: DeadLetter, endpoint: Endpoint) -> Diagnosis:
    """Return why a delivery failed."""
    if letter.reason == DeadLetterReason.ENDPOINT_DELETED:
        return Diagnosis(
            "endpoint_deleted",
            f"The endpoint was deleted on {_day(letter.failed_at)}, before this was delivered. "
            "Replay the window to the endpoint that should have it.",
        )
    cause = _cause(letter)
    if endpoint.deleted_at is not None:
        # No webhook is sent to a deleted endpoint, so the first cause does not matter.
        return Diagnosis(
            "endpoint_deleted",
            f"This was given up on {_day(letter.failed_at)} ({cause.means}), and its endpoint was deleted on "
            f"{_day(endpoint.deleted_at)}. Replay the window to the endpoint that should have it.",
        )
    answered = letter.last_status_code is not None and letter.error_code in {
        DeliveryError.HTTP_ERROR,
        DeliveryError.REDIRECT,
    }
    host = _receiver_name(endpoint.url_normalised)
    what = f"{host} answered {letter.last_status_code}" if answered else host
    since = letter.failing_since or letter.failed_at
    if letter.reason == DeadLetterReason.PERMANENT_4XX:
        final = "a 4xx is final" + (
            " after 24 hours" if letter.clock_waits >= CLOCK_WAITS_MAX else ""
        )
        when = f"on {_day(letter.failed_at)}; {final}"
    else:
        times = f"{letter.attempt_count} attempts" if letter.attempt_count > 1 else "1 attempt"
        when = f"in all of {times} from {_day(since)} to {_day(letter.failed_at)}"
    return Diagnosis(
        cause.word,
        f"{what}: {cause.means}, {when}. {_health(endpoint, since)} {cause.mend}, then replay this.",
    )


def explain(status_code: int | None, error_code: str | None) -> tuple[str, str]:
    """Return the meaning of an unsuccessful answer, and the repair, as two half sentences."""
    cause = _cause_of_answer(status_code, error_code)
    return cause.means, cause.mend


def cause_of(status_code: int | None, error_code: str | None) -> str:
    """Return the `cause` of an unsuccessful answer, as in `Diagnosis`."""
    return _cause_of_answer(status_code, error_code).word


def _cause_of_answer(status_code: int | None, error_code: str | None) -> _Cause:
    if error_code == DeliveryError.HTTP_ERROR and (status_code or 0) // 100 == 4:
        return _STATUSES.get(status_code or 0, _OTHER_4XX)
    return _ERRORS.get(error_code or "", _ERRORS[DeliveryError.HTTP_ERROR])


def _receiver_name(url: str) -> str:
    """Return the display name of a receiver: its host, or for a local one (docs/decisions/0019) the program or the folder."""
    _, remote, rest = url.partition("://")
    if remote:
        return rest.partition("/")[0]
    scheme, _, path = url.partition(":")
    return "the listener" if scheme == "listen" else path


def _cause(letter: DeadLetter) -> _Cause:
    if letter.reason == DeadLetterReason.PERMANENT_4XX:
        if letter.clock_waits >= CLOCK_WAITS_MAX:
            return _CLOCK
        return _STATUSES.get(letter.last_status_code or 0, _OTHER_4XX)
    return _ERRORS.get(letter.error_code or "", _ERRORS[DeliveryError.HTTP_ERROR])


def _health(endpoint: Endpoint, since: int) -> str:
    """Return since when the endpoint fails, or that only this delivery fails."""
    if endpoint.last_success_at is None:
        return "It has never accepted a webhook."
    if endpoint.last_success_at > since:
        return f"It has accepted others since, the last on {_day(endpoint.last_success_at)}."
    return f"It last accepted a webhook on {_day(endpoint.last_success_at)}."


def _day(at_us: int) -> str:
    return timestamp(at_us)[:16].replace("T", " ") + " UTC"
