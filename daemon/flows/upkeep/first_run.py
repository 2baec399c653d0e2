"""The first run in the browser: the owner names the shop and chooses a password."""

from daemon.core.access.callers import Caller
from daemon.core.access.roles import Operation, require
from daemon.core.errors import Refusal, invalid
from daemon.core.names import shop_name_error
from daemon.env import Env
from daemon.runtime import secrets
from daemon.store import journal
from daemon.store import shop as shops
from daemon.store.access import users
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode


async def begin(env: Env, caller: Caller, shop: str, password: str) -> bool:
    """Name the shop and set the owner's first password; the owner's session stays open.

    Returns:
        False if there is a password already: nothing is changed then.

    Raises:
        Refusal: VALIDATION_ERROR on `shop` and `password`; ROLE_REQUIRED.
    """
    require(caller, Operation.MANAGE_USERS)
    session = caller.browser
    if session is None:
        raise Refusal(ErrorCode.SESSION_REQUIRED, "Only a user of the dashboard can do this.")
    name = shop.strip()
    wrong = [shop_name_error(name), secrets.password_error("password", password)]
    if found := [error for error in wrong if error is not None]:
        raise invalid(found)
    kept = await secrets.hash_password(password)
    now = env.clock.now_us()

    def job(tx: Tx) -> bool:
        if not users.set_first_password(tx, session.user_id, kept, now):
            return False
        shops.rename(tx, name)
        users.confirm(tx, session.id, now)
        journal.add(tx, type="shop.named", mode=Mode.LIVE, at=now, actor=caller.name)
        return True

    return await env.store.write(job)
