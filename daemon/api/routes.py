"""The ASGI application with every route. The same application serves TCP and the Unix socket."""

import os
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api import access, books, branches, messages
from daemon.api.http.auth import Authenticator
from daemon.api.http.body import header
from daemon.api.http.envelope import Envelope, with_cors
from daemon.api.http.resource import Application, Routes, op, public
from daemon.api.http.service import Hooks, PagesApp, Reply, Service, ok
from daemon.api.lines import lines, modems, sources
from daemon.api.openapi import manual
from daemon.api.openapi.pages import DescriptionHandlers
from daemon.api.payments import reviews, transactions
from daemon.api.payments.initialize import initialize
from daemon.api.upkeep import control, event_stream, metrics, status
from daemon.api.webhooks import deliveries, endpoints, listen, replay, rules
from daemon.core.errors import Refusal
from daemon.core.json_values import dump
from daemon.core.payments import checkout
from daemon.env import Env
from daemon.sender.connect import SystemResolver
from daemon.wire import VERSION, ErrorCode, Path
from daemon.wire import Scope as Key

DASHBOARD = "/dash"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def build(env: Env, hooks: Hooks) -> Application:
    """Build the application of one running shop."""
    service = Service(
        env=env,
        hooks=hooks,
        resolver=hooks.resolver or SystemResolver(),
        started_us=env.clock.now_us(),
    )
    authenticator = Authenticator(env, os.getuid())
    routes = all_routes(service, authenticator)
    router = with_cors(routes.application(), env.config.http.cors_origins)
    application = Envelope(
        _with_pages(_with_health(router, env, hooks), hooks.pages, hooks.dash), service, _hosts(env)
    )
    return Application(application, service, routes.operations)


def all_routes(service: Service, authenticator: Authenticator) -> Routes:
    """Return every route."""
    routes = Routes(service, authenticator)
    write, read = Key.TRANSACTIONS_WRITE, Key.TRANSACTIONS_READ
    _add_transactions(routes)
    routes.add(Path.REVIEWS, {"GET": op(reviews.get_list, write)})
    routes.add(Path.REVIEW, {"GET": op(reviews.get_one, write)})
    routes.add(Path.REVIEW_APPROVE, {"POST": op(reviews.approve, write)})
    routes.add(Path.REVIEW_REJECT, {"POST": op(reviews.reject, write)})
    routes.add(Path.REVIEW_UNDO, {"POST": op(reviews.undo, write)})
    routes.add(Path.APPROVED_PAYERS, {"GET": op(messages.list_approved_payers, read)})
    payer = {
        "GET": op(messages.get_approved_payer, read),
        "DELETE": op(messages.revoke_approved_payer, write),
    }
    routes.add(Path.APPROVED_PAYER, payer)
    routes.add(Path.LOGIN, {"POST": public(access.login)})
    routes.add(Path.LOGOUT, {"POST": op(access.logout)})
    routes.add(Path.PASSWORD, {"POST": op(access.change_password)})
    routes.add(Path.KEYS, {"GET": op(access.list_keys), "POST": op(access.create_key)})
    routes.add(Path.KEY, {"GET": op(access.get_key), "DELETE": op(access.revoke_key)})
    routes.add(Path.KEY_ROTATE, {"POST": op(access.rotate_key)})
    routes.add(Path.LOCAL_PASSWORD, {"POST": op(access.set_password)}, local=True)
    people = {"GET": op(access.list_users), "POST": op(access.add_user)}
    routes.add(Path.LOCAL_USERS, people, local=True)
    routes.add(Path.LOCAL_USER, {"PATCH": op(access.change_user)}, local=True)
    routes.add(Path.LOCAL_USER_RESET, {"POST": op(access.reset_user)}, local=True)
    routes.add(Path.LOCAL_DASHBOARD_LINK, {"POST": op(access.make_link)}, local=True)
    _add_open_collections(routes)
    routes.add(Path.BRANCH_JOIN, {"POST": public(branches.receive_join)})
    routes.add(Path.BRANCH_SYNC, {"POST": op(branches.receive_sync, Key.BRANCH)})
    routes.add(Path.BRANCH_ROWS, {"POST": op(branches.receive_rows, Key.BRANCH)})
    routes.add(Path.BRANCH_LEAVE, {"POST": op(branches.receive_leave, Key.BRANCH)})
    hub = {
        "GET": op(branches.hub_status),
        "POST": op(branches.make_hub),
        "DELETE": op(branches.end_hub),
    }
    routes.add(Path.LOCAL_HUB, hub, local=True)
    routes.add(Path.LOCAL_HUB_INVITES, {"POST": op(branches.invite)}, local=True)
    routes.add(Path.LOCAL_HUB_RELEASE, {"POST": op(branches.release)}, local=True)
    routes.add(Path.LOCAL_HUB_COMMANDS, {"POST": op(branches.ask)}, local=True)
    branch = {"GET": op(branches.branch_status), "POST": op(branches.join)}
    routes.add(Path.LOCAL_BRANCH, branch, local=True)
    routes.add(Path.LOCAL_BRANCH_LEAVE, {"POST": op(branches.leave)}, local=True)
    routes.add(Path.LOCAL_BRANCH_RESTORE, {"POST": op(branches.restore)}, local=True)
    _add_local(routes)
    _add_description(routes)
    return routes


def _add_transactions(routes: Routes) -> None:
    write, read = Key.TRANSACTIONS_WRITE, Key.TRANSACTIONS_READ
    routes.add(Path.INITIALIZE, {"POST": op(initialize, Key.TRANSACTIONS_INITIALIZE, write)})
    routes.add(Path.TRANSACTIONS, {"GET": op(transactions.list_transactions, read)})
    routes.add(Path.TRANSACTION_BY_CODE, {"GET": op(transactions.get_by_code, read)})
    # A client reference may contain a slash.
    by_client_reference = Path.TRANSACTION_BY_CLIENT_REF.replace(
        "{client_ref}", "{client_ref:path}"
    )
    routes.add(by_client_reference, {"GET": op(transactions.get_by_client_reference, read)})
    routes.add(Path.TRANSACTION, {"GET": op(transactions.get_one, read)})
    routes.add(Path.TRANSACTION_EVENTS, {"GET": op(transactions.list_events, read)})
    routes.add(Path.TEST_PAYMENTS, {"POST": op(messages.create_test_payment, write)})
    routes.add(Path.EVENTS, {"GET": op(event_stream.get, read)})
    routes.add(Path.CANCEL, {"POST": op(transactions.cancel, write)})
    routes.add(Path.RECONCILE, {"POST": op(transactions.reconcile, write)})
    back = op(transactions.take_settlement_back, write)
    routes.add(Path.SETTLE, {"POST": op(transactions.settle, write), "DELETE": back})


def _add_open_collections(routes: Routes) -> None:
    read, manage = Key.PAYMENT_METHODS_READ, Key.PAYMENT_METHODS_MANAGE
    webhooks = Key.WEBHOOKS_MANAGE
    routes.add(Path.SIMS, {"GET": op(lines.list_sims, read)})
    routes.add(Path.SIM, {"PATCH": op(lines.update_sim, manage)})
    routes.add(
        Path.PAYMENT_METHODS,
        {
            "GET": op(lines.list_methods, read),
            "POST": op(lines.create_method, manage),
        },
    )
    routes.add(
        Path.PAYMENT_METHOD,
        {
            "GET": op(lines.get_method, read),
            "PATCH": op(lines.update_method, manage),
            "DELETE": op(lines.delete_method, manage),
        },
    )
    # No scope: the handler rejects every API key itself.
    routes.add(Path.WALLET, {"POST": op(lines.say_wallet)})
    routes.add(Path.ANDROID_POST, {"POST": public(sources.post_android)})
    routes.add(Path.CLAIM_UNPLACED, {"POST": op(lines.claim_unplaced, manage)})
    routes.add(Path.LINES, {"GET": op(lines.get_status, webhooks, read)})
    routes.add(
        Path.ENDPOINTS,
        {
            "GET": op(endpoints.list_endpoints, webhooks),
            "POST": op(endpoints.create_endpoint, webhooks),
        },
    )
    routes.add(
        Path.ENDPOINT,
        {
            "GET": op(endpoints.get_endpoint, webhooks),
            "PUT": op(endpoints.update_endpoint, webhooks),
            "DELETE": op(endpoints.delete_endpoint, webhooks),
        },
    )
    routes.add(Path.ENDPOINT_TEST, {"POST": op(endpoints.test_endpoint, webhooks)})
    # No scope: the handlers reject every API key themselves.
    routes.add(Path.ENDPOINT_SECRET, {"POST": op(endpoints.reveal_endpoint)})
    routes.add(Path.ENDPOINT_ROTATE, {"POST": op(endpoints.rotate_endpoint)})
    routes.add(Path.ACCOUNT_SECRET, {"POST": op(endpoints.reveal_account)})
    routes.add(Path.ACCOUNT_ROTATE, {"POST": op(endpoints.rotate_account)})
    routes.add(
        Path.RULES, {"GET": op(rules.get_list, webhooks), "POST": op(rules.create, webhooks)}
    )
    routes.add(Path.RULE, {"PUT": op(rules.update, webhooks), "DELETE": op(rules.delete, webhooks)})
    routes.add(Path.RULES_TEST, {"POST": op(rules.test, webhooks)})
    routes.add(Path.ROUTING, {"GET": op(rules.explain, webhooks)})
    routes.add(Path.DELIVERIES, {"GET": op(deliveries.list_deliveries, webhooks)})
    routes.add(Path.DELIVERY, {"GET": op(deliveries.get_delivery, webhooks)})
    routes.add(Path.DELIVERY_ATTEMPTS, {"GET": op(deliveries.get_attempts, webhooks)})
    routes.add(Path.REDELIVER, {"POST": op(deliveries.redeliver, webhooks)})
    routes.add(Path.GAP, {"GET": op(replay.list_missing, webhooks)})
    routes.add(Path.REPLAY, {"POST": op(replay.replay, webhooks)})
    routes.add(Path.DEAD_LETTERS, {"GET": op(deliveries.list_dead_letters, webhooks)})
    # Must stand before DEAD_LETTER, because its `{id}` would match `replay-batch`.
    routes.add(Path.DEAD_LETTERS_REPLAY, {"POST": op(deliveries.replay_batch, webhooks)})
    routes.add(Path.DEAD_LETTER, {"GET": op(deliveries.get_dead_letter, webhooks)})
    routes.add(Path.DEAD_LETTER_DISMISS, {"POST": op(deliveries.dismiss_dead_letter, webhooks)})
    routes.add(Path.DEAD_LETTER_REPLAY, {"POST": op(deliveries.replay_dead_letter, webhooks)})


def _add_local(routes: Routes) -> None:
    routes.add(Path.LOCAL_SIM_PIN, {"POST": op(modems.store_pin)}, local=True)
    routes.add(Path.LOCAL_SIM_UNTOLD, {"POST": op(modems.acknowledge_unreported)}, local=True)
    routes.add(Path.LOCAL_SIM_SMSCS, {"POST": op(modems.show_smscs)}, local=True)
    routes.add(Path.LOCAL_SIM_TRUST, {"POST": op(modems.trust_smsc)}, local=True)
    routes.add(Path.LOCAL_SIM_TEST_PAYMENT, {"POST": op(modems.expect_test_payment)}, local=True)
    routes.add(Path.LOCAL_SOURCES, {"GET": op(sources.get_list)}, local=True)
    routes.add(Path.LOCAL_SOURCE, {"DELETE": op(sources.forget)}, local=True)
    routes.add(Path.LOCAL_SOURCE_KEY, {"POST": op(sources.rotate_key)}, local=True)
    routes.add(Path.METRICS, {"GET": public(metrics.get)})
    routes.add(Path.LOCAL_STATUS, {"GET": op(status.get)}, local=True)
    routes.add(Path.LOCAL_DOCTOR, {"GET": op(control.run_doctor)}, local=True)
    routes.add(Path.LOCAL_LOGS, {"GET": op(control.get_log)}, local=True)
    routes.add(Path.LOCAL_SOURCE_PASSWORD, {"POST": op(modems.set_password)}, local=True)
    routes.add(Path.LOCAL_MODEMS, {"GET": op(modems.list_modems)}, local=True)
    modem = {"GET": op(modems.get_modem), "PATCH": op(modems.rename)}
    routes.add(Path.LOCAL_MODEM, modem, local=True)
    routes.add(Path.LOCAL_MODEM_TEST, {"POST": op(modems.test_modem)}, local=True)
    routes.add(Path.LOCAL_MODEM_TEXTS, {"POST": op(modems.send_test_text)}, local=True)
    routes.add(Path.LOCAL_MODEM_TEXT, {"GET": op(modems.get_test_text)}, local=True)
    routes.add(Path.LOCAL_MESSAGES, {"GET": op(messages.list_messages)}, local=True)
    routes.add(Path.LOCAL_REPARSE, {"POST": op(messages.reparse)}, local=True)
    routes.add(Path.LOCAL_IMPORT, {"POST": op(messages.import_batch)}, local=True)
    routes.add(Path.LOCAL_MESSAGE, {"GET": op(messages.get_message)}, local=True)
    confirm = {"POST": op(messages.confirm_wording)}
    routes.add(Path.LOCAL_MESSAGE_CONFIRM, confirm, local=True)
    routes.add(Path.LOCAL_TEMPLATES, {"GET": op(messages.list_wordings)}, local=True)
    routes.add(Path.LOCAL_LISTEN, {"POST": op(listen.create)}, local=True)
    routes.add(Path.LOCAL_LISTENER, {"POST": op(listen.stream)}, local=True)
    routes.add(Path.LOCAL_LISTENER_OUTCOMES, {"POST": op(listen.settle)}, local=True)
    routes.add(Path.LOCAL_DELIVERY_SIGNED, {"POST": op(deliveries.sign)}, local=True)
    routes.add(Path.LOCAL_REPLACE, {"POST": op(transactions.replace_transaction)}, local=True)
    routes.add(Path.LOCAL_SEND_CODE, {"POST": op(transactions.send_code)}, local=True)
    routes.add(Path.LOCAL_CHECKOUT, {"GET": op(transactions.get_checkout_page)}, local=True)
    routes.add(Path.LOCAL_REPORT, {"GET": op(books.get_report)}, local=True)
    routes.add(Path.LOCAL_REPORT_MAIL, {"POST": op(books.mail_report)}, local=True)
    routes.add(Path.LOCAL_STATEMENT, {"POST": op(books.compare)}, local=True)
    routes.add(Path.LOCAL_EXPORT, {"GET": op(books.export)}, local=True)
    routes.add(Path.LOCAL_PHONES_SHOWN, {"POST": op(books.note_phones)}, local=True)
    prune = {"GET": op(control.survey), "POST": op(control.prune)}
    routes.add(Path.LOCAL_PRUNE, prune, local=True)
    routes.add(Path.LOCAL_PAYER, {"POST": op(control.export_payer)}, local=True)
    routes.add(Path.LOCAL_PAYER_FORGET, {"POST": op(control.forget_payer)}, local=True)
    routes.add(Path.LOCAL_SHUTDOWN, {"POST": op(control.shutdown)}, local=True)
    routes.add(Path.LOCAL_NOTICES, {"GET": op(control.list_notices)}, local=True)
    routes.add(Path.LOCAL_NOTICES_SEEN, {"POST": op(control.see_notices)}, local=True)
    routes.add(Path.LOCAL_NOTICES_TEST, {"POST": op(control.test_notices)}, local=True)
    routes.add(Path.LOCAL_SMTP_PASSWORD, {"POST": op(control.set_smtp_password)}, local=True)
    routes.add(Path.LOCAL_SETUP, {"POST": op(control.setup)}, local=True)


def _add_description(routes: Routes) -> None:
    description = DescriptionHandlers(routes)
    routes.add(Path.OPENAPI, {"GET": public(description.document)})
    routes.add(Path.DOCS, {"GET": public(description.page)})
    routes.add(Path.DOCS_ERRORS, {"GET": public(description.errors_page)})
    routes.add(Path.MANUAL, {"GET": public(manual.index)})
    routes.add(
        Path.MANUAL_PICTURE.replace("{name}", "{name:path}"), {"GET": public(manual.picture)}
    )
    routes.add(Path.MANUAL_PAGE, {"GET": public(manual.page)})


def _with_pages(app: ASGIApp, pages: PagesApp | None, dash: PagesApp | None) -> ASGIApp:
    """Send requests below `checkout.ROOT` to the checkout pages, and those below `DASHBOARD` to the dashboard.

    The first need no authentication, the second has its own. The Unix socket has neither. A browser that opens the bare
    address is sent to the dashboard; a program gets the error of an unknown path.
    """

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        path, chosen = scope["path"], app
        if pages is not None and path.startswith(checkout.ROOT):
            chosen = pages
        elif (
            dash is not None
            and (path == DASHBOARD or path.startswith(f"{DASHBOARD}/"))
            and "peer_uid" not in scope["state"]
        ):
            chosen = dash
        elif (
            dash is not None
            and path == "/"
            and scope["method"] in ("GET", "HEAD")
            and "text/html" in (header(scope, b"accept") or "")
            and "peer_uid" not in scope["state"]
        ):
            chosen = RedirectResponse(DASHBOARD, 302)
        await chosen(scope, receive, send)

    return choose


def _with_health(app: ASGIApp, env: Env, hooks: Hooks) -> ASGIApp:
    """Answer `/healthz` without authentication: 200, or 503 while a worker hangs.

    200 also while the database cannot be used, and while a line cannot receive: a restart would not help, so a container
    manager must not restart it. The reasons are codes, since anybody may ask.
    """

    async def with_health(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != Path.HEALTH:
            await app(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD"):
            late, faults = env.hanging_workers(), env.faults.all()
            receives, why = hooks.receiving()
            data: dict[str, Any] = {
                "version": VERSION,
                "receiving": receives,
                "receiving_reason": why,
            }
            if env.store.is_standby and not late:
                why = "" if env.store.fault is None else env.store.fault.why
                await ok({"status": "standby", **data, "waiting": why}).send(send)
                return
            if not late and not faults:
                await ok({"status": "ok", **data}).send(send)
                return
            if not late:
                causes = list(dict.fromkeys(fault.cause for fault in faults))
                await ok({"status": "degraded", **data, "causes": causes}).send(send)
                return
            workers = [{"worker": name, "late_s": round(s)} for name, s in late.items()]
            data = {"status": "hung", **data, "hung": workers}
            await Reply(503, dump({"success": False, "data": data})).send(send)
        else:
            raise Refusal(ErrorCode.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})

    return with_health


def _hosts(env: Env) -> frozenset[str]:
    """Return the accepted Host names: loopback, the bound address and the host of `public_base_url`."""
    bound = urlsplit(f"//{env.address}").hostname
    public = urlsplit(env.config.http.public_base_url).hostname
    return LOOPBACK_NAMES | {name for name in (bound, public) if name}
