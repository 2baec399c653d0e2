"""The ASGI application with every route. The same application serves TCP and the Unix socket."""

import os
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api import access, books, branches, messages
from daemon.api.http.auth import Authenticator
from daemon.api.http.body import header
from daemon.api.http.envelope import Application, with_cors
from daemon.api.http.resource import Operations, op, own, public, router
from daemon.api.http.service import Call, Hooks, Reply, Service, ok
from daemon.api.lines import lines, modems, sources
from daemon.api.openapi import manual, pages
from daemon.api.payments import reviews, transactions
from daemon.api.payments.initialize import initialize
from daemon.api.upkeep import control, event_stream, metrics, status
from daemon.api.webhooks import deliveries, endpoints, listen, replay, rules
from daemon.core.json_values import dump
from daemon.core.payments import checkout
from daemon.env import Env
from daemon.sender.connect import SystemResolver
from daemon.wire import VERSION, Path
from daemon.wire import Scope as Key

DASHBOARD = "/dash"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


async def health(call: Call) -> Reply:
    """Answer without authentication whether the daemon works: 200, or 503 while a worker hangs.

    200 also while the database cannot be used, and while a line cannot receive: a restart would not help, so a container
    manager must not restart it. The reasons are codes, since anybody may ask.
    """
    env = call.env
    late, faults = env.hanging_workers(), env.faults.all()
    receives, why = call.service.hooks.receiving()
    data: dict[str, Any] = {"version": VERSION, "receiving": receives, "receiving_reason": why}
    if late:
        workers = [{"worker": name, "late_s": round(s)} for name, s in late.items()]
        hung = {"status": "hung", **data, "hung": workers}
        return Reply(503, dump({"success": False, "data": hung}))
    if env.store.is_standby:
        waiting = "" if env.store.fault is None else env.store.fault.why
        return ok({"status": "standby", **data, "waiting": waiting})
    if faults:
        causes = list(dict.fromkeys(fault.cause for fault in faults))
        return ok({"status": "degraded", **data, "causes": causes})
    return ok({"status": "ok", **data})


# The rows stay as compact as a table. Of several paths that fit a call the first one counts.
# fmt: off
OPERATIONS: Final[Operations] = {
    Path.INITIALIZE: {"POST": own(initialize, Key.TRANSACTIONS_INITIALIZE, Key.TRANSACTIONS_WRITE)},
    Path.TRANSACTIONS: {"GET": own(transactions.list_transactions, Key.TRANSACTIONS_READ)},
    Path.TRANSACTION_BY_CODE: {"GET": own(transactions.get_by_code, Key.TRANSACTIONS_READ)},
    # A client reference may contain a slash.
    Path.TRANSACTION_BY_CLIENT_REF.replace("client_ref", "client_ref:path"): {"GET": own(transactions.get_by_client_reference, Key.TRANSACTIONS_READ)},
    Path.TRANSACTION: {"GET": own(transactions.get_one, Key.TRANSACTIONS_READ)},
    Path.TRANSACTION_EVENTS: {"GET": own(transactions.list_events, Key.TRANSACTIONS_READ)},
    Path.TEST_PAYMENTS: {"POST": op(messages.create_test_payment, Key.TRANSACTIONS_WRITE)},
    Path.EVENTS: {"GET": op(event_stream.get, Key.TRANSACTIONS_READ)},
    Path.CANCEL: {"POST": own(transactions.cancel, Key.TRANSACTIONS_WRITE)},
    Path.RECONCILE: {"POST": op(transactions.reconcile, Key.TRANSACTIONS_WRITE)},
    Path.SETTLE: {"POST": op(transactions.settle, Key.TRANSACTIONS_WRITE), "DELETE": op(transactions.take_settlement_back, Key.TRANSACTIONS_WRITE)},
    Path.REVIEWS: {"GET": own(reviews.get_list, Key.TRANSACTIONS_WRITE)},
    Path.REVIEW: {"GET": own(reviews.get_one, Key.TRANSACTIONS_WRITE)},
    Path.REVIEW_APPROVE: {"POST": op(reviews.approve, Key.TRANSACTIONS_WRITE)},
    Path.REVIEW_REJECT: {"POST": op(reviews.reject, Key.TRANSACTIONS_WRITE)},
    Path.REVIEW_UNDO: {"POST": op(reviews.undo, Key.TRANSACTIONS_WRITE)},
    Path.APPROVED_PAYERS: {"GET": op(messages.list_approved_payers, Key.TRANSACTIONS_READ)},
    Path.APPROVED_PAYER: {
        "GET": op(messages.get_approved_payer, Key.TRANSACTIONS_READ),
        "DELETE": op(messages.revoke_approved_payer, Key.TRANSACTIONS_WRITE),
    },
    Path.LOGIN: {"POST": public(access.login)},
    Path.LOGOUT: {"POST": op(access.logout)},
    Path.PASSWORD: {"POST": op(access.change_password)},
    Path.KEYS: {"GET": op(access.list_keys), "POST": op(access.create_key)},
    Path.KEY: {"GET": op(access.get_key), "DELETE": op(access.revoke_key)},
    Path.KEY_ROTATE: {"POST": op(access.rotate_key)},
    Path.SIMS: {"GET": op(lines.list_sims, Key.PAYMENT_METHODS_READ)},
    Path.SIM: {"PATCH": op(lines.update_sim, Key.PAYMENT_METHODS_MANAGE)},
    Path.PAYMENT_METHODS: {"GET": own(lines.list_methods, Key.PAYMENT_METHODS_READ), "POST": op(lines.create_method, Key.PAYMENT_METHODS_MANAGE)},
    Path.PAYMENT_METHOD: {
        "GET": own(lines.get_method, Key.PAYMENT_METHODS_READ),
        "PATCH": op(lines.update_method, Key.PAYMENT_METHODS_MANAGE),
        "DELETE": op(lines.delete_method, Key.PAYMENT_METHODS_MANAGE),
    },
    # Without a scope: the handler rejects every API key itself.
    Path.WALLET: {"POST": op(lines.say_wallet)},
    Path.USSD: {"POST": op(lines.use_ussd)},
    Path.SOURCE_POST: {"POST": public(sources.post_sms)},
    Path.CLAIM_UNPLACED: {"POST": op(lines.claim_unplaced, Key.PAYMENT_METHODS_MANAGE)},
    Path.LINES: {"GET": op(lines.get_status, Key.WEBHOOKS_MANAGE, Key.PAYMENT_METHODS_READ)},
    Path.ENDPOINTS: {"GET": op(endpoints.list_endpoints, Key.WEBHOOKS_MANAGE), "POST": op(endpoints.create_endpoint, Key.WEBHOOKS_MANAGE)},
    Path.ENDPOINT: {
        "GET": op(endpoints.get_endpoint, Key.WEBHOOKS_MANAGE),
        "PUT": op(endpoints.update_endpoint, Key.WEBHOOKS_MANAGE),
        "DELETE": op(endpoints.delete_endpoint, Key.WEBHOOKS_MANAGE),
    },
    Path.ENDPOINT_TEST: {"POST": op(endpoints.test_endpoint, Key.WEBHOOKS_MANAGE)},
    # Without a scope: the handlers reject every API key themselves.
    Path.ENDPOINT_SECRET: {"POST": op(endpoints.reveal_endpoint)},
    Path.ENDPOINT_ROTATE: {"POST": op(endpoints.rotate_endpoint)},
    Path.ACCOUNT_SECRET: {"POST": op(endpoints.reveal_account)},
    Path.ACCOUNT_ROTATE: {"POST": op(endpoints.rotate_account)},
    Path.RULES: {"GET": op(rules.get_list, Key.WEBHOOKS_MANAGE), "POST": op(rules.create, Key.WEBHOOKS_MANAGE)},
    Path.RULE: {"PUT": op(rules.update, Key.WEBHOOKS_MANAGE), "DELETE": op(rules.delete, Key.WEBHOOKS_MANAGE)},
    Path.RULES_TEST: {"POST": op(rules.test, Key.WEBHOOKS_MANAGE)},
    Path.ROUTING: {"GET": op(rules.explain, Key.WEBHOOKS_MANAGE)},
    Path.DELIVERIES: {"GET": op(deliveries.list_deliveries, Key.WEBHOOKS_MANAGE)},
    Path.DELIVERY: {"GET": op(deliveries.get_delivery, Key.WEBHOOKS_MANAGE)},
    Path.DELIVERY_ATTEMPTS: {"GET": op(deliveries.get_attempts, Key.WEBHOOKS_MANAGE)},
    Path.REDELIVER: {"POST": op(deliveries.redeliver, Key.WEBHOOKS_MANAGE)},
    Path.GAP: {"GET": op(replay.list_missing, Key.WEBHOOKS_MANAGE)},
    Path.REPLAY: {"POST": op(replay.replay, Key.WEBHOOKS_MANAGE)},
    Path.DEAD_LETTERS: {"GET": op(deliveries.list_dead_letters, Key.WEBHOOKS_MANAGE)},
    Path.DEAD_LETTERS_REPLAY: {"POST": op(deliveries.replay_batch, Key.WEBHOOKS_MANAGE)},
    Path.DEAD_LETTER: {"GET": op(deliveries.get_dead_letter, Key.WEBHOOKS_MANAGE)},
    Path.DEAD_LETTER_DISMISS: {"POST": op(deliveries.dismiss_dead_letter, Key.WEBHOOKS_MANAGE)},
    Path.DEAD_LETTER_REPLAY: {"POST": op(deliveries.replay_dead_letter, Key.WEBHOOKS_MANAGE)},
    Path.BRANCH_JOIN: {"POST": public(branches.receive_join)},
    Path.BRANCH_SYNC: {"POST": op(branches.receive_sync, Key.BRANCH)},
    Path.BRANCH_ROWS: {"POST": op(branches.receive_rows, Key.BRANCH)},
    Path.BRANCH_LEAVE: {"POST": op(branches.receive_leave, Key.BRANCH)},
    Path.HEALTH: {"GET": public(health)},
    Path.METRICS: {"GET": public(metrics.get)},
    Path.OPENAPI: {"GET": public(pages.openapi)},
    Path.DOCS: {"GET": public(pages.docs)},
    Path.DOCS_ERRORS: {"GET": public(pages.docs_errors)},
    Path.MANUAL: {"GET": public(manual.index)},
    Path.MANUAL_PICTURE.replace("name", "name:path"): {"GET": public(manual.picture)},
    Path.MANUAL_PAGE: {"GET": public(manual.page)},
    Path.LOCAL_PASSWORD: {"POST": op(access.set_password)},
    Path.LOCAL_USERS: {"GET": op(access.list_users), "POST": op(access.add_user)},
    Path.LOCAL_USER: {"PATCH": op(access.change_user)},
    Path.LOCAL_USER_RESET: {"POST": op(access.reset_user)},
    Path.LOCAL_DASHBOARD_LINK: {"POST": op(access.make_link)},
    Path.LOCAL_HUB: {"GET": op(branches.hub_status), "POST": op(branches.make_hub), "DELETE": op(branches.end_hub)},
    Path.LOCAL_HUB_INVITES: {"POST": op(branches.invite)},
    Path.LOCAL_HUB_DISTRUST: {"POST": op(branches.distrust)},
    Path.LOCAL_HUB_ACCEPT: {"POST": op(branches.accept)},
    Path.LOCAL_HUB_RELEASE: {"POST": op(branches.release)},
    Path.LOCAL_HUB_COMMANDS: {"POST": op(branches.ask)},
    Path.LOCAL_BRANCH: {"GET": op(branches.branch_status), "POST": op(branches.join)},
    Path.LOCAL_BRANCH_LEAVE: {"POST": op(branches.leave)},
    Path.LOCAL_BRANCH_RESTORE: {"POST": op(branches.restore)},
    Path.LOCAL_SIM_PIN: {"POST": op(modems.store_pin)},
    Path.LOCAL_SIM_UNTOLD: {"POST": op(modems.acknowledge_unreported)},
    Path.LOCAL_SIM_SMSCS: {"POST": op(modems.show_smscs)},
    Path.LOCAL_SIM_TRUST: {"POST": op(modems.trust_smsc)},
    Path.LOCAL_SIM_TEST_PAYMENT: {"POST": op(modems.expect_test_payment)},
    Path.LOCAL_SOURCES: {"GET": op(sources.get_list)},
    Path.LOCAL_SOURCE: {"DELETE": op(sources.forget)},
    Path.LOCAL_SOURCE_KEY: {"POST": op(sources.rotate_key)},
    Path.LOCAL_STATUS: {"GET": op(status.get)},
    Path.LOCAL_DOCTOR: {"GET": op(control.run_doctor)},
    Path.LOCAL_LOGS: {"GET": op(control.get_log)},
    Path.LOCAL_SOURCE_PASSWORD: {"POST": op(modems.set_password)},
    Path.LOCAL_MODEMS: {"GET": op(modems.list_modems)},
    Path.LOCAL_MODEM: {"GET": op(modems.get_modem), "PATCH": op(modems.rename)},
    Path.LOCAL_MODEM_TEST: {"POST": op(modems.test_modem)},
    Path.LOCAL_MODEM_TEXTS: {"POST": op(modems.send_test_text)},
    Path.LOCAL_MODEM_TEXT: {"GET": op(modems.get_test_text)},
    Path.LOCAL_MESSAGES: {"GET": op(messages.list_messages)},
    Path.LOCAL_REPARSE: {"POST": op(messages.reparse)},
    Path.LOCAL_IMPORT: {"POST": op(messages.import_batch)},
    Path.LOCAL_MESSAGE: {"GET": op(messages.get_message)},
    Path.LOCAL_MESSAGE_CONFIRM: {"POST": op(messages.confirm_wording)},
    Path.LOCAL_TEMPLATES: {"GET": op(messages.list_wordings)},
    Path.LOCAL_LISTEN: {"POST": op(listen.create)},
    Path.LOCAL_LISTENER: {"POST": op(listen.stream)},
    Path.LOCAL_LISTENER_OUTCOMES: {"POST": op(listen.settle)},
    Path.LOCAL_DELIVERY_SIGNED: {"POST": op(deliveries.sign)},
    Path.LOCAL_REPLACE: {"POST": op(transactions.replace_transaction)},
    Path.LOCAL_SEND_CODE: {"POST": op(transactions.send_code)},
    Path.LOCAL_CHECKOUT: {"GET": op(transactions.get_checkout_page)},
    Path.LOCAL_REPORT: {"GET": op(books.get_report)},
    Path.LOCAL_REPORT_MAIL: {"POST": op(books.mail_report)},
    Path.LOCAL_SHIFTS: {"GET": op(books.list_shifts), "POST": op(books.open_shift)},
    Path.LOCAL_SHIFT: {"GET": op(books.get_shift)},
    Path.LOCAL_SHIFT_CLOSE: {"POST": op(books.close_shift)},
    Path.LOCAL_STATEMENT: {"POST": op(books.compare)},
    Path.LOCAL_EXPORT: {"GET": op(books.export)},
    Path.LOCAL_PHONES_SHOWN: {"POST": op(books.note_phones)},
    Path.LOCAL_PRUNE: {"GET": op(control.survey), "POST": op(control.prune)},
    Path.LOCAL_PAYER: {"POST": op(control.export_payer)},
    Path.LOCAL_PAYER_FORGET: {"POST": op(control.forget_payer)},
    Path.LOCAL_SHUTDOWN: {"POST": op(control.shutdown)},
    Path.LOCAL_NOTICES: {"GET": op(control.list_notices)},
    Path.LOCAL_NOTICES_SEEN: {"POST": op(control.see_notices)},
    Path.LOCAL_NOTICES_TEST: {"POST": op(control.test_notices)},
    Path.LOCAL_SMTP_PASSWORD: {"POST": op(control.set_smtp_password)},
    Path.LOCAL_SETUP: {"POST": op(control.setup)},
}
# fmt: on


def build(env: Env, hooks: Hooks) -> Application:
    """Build the application of one running shop."""
    resolver = hooks.resolver or SystemResolver()
    service = Service(env, hooks, resolver, env.clock.now_us(), OPERATIONS)
    api = with_cors(router(service, Authenticator(env, os.getuid()), OPERATIONS), env.config.http.cors_origins)
    # The accepted Host names: loopback, the bound address and the host of `public_base_url`.
    bound, public_url = f"//{env.address}", env.config.http.public_base_url
    names = {urlsplit(each).hostname or "" for each in (bound, public_url)} - {""}
    return Application(_with_pages(api, hooks), service, LOOPBACK_NAMES | names)


def _with_pages(app: ASGIApp, hooks: Hooks) -> ASGIApp:
    """Send requests below `checkout.ROOT` to the checkout pages, and those below `DASHBOARD` to the dashboard.

    The first need no authentication, the second has its own. The Unix socket has no dashboard. A browser that opens the bare
    address is sent to the dashboard; a program gets the error of an unknown path.
    """

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        path, chosen = scope["path"], app
        dash = None if "peer_uid" in scope["state"] else hooks.dash
        if hooks.pages is not None and path.startswith(checkout.ROOT):
            chosen = hooks.pages
        elif dash is not None and (path == DASHBOARD or path.startswith(f"{DASHBOARD}/")):
            chosen = dash
        elif (
            dash is not None
            and path == "/"
            and scope["method"] in ("GET", "HEAD")
            and "text/html" in (header(scope, b"accept") or "")
        ):
            chosen = RedirectResponse(DASHBOARD, 302)
        await chosen(scope, receive, send)

    return choose
