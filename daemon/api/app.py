"""The application: every route, behind one envelope. The same one serves TCP and the Unix socket."""

import os
from urllib.parse import urlsplit

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api import (
    approved_payers,
    dead_letters,
    deliveries,
    endpoint_changes,
    endpoint_test,
    endpoints,
    event_stream,
    gap,
    keys,
    lines,
    local_checkout,
    local_control,
    local_delivery,
    local_doctor,
    local_export,
    local_import,
    local_listen,
    local_logs,
    local_messages,
    local_modem_texts,
    local_modems,
    local_notices,
    local_payer,
    local_prune,
    local_report,
    local_sims,
    local_statement,
    local_status,
    local_templates,
    login,
    metrics,
    payment_methods,
    redeliver,
    replay,
    review_decisions,
    reviews,
    routing,
    rules,
    sandbox,
    transaction_events,
    transactions,
    webhook_secrets,
)
from daemon.api.application import Application
from daemon.api.auth import Doorkeeper
from daemon.api.cancel import cancel
from daemon.api.description import Description
from daemon.api.envelope import VERSION, Envelope
from daemon.api.initialize import initialize
from daemon.api.reconcile import reconcile
from daemon.api.resource import Routes, no_such_route, op, public
from daemon.api.service import Hooks, Reply, Service, Site, ok
from daemon.core import checkout
from daemon.core.errors import Refusal
from daemon.core.shapes import dump
from daemon.env import Env
from daemon.webhooks.addresses import AddressPolicy
from daemon.webhooks.resolver import SystemResolver
from daemon.wire import ErrorCode, Path
from daemon.wire import Scope as Key

__all__ = ["Application", "Hooks", "build"]

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def build(env: Env, hooks: Hooks) -> Application:
    """Make the application of one running shop."""
    settings = env.config.webhooks
    service = Service(
        env=env,
        hooks=hooks,
        policy=AddressPolicy.from_settings(
            settings.allow_private_hosts, settings.allow_private_cidrs
        ),
        resolver=hooks.resolver or SystemResolver(),
        started_us=env.clock.now_us(),
    )
    door = Doorkeeper(env, os.getuid())
    routes = served(service, door)
    router = Router(routes.all, redirect_slashes=False, default=no_such_route)
    application = Envelope(
        _with_pages(_with_health(router, env), hooks.pages), service, _hosts(env)
    )
    return Application(application, service, routes.operations)


def served(service: Service, door: Doorkeeper) -> Routes:
    """Return every route."""
    routes = Routes(service, door)
    _add_transactions(routes)
    _add_access(routes)
    _add_open_collections(routes)
    _add_local(routes)
    _add_description(routes)
    return routes


def _add_transactions(routes: Routes) -> None:
    write, read = Key.TRANSACTIONS_WRITE, Key.TRANSACTIONS_READ
    routes.add(Path.INITIALIZE, {"POST": op(initialize, Key.TRANSACTIONS_INITIALIZE, write)})
    routes.add(Path.TRANSACTIONS, {"GET": op(transactions.get_list, read)})
    routes.add(Path.TRANSACTION_BY_CODE, {"GET": op(transactions.get_by_code, read)})
    # The caller's own reference may hold a slash.
    by_client_reference = Path.TRANSACTION_BY_CLIENT_REF.replace(
        "{client_ref}", "{client_ref:path}"
    )
    routes.add(by_client_reference, {"GET": op(transactions.get_by_client_reference, read)})
    routes.add(Path.TRANSACTION, {"GET": op(transactions.get_one, read)})
    routes.add(Path.RECONCILE, {"POST": op(reconcile, write)})
    routes.add(Path.TRANSACTION_EVENTS, {"GET": op(transaction_events.get_list, read)})
    routes.add(Path.TEST_PAYMENTS, {"POST": op(sandbox.create, write)})
    routes.add(Path.EVENTS, {"GET": op(event_stream.get, read)})
    routes.add(Path.CANCEL, {"POST": op(cancel, write)})
    routes.add(Path.REVIEWS, {"GET": op(reviews.get_list, write)})
    routes.add(Path.REVIEW, {"GET": op(reviews.get_one, write)})
    routes.add(Path.REVIEW_APPROVE, {"POST": op(review_decisions.approve, write)})
    routes.add(Path.REVIEW_REJECT, {"POST": op(review_decisions.reject, write)})
    routes.add(Path.APPROVED_PAYERS, {"GET": op(approved_payers.get_list, read)})
    payer = {"GET": op(approved_payers.get_one, read), "DELETE": op(approved_payers.revoke, write)}
    routes.add(Path.APPROVED_PAYER, payer)


def _add_access(routes: Routes) -> None:
    routes.add(Path.LOGIN, {"POST": public(login.login)})
    routes.add(Path.PASSWORD, {"POST": op(login.change_password)})
    routes.add(Path.KEYS, {"GET": op(keys.get_list), "POST": op(keys.create)})
    routes.add(Path.KEY, {"GET": op(keys.get_one), "DELETE": op(keys.revoke)})
    routes.add(Path.KEY_ROTATE, {"POST": op(keys.rotate)})
    routes.add(Path.LOCAL_PASSWORD, {"POST": op(login.set_password)}, local=True)


def _add_open_collections(routes: Routes) -> None:
    read, manage = Key.PAYMENT_METHODS_READ, Key.PAYMENT_METHODS_MANAGE
    webhooks = Key.WEBHOOKS_MANAGE
    routes.add(Path.SIMS, {"GET": op(payment_methods.get_sims, read)})
    routes.add(
        Path.PAYMENT_METHODS,
        {
            "GET": op(payment_methods.get_list, read),
            "POST": op(payment_methods.create, manage),
        },
    )
    routes.add(
        Path.PAYMENT_METHOD,
        {
            "GET": op(payment_methods.get_one, read),
            "PATCH": op(payment_methods.move, manage),
            "DELETE": op(payment_methods.delete, manage),
        },
    )
    routes.add(Path.CLAIM_UNPLACED, {"POST": op(payment_methods.claim_unplaced, manage)})
    routes.add(Path.LINES, {"GET": op(lines.get, webhooks, read)})
    routes.add(
        Path.ENDPOINTS,
        {"GET": op(endpoints.get_list, webhooks), "POST": op(endpoints.create, webhooks)},
    )
    routes.add(
        Path.ENDPOINT,
        {
            "GET": op(endpoints.get_one, webhooks),
            "PUT": op(endpoint_changes.update, webhooks),
            "DELETE": op(endpoint_changes.delete, webhooks),
        },
    )
    routes.add(Path.ENDPOINT_TEST, {"POST": op(endpoint_test.test, webhooks)})
    # No scope: no key may, and each of these says so itself.
    routes.add(Path.ENDPOINT_SECRET, {"POST": op(webhook_secrets.reveal_endpoint)})
    routes.add(Path.ENDPOINT_ROTATE, {"POST": op(webhook_secrets.rotate_endpoint)})
    routes.add(Path.ACCOUNT_SECRET, {"POST": op(webhook_secrets.reveal_account)})
    routes.add(Path.ACCOUNT_ROTATE, {"POST": op(webhook_secrets.rotate_account)})
    routes.add(
        Path.RULES, {"GET": op(rules.get_list, webhooks), "POST": op(rules.create, webhooks)}
    )
    routes.add(Path.RULE, {"PUT": op(rules.update, webhooks), "DELETE": op(rules.delete, webhooks)})
    routes.add(Path.RULES_TEST, {"POST": op(rules.test, webhooks)})
    routes.add(Path.ROUTING, {"GET": op(routing.get, webhooks)})
    routes.add(Path.DELIVERIES, {"GET": op(deliveries.get_list, webhooks)})
    routes.add(Path.DELIVERY, {"GET": op(deliveries.get_one, webhooks)})
    routes.add(Path.DELIVERY_ATTEMPTS, {"GET": op(deliveries.get_attempts, webhooks)})
    routes.add(Path.REDELIVER, {"POST": op(redeliver.redeliver, webhooks)})
    routes.add(Path.GAP, {"GET": op(gap.get_list, webhooks)})
    routes.add(Path.REPLAY, {"POST": op(replay.replay, webhooks)})
    routes.add(Path.DEAD_LETTERS, {"GET": op(dead_letters.get_list, webhooks)})
    # Before the path that takes any word for an id.
    routes.add(Path.DEAD_LETTERS_REPLAY, {"POST": op(dead_letters.replay_batch, webhooks)})
    routes.add(Path.DEAD_LETTER, {"GET": op(dead_letters.get_one, webhooks)})
    routes.add(Path.DEAD_LETTER_REPLAY, {"POST": op(dead_letters.replay, webhooks)})


def _add_local(routes: Routes) -> None:
    routes.add(Path.LOCAL_SIM_PIN, {"POST": op(local_sims.store)}, local=True)
    routes.add(Path.LOCAL_SIM_UNTOLD, {"POST": op(local_sims.know_untold)}, local=True)
    routes.add(Path.METRICS, {"GET": public(metrics.get)})
    routes.add(Path.LOCAL_STATUS, {"GET": op(local_status.get)}, local=True)
    routes.add(Path.LOCAL_DOCTOR, {"GET": op(local_doctor.get)}, local=True)
    routes.add(Path.LOCAL_LOGS, {"GET": op(local_logs.get_list)}, local=True)
    routes.add(Path.LOCAL_MODEMS, {"GET": op(local_modems.get_list)}, local=True)
    modem = {"GET": op(local_modems.get_one), "PATCH": op(local_modems.rename)}
    routes.add(Path.LOCAL_MODEM, modem, local=True)
    routes.add(Path.LOCAL_MODEM_TEST, {"POST": op(local_modems.test)}, local=True)
    routes.add(Path.LOCAL_MODEM_TEXTS, {"POST": op(local_modem_texts.send)}, local=True)
    routes.add(Path.LOCAL_MODEM_TEXT, {"GET": op(local_modem_texts.get_one)}, local=True)
    routes.add(Path.LOCAL_MESSAGES, {"GET": op(local_messages.get_list)}, local=True)
    routes.add(Path.LOCAL_REPARSE, {"POST": op(local_messages.reparse)}, local=True)
    routes.add(Path.LOCAL_IMPORT, {"POST": op(local_import.import_batch)}, local=True)
    routes.add(Path.LOCAL_MESSAGE, {"GET": op(local_messages.get_one)}, local=True)
    confirm = {"POST": op(local_templates.confirm)}
    routes.add(Path.LOCAL_MESSAGE_CONFIRM, confirm, local=True)
    routes.add(Path.LOCAL_TEMPLATES, {"GET": op(local_templates.get_list)}, local=True)
    routes.add(Path.LOCAL_LISTEN, {"POST": op(local_listen.create)}, local=True)
    routes.add(Path.LOCAL_LISTENER, {"POST": op(local_listen.stream)}, local=True)
    routes.add(Path.LOCAL_LISTENER_OUTCOMES, {"POST": op(local_listen.settle)}, local=True)
    routes.add(Path.LOCAL_DELIVERY_SIGNED, {"POST": op(local_delivery.sign)}, local=True)
    routes.add(Path.LOCAL_CHECKOUT, {"GET": op(local_checkout.get)}, local=True)
    routes.add(Path.LOCAL_REPORT, {"GET": op(local_report.get)}, local=True)
    routes.add(Path.LOCAL_REPORT_MAIL, {"POST": op(local_report.mail)}, local=True)
    routes.add(Path.LOCAL_STATEMENT, {"POST": op(local_statement.compare)}, local=True)
    routes.add(Path.LOCAL_EXPORT, {"GET": op(local_export.get)}, local=True)
    prune = {"GET": op(local_prune.survey), "POST": op(local_prune.prune)}
    routes.add(Path.LOCAL_PRUNE, prune, local=True)
    routes.add(Path.LOCAL_PAYER, {"POST": op(local_payer.export)}, local=True)
    routes.add(Path.LOCAL_PAYER_FORGET, {"POST": op(local_payer.forget)}, local=True)
    routes.add(Path.LOCAL_SHUTDOWN, {"POST": op(local_control.shutdown)}, local=True)
    routes.add(Path.LOCAL_NOTICES, {"GET": op(local_notices.get_list)}, local=True)
    routes.add(Path.LOCAL_NOTICES_SEEN, {"POST": op(local_notices.see)}, local=True)
    routes.add(Path.LOCAL_NOTICES_TEST, {"POST": op(local_notices.test)}, local=True)
    routes.add(Path.LOCAL_SMTP_PASSWORD, {"POST": op(local_notices.set_password)}, local=True)
    routes.add(Path.LOCAL_SETUP, {"POST": op(local_control.setup)}, local=True)


def _add_description(routes: Routes) -> None:
    description = Description(routes)
    routes.add(Path.OPENAPI, {"GET": public(description.document)})
    routes.add(Path.DOCS, {"GET": public(description.page)})


def _with_pages(app: ASGIApp, pages: Site | None) -> ASGIApp:
    """Let the pages serve what is theirs: they know no callers, and answer people, not programs."""
    if pages is None:
        return app

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        await (pages if scope["path"].startswith(checkout.ROOT) else app)(scope, receive, send)

    return choose


def _with_health(app: ASGIApp, env: Env) -> ASGIApp:
    """Answer `/healthz` to anybody, before anything asks who calls: 503 while a worker hangs."""
    good = ok({"status": "ok", "version": VERSION}).body

    async def healthy(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != Path.HEALTH:
            await app(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD"):
            if not (late := env.late()):
                await Reply(200, good).send(send)
                return
            workers = [{"worker": name, "late_s": round(s)} for name, s in late.items()]
            told = {"status": "hung", "version": VERSION, "hung": workers}
            await Reply(503, dump({"success": False, "data": told})).send(send)
        else:
            raise Refusal(ErrorCode.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})

    return healthy


def _hosts(env: Env) -> frozenset[str]:
    """Return the names under which we are served: loopback, where we listen, and what customers see."""
    bound = urlsplit(f"//{env.address}").hostname
    public = urlsplit(env.config.http.public_base_url).hostname
    return LOOPBACK_NAMES | {name for name in (bound, public) if name}
