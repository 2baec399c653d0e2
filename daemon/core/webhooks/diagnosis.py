"""Explain in plain words why a delivery failed: the answer, since when it fails, and the next step. Pure.

Dead letters of one endpoint with the same `cause` share one fault, so a hundred of them need one repair.
"""

from typing import Final

from msgspec import Struct

from daemon.core.json_values import timestamp
from daemon.core.text import Text
from daemon.core.webhooks.delivery import CLOCK_WAITS_MAX, DeadLetter, DeadLetterReason, DeliveryError
from daemon.core.webhooks.endpoint import Endpoint


class Diagnosis(Struct, frozen=True):
    """The explanation for the operator.

    `cause` is one word for programs; new ones may be added. `text` has three sentences: the failure, since when it
    lasts, and the next step.
    """

    cause: str
    text: str


_STATUSES: Final = {
    status: word
    for statuses, word in {
        (400, 415, 422): "refused_content",
        (401, 403): "refused_signature",
        (404, 405): "no_such_address",
        (410,): "gone",
        (413,): "too_large",
        (408, 425, 429): "too_busy",
    }.items()
    for status in statuses
}
_SERVER: Final = "server_error"
_OTHER_4XX: Final = "refused"
"""The words of `DeliveryError` are causes too, but for the one of a bad status."""


def diagnose(letter: DeadLetter, endpoint: Endpoint) -> Diagnosis:
    """Return why a delivery failed."""
    if letter.reason == DeadLetterReason.ENDPOINT_DELETED:
        return Diagnosis(
            "endpoint_deleted",
            f"The endpoint was deleted on {_day(letter.failed_at)}, before this was delivered. "
            "Replay the window to the endpoint that should have it.",
        )
    cause = cause_of(None, letter.error_code)
    if letter.reason == DeadLetterReason.PERMANENT_4XX:
        cause = _STATUSES.get(letter.last_status_code or 0, _OTHER_4XX)
        if letter.clock_waits >= CLOCK_WAITS_MAX:
            cause = "clock"
    if endpoint.deleted_at is not None:
        # No webhook is sent to a deleted endpoint, so the first cause does not matter.
        return Diagnosis(
            "endpoint_deleted",
            f"This was given up on {_day(letter.failed_at)} ({_means(cause)}), and its endpoint was deleted on "
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
        final = "a 4xx is final" + (" after 24 hours" if letter.clock_waits >= CLOCK_WAITS_MAX else "")
        when = f"on {_day(letter.failed_at)}; {final}"
    else:
        times = f"{letter.attempt_count} attempts" if letter.attempt_count > 1 else "1 attempt"
        when = f"in all of {times} from {_day(since)} to {_day(letter.failed_at)}"
    return Diagnosis(
        cause, f"{what}: {_means(cause)}, {when}. {_health(endpoint, since)} {_mend(cause)}, then replay this."
    )


def explain(status_code: int | None, error_code: str | None) -> tuple[Text, Text]:
    """Return the meaning of an unsuccessful answer, and the repair, as two half sentences."""
    cause = cause_of(status_code, error_code)
    return _means(cause), _mend(cause)


def cause_of(status_code: int | None, error_code: str | None) -> str:
    """Return the `cause` of an unsuccessful answer, as in `Diagnosis`."""
    if error_code == DeliveryError.HTTP_ERROR and (status_code or 0) // 100 == 4:
        return _STATUSES.get(status_code or 0, _OTHER_4XX)
    known = error_code in set(DeliveryError) and error_code != DeliveryError.HTTP_ERROR
    return str(error_code) if known else _SERVER


def _means(cause: str) -> Text:
    return Text(f"cause.{cause}.means")


def _mend(cause: str) -> Text:
    return Text(f"cause.{cause}.mend")


def _receiver_name(url: str) -> str:
    """Return the display name of a receiver: its host, or for a local one (docs/decisions/0019) the program or the folder."""
    _, remote, rest = url.partition("://")
    if remote:
        return rest.partition("/")[0]
    scheme, _, path = url.partition(":")
    return "the listener" if scheme == "listen" else path


def _health(endpoint: Endpoint, since: int) -> str:
    """Return since when the endpoint fails, or that only this delivery fails."""
    if endpoint.last_success_at is None:
        return "It has never accepted a webhook."
    if endpoint.last_success_at > since:
        return f"It has accepted others since, the last on {_day(endpoint.last_success_at)}."
    return f"It last accepted a webhook on {_day(endpoint.last_success_at)}."


def _day(at_us: int) -> str:
    return timestamp(at_us)[:16].replace("T", " ") + " UTC"
