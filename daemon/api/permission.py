"""What a caller may: each of these refuses one that may not."""

from daemon.core.access import Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.wire import ErrorCode, Mode, Scope


def needs(caller: Caller, *scopes: Scope) -> None:
    """Refuse a caller that has none of these scopes.

    Raises:
        Refusal: SECRET_KEY_REQUIRED for a publishable key, else INSUFFICIENT_SCOPE.
    """
    if any(caller.may(scope) for scope in scopes):
        return
    if caller.publishable:
        raise Refusal(ErrorCode.SECRET_KEY_REQUIRED)
    raise Refusal(ErrorCode.INSUFFICIENT_SCOPE, required_scopes=list(scopes))


def needs_live(caller: Caller) -> None:
    """Refuse a test key.

    Raises:
        Refusal: LIVE_KEY_REQUIRED.
    """
    if caller.mode is Mode.TEST:
        raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)


def needs_person(caller: Caller) -> None:
    """Refuse an API key: sessions and the socket are people.

    Raises:
        Refusal: SESSION_REQUIRED.
    """
    if caller.kind is CallerKind.KEY:
        raise Refusal(ErrorCode.SESSION_REQUIRED)


def needs_owner(caller: Caller) -> None:
    """Refuse everybody but the owner: sessions, and on the socket the user that runs momo, and root.

    Raises:
        Refusal: SESSION_REQUIRED.
    """
    if caller.owner:
        return
    if caller.kind is CallerKind.SOCKET:
        raise Refusal(
            ErrorCode.SESSION_REQUIRED, "Only the user that runs momo, or root, may do that."
        )
    raise Refusal(ErrorCode.SESSION_REQUIRED)
