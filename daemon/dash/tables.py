"""The table of all pages and the table of all actions. Any other address is not found.

The menu, the rights, the live updates, the footers and the tests of every role are made from these rows.
"""

from typing import Final

from daemon.core.access.callers import COUNTER, EVERYBODY, MANAGERS, OWNER, READERS, Operation
from daemon.dash.pages.access import account, keys, login, users
from daemon.dash.pages.books import day, statement
from daemon.dash.pages.lines import lines, unplaced
from daemon.dash.pages.messages import import_messages, messages
from daemon.dash.pages.payments import now, payments, poster, review, till, transactions
from daemon.dash.pages.upkeep import first_run, health, journal, settings
from daemon.dash.pages.webhooks import dead_letters, deliveries, endpoints, replay, routes, rules
from daemon.dash.web.table import Action, DashPage

_INIT: Final = "momo init AMOUNT --phone NUMBER --qr"
_LIVE: Final = ("now", "review", "line", "delivery")

PAGES: Final[tuple[DashPage, ...]] = (
    # Before the login
    DashPage("/dash/login", "login", EVERYBODY, login.show, public=True, command="momo open"),
    DashPage(
        "/dash/login/code", "login", EVERYBODY, login.show_code, public=True, command="momo open"
    ),
    DashPage("/dash/enter", "login", EVERYBODY, login.enter, public=True, command="momo open"),
    # Counter
    DashPage(
        "/dash",
        "now",
        EVERYBODY,
        now.show,
        "counter",
        _LIVE,
        shared=True,
        command="momo status && momo today",
    ),
    DashPage("/dash/till", "till", COUNTER, till.show, "counter", command=_INIT),
    DashPage(
        "/dash/till/screen",
        "till_screen",
        COUNTER,
        till.show_screen,
        live=("now", "review"),
        bare=True,
        command="momo open --page till/screen",
    ),
    DashPage(
        "/dash/till/{id}",
        "till",
        COUNTER,
        till.show_order,
        live=("now", "review"),
        command="momo tx wait {id}",
    ),
    DashPage(
        "/dash/till/{id}/receipt",
        "receipt",
        COUNTER,
        till.show_receipt,
        command="momo tx show {id}",
    ),
    DashPage(
        "/dash/poster",
        "poster",
        EVERYBODY,
        poster.show,
        "counter",
        command="momo open --page poster",
    ),
    DashPage(
        "/dash/review",
        "review",
        EVERYBODY,
        review.show_queue,
        "counter",
        ("review",),
        "momo review list",
    ),
    DashPage(
        "/dash/review/{id}",
        "review",
        EVERYBODY,
        review.show_one,
        live=("review",),
        command="momo review show {id}",
    ),
    DashPage(
        "/dash/reviews",
        "reviews",
        EVERYBODY,
        review.show_list,
        live=("review",),
        command="momo review list --all",
    ),
    # Money
    DashPage(
        "/dash/payments",
        "payments",
        EVERYBODY,
        payments.show_list,
        "money",
        ("now",),
        "momo watch",
    ),
    DashPage(
        "/dash/payments/{id}",
        "payment",
        EVERYBODY,
        payments.show_one,
        live=("now",),
        command="momo messages list",
    ),
    DashPage(
        "/dash/transactions",
        "transactions",
        EVERYBODY,
        transactions.show_list,
        "money",
        ("now",),
        "momo tx list",
    ),
    DashPage(
        "/dash/transactions/{id}",
        "transaction",
        EVERYBODY,
        transactions.show_one,
        live=("now", "review", "delivery"),
        command="momo tx show {id} --events",
    ),
    # Webhooks
    DashPage(
        "/dash/webhooks",
        "webhooks",
        READERS,
        endpoints.show_list,
        "webhooks",
        ("delivery",),
        "momo endpoints list",
    ),
    DashPage(
        "/dash/webhooks/new",
        "hook_new",
        MANAGERS,
        endpoints.show_new,
        command="momo endpoints add URL",
    ),
    DashPage(
        "/dash/webhooks/{id}",
        "webhooks",
        READERS,
        endpoints.show_one,
        live=("delivery",),
        command="momo endpoints show {id}",
    ),
    DashPage(
        "/dash/webhooks/{id}/edit",
        "hook_edit",
        MANAGERS,
        endpoints.show_edit,
        command="momo endpoints update {id}",
    ),
    DashPage(
        "/dash/webhooks/{id}/delete",
        "hook_delete",
        MANAGERS,
        endpoints.show_delete,
        command="momo endpoints delete {id}",
    ),
    DashPage(
        "/dash/webhooks/{id}/secret",
        "secret",
        OWNER,
        endpoints.show,
        command="momo endpoints reveal {id}, momo endpoints rotate {id}",
    ),
    DashPage(
        "/dash/webhooks/{id}/rules/new",
        "rule_new",
        MANAGERS,
        rules.show_new,
        command="momo endpoints rules add {id} FIELD OP VALUE",
    ),
    DashPage(
        "/dash/webhooks/{id}/rules/{rule}",
        "rule_edit",
        MANAGERS,
        rules.show_one,
        command="momo endpoints rules update {id} {rule} FIELD OP VALUE",
    ),
    DashPage(
        "/dash/webhooks/{id}/deliveries",
        "deliveries",
        READERS,
        deliveries.show_list_of_endpoint,
        live=("delivery",),
        command="momo deliveries list --endpoint {id}",
    ),
    DashPage(
        "/dash/deliveries",
        "deliveries",
        READERS,
        deliveries.show_list,
        "webhooks",
        ("delivery",),
        "momo deliveries list",
    ),
    DashPage(
        "/dash/deliveries/{id}",
        "delivery",
        READERS,
        deliveries.show_one,
        live=("delivery",),
        command="momo deliveries show {id} --attempts",
    ),
    DashPage(
        "/dash/dead-letters",
        "dead_letters",
        READERS,
        dead_letters.show_list,
        "webhooks",
        ("delivery",),
        command="momo dead-letters list",
    ),
    DashPage(
        "/dash/dead-letters/of/{id}/{kind}",
        "dead_letters",
        READERS,
        dead_letters.show_kind,
        live=("delivery",),
        command="momo dead-letters list",
    ),
    DashPage(
        "/dash/dead-letters/{id}",
        "dead_letter",
        READERS,
        dead_letters.show_one,
        command="momo dead-letters show {id}",
    ),
    DashPage(
        "/dash/replay",
        "replay",
        READERS,
        replay.show,
        "webhooks",
        ("delivery",),
        command="momo replay --gap --endpoint ID, momo replay --endpoint ID --from TIME --dry-run",
    ),
    DashPage(
        "/dash/routes", "route", READERS, routes.show, "webhooks", command="momo tx routes REF"
    ),
    # Lines
    DashPage("/dash/lines", "lines", READERS, lines.show_list, "lines", ("line",), "momo lines"),
    DashPage(
        "/dash/lines/{id}",
        "line",
        READERS,
        lines.show_one,
        live=("line",),
        command="momo lines centres {id}",
    ),
    DashPage(
        "/dash/unplaced",
        "unplaced_title",
        READERS,
        unplaced.show_list,
        "lines",
        ("now", "line"),
        "momo lines",
    ),
    DashPage(
        "/dash/unplaced/{id}",
        "claim",
        MANAGERS,
        unplaced.show_claim,
        command="momo claim {id} --dry-run",
    ),
    DashPage(
        "/dash/messages",
        "messages",
        READERS,
        messages.show_list,
        "lines",
        ("now",),
        "momo messages list",
    ),
    DashPage(
        "/dash/messages/import",
        "import_messages",
        MANAGERS,
        import_messages.show,
        command="momo messages import --paste --line NUMBER",
    ),
    DashPage(
        "/dash/messages/{id}",
        "message",
        READERS,
        messages.show_one,
        command="momo messages show {id} --show-body",
    ),
    # Books
    DashPage(
        "/dash/day", "day_sheet", READERS, day.show, "books", ("now",), "momo today --by hour"
    ),
    DashPage(
        "/dash/statement",
        "statement",
        MANAGERS,
        statement.show,
        "books",
        command="momo data statement FILE.csv --line NUMBER",
    ),
    # Upkeep
    DashPage(
        "/dash/settings",
        "settings",
        READERS,
        settings.show_list,
        "upkeep",
        command="momo config show",
    ),
    DashPage(
        "/dash/settings/{id}",
        "setting",
        READERS,
        settings.show_one,
        command="momo config set {id} VALUE",
    ),
    DashPage(
        "/dash/journal",
        "journal_page",
        READERS,
        journal.show,
        "upkeep",
        command="momo data export audit",
    ),
    DashPage(
        "/dash/health",
        "health",
        READERS,
        health.show,
        "upkeep",
        command="momo doctor, momo backup list",
    ),
    DashPage("/dash/health/checks", "checks", MANAGERS, health.show_checks, command="momo doctor"),
    DashPage("/dash/users", "users", OWNER, users.show_list, "upkeep", command="momo users list"),
    DashPage(
        "/dash/users/{id}",
        "user",
        OWNER,
        users.show_one,
        command="momo users role {id} ROLE, momo users disable {id}, momo users reset {id}",
    ),
    DashPage("/dash/keys", "keys", OWNER, keys.show_list, "upkeep", command="momo keys list"),
    DashPage("/dash/keys/{id}", "key", OWNER, keys.show_one, command="momo keys show {id}"),
    DashPage(
        "/dash/first",
        "first_run",
        OWNER,
        first_run.show,
        live=("now", "review", "line", "delivery"),
        command="momo setup",
    ),
    DashPage("/dash/account", "account", EVERYBODY, account.show, command="momo users list"),
    DashPage(
        "/dash/account/second-factor",
        "second_factor",
        EVERYBODY,
        account.show_second_factor,
        command="momo users reset NAME --second-factor",
    ),
)

ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "/dash/review/{id}/approve",
        Operation.DECIDE_REVIEW,
        review.approve,
        "momo review approve {id}",
    ),
    Action(
        "/dash/review/{id}/reject",
        Operation.DECIDE_REVIEW,
        review.reject,
        "momo review reject {id} --reason TEXT",
    ),
    Action(
        "/dash/lines/{id}/name", Operation.MANAGE_LINES, lines.name, "momo phones name MODEM NAME"
    ),
    Action(
        "/dash/lines/{id}/assign",
        Operation.MANAGE_LINES,
        lines.assign,
        "momo lines update NUMBER --sim {id}",
    ),
    Action(
        "/dash/lines/{id}/clear",
        Operation.MANAGE_LINES,
        lines.clear,
        "momo lines update NUMBER --sim none",
    ),
    Action("/dash/lines/{id}/pin", Operation.MANAGE_LINES, lines.pin, "momo lines pin {id}"),
    Action("/dash/lines/{id}/test", Operation.MANAGE_LINES, lines.test, "momo phones test MODEM"),
    Action(
        "/dash/lines/{id}/text",
        Operation.MANAGE_LINES,
        lines.send_text,
        "momo phones test MODEM --send-to NUMBER",
    ),
    Action(
        "/dash/lines/{id}/test-payment",
        Operation.MANAGE_LINES,
        lines.test_payment,
        "momo lines test-payment {id}",
    ),
    Action(
        "/dash/lines/{id}/ignore", Operation.MANAGE_LINES, lines.ignore, "momo lines ignore {id}"
    ),
    Action(
        "/dash/lines/{id}/acknowledge",
        Operation.MANAGE_LINES,
        lines.acknowledge,
        "momo lines acknowledge {id}",
    ),
    Action("/dash/unplaced/{id}/claim", Operation.MANAGE_LINES, unplaced.claim, "momo claim {id}"),
    Action(
        "/dash/messages/all/reparse",
        Operation.MANAGE_MESSAGES,
        messages.read_all_again,
        "momo messages reparse",
    ),
    Action(
        "/dash/messages/import/paste",
        Operation.MANAGE_MESSAGES,
        import_messages.paste,
        "momo messages import --paste --line NUMBER",
    ),
    Action(
        "/dash/messages/import/backup",
        Operation.MANAGE_MESSAGES,
        import_messages.backup,
        "momo messages import FILE --line NUMBER",
    ),
    Action(
        "/dash/messages/{id}/reparse",
        Operation.MANAGE_MESSAGES,
        messages.read_again,
        "momo messages reparse",
    ),
    Action(
        "/dash/messages/{id}/confirm",
        Operation.MANAGE_MESSAGES,
        messages.confirm,
        "momo messages templates confirm {id}",
    ),
    Action(
        "/dash/messages/{id}/unconfirm",
        Operation.MANAGE_MESSAGES,
        messages.unconfirm,
        "momo messages templates list",
    ),
    Action("/dash/login", None, login.log_in),
    Action("/dash/login/code", None, login.send_code),
    Action("/dash/logout", Operation.OWN_ACCOUNT, login.log_out),
    Action(
        "/dash/till", Operation.CREATE_TRANSACTION, till.make, "momo init AMOUNT --phone NUMBER"
    ),
    Action(
        "/dash/till/{id}/cancel", Operation.CANCEL_TRANSACTION, till.cancel, "momo tx cancel {id}"
    ),
    Action(
        "/dash/payments/{id}/reconcile",
        Operation.RECONCILE,
        payments.reconcile,
        "momo reconcile REF ID",
    ),
    Action(
        "/dash/transactions/{id}/cancel",
        Operation.CANCEL_TRANSACTION,
        transactions.cancel,
        "momo tx cancel {id}",
    ),
    Action(
        "/dash/transactions/{id}/renew",
        Operation.CREATE_TRANSACTION,
        transactions.renew,
        "momo tx replace {id}",
    ),
    Action(
        "/dash/transactions/{id}/reconcile",
        Operation.RECONCILE,
        transactions.reconcile,
        "momo reconcile {id} ID",
    ),
    Action(
        "/dash/transactions/{id}/send",
        Operation.SEND_CODE,
        transactions.send_again,
        "momo tx send-code {id}",
    ),
    Action(
        "/dash/account/password",
        Operation.OWN_ACCOUNT,
        account.change_password,
        "momo users reset NAME",
    ),
    Action(
        "/dash/account/sessions/{id}/end",
        Operation.OWN_ACCOUNT,
        account.end_session,
        "momo users reset NAME",
    ),
    Action("/dash/account/second-factor/on", Operation.OWN_ACCOUNT, account.switch_on),
    Action(
        "/dash/account/second-factor/off",
        Operation.OWN_ACCOUNT,
        account.switch_off,
        "momo users reset NAME --second-factor",
    ),
    Action("/dash/account/language", Operation.OWN_ACCOUNT, account.set_language),
    Action(
        "/dash/webhooks/new", Operation.MANAGE_WEBHOOKS, endpoints.create, "momo endpoints add URL"
    ),
    Action(
        "/dash/webhooks/{id}/edit",
        Operation.MANAGE_WEBHOOKS,
        endpoints.edit,
        "momo endpoints update {id}",
    ),
    Action(
        "/dash/webhooks/{id}/pause",
        Operation.MANAGE_WEBHOOKS,
        endpoints.pause,
        "momo endpoints pause {id}",
    ),
    Action(
        "/dash/webhooks/{id}/resume",
        Operation.MANAGE_WEBHOOKS,
        endpoints.resume,
        "momo endpoints resume {id}",
    ),
    Action(
        "/dash/webhooks/{id}/test",
        Operation.MANAGE_WEBHOOKS,
        endpoints.test,
        "momo endpoints test {id}",
    ),
    Action(
        "/dash/webhooks/{id}/delete",
        Operation.MANAGE_WEBHOOKS,
        endpoints.delete,
        "momo endpoints delete {id}",
    ),
    Action(
        "/dash/webhooks/{id}/secret/reveal",
        Operation.MANAGE_SECRETS,
        endpoints.reveal,
        "momo endpoints reveal {id}",
    ),
    Action(
        "/dash/webhooks/{id}/secret/rotate",
        Operation.MANAGE_SECRETS,
        endpoints.rotate,
        "momo endpoints rotate {id}",
    ),
    Action(
        "/dash/webhooks/{id}/rules/new",
        Operation.MANAGE_WEBHOOKS,
        rules.create,
        "momo endpoints rules add {id} FIELD OP VALUE",
    ),
    Action(
        "/dash/webhooks/{id}/rules/{rule}",
        Operation.MANAGE_WEBHOOKS,
        rules.change,
        "momo endpoints rules update {id} {rule} FIELD OP VALUE",
    ),
    Action(
        "/dash/webhooks/{id}/rules/{rule}/remove",
        Operation.MANAGE_WEBHOOKS,
        rules.remove,
        "momo endpoints rules remove {id} {rule}",
    ),
    Action(
        "/dash/deliveries/{id}/redeliver",
        Operation.RESEND,
        deliveries.redeliver,
        "momo deliveries redeliver {id}",
    ),
    Action(
        "/dash/deliveries/{id}/curl", Operation.RESEND, deliveries.curl, "momo deliveries curl {id}"
    ),
    Action(
        "/dash/dead-letters/of/{id}/{kind}/all",
        Operation.RESEND,
        dead_letters.replay_kind,
        "momo dead-letters replay",
    ),
    Action(
        "/dash/dead-letters/of/{id}/{kind}/marked",
        Operation.RESEND,
        dead_letters.replay_marked,
        "momo dead-letters replay ID",
    ),
    Action(
        "/dash/dead-letters/{id}/replay",
        Operation.RESEND,
        dead_letters.replay_one,
        "momo dead-letters replay {id}",
    ),
    Action(
        "/dash/dead-letters/{id}/dismiss",
        Operation.RESEND,
        dead_letters.dismiss,
        "momo dead-letters dismiss {id}",
    ),
    Action("/dash/replay", Operation.RESEND, replay.start, "momo replay --endpoint ID --from TIME"),
    Action(
        "/dash/day/mail", Operation.MAIL_REPORT, day.mail, "momo report --yesterday --mail ADDRESS"
    ),
    Action(
        "/dash/statement",
        Operation.COMPARE_STATEMENT,
        statement.compare,
        "momo data statement FILE.csv --line NUMBER",
    ),
    Action("/dash/first/shop", Operation.MANAGE_USERS, first_run.begin, "momo users password"),
    Action("/dash/users", Operation.MANAGE_USERS, users.add, "momo users add NAME ROLE"),
    Action(
        "/dash/users/{id}",
        Operation.MANAGE_USERS,
        users.change,
        "momo users role {id} ROLE, momo users disable {id}, momo users reset {id}",
    ),
    Action(
        "/dash/users/{id}/sessions/end",
        Operation.MANAGE_USERS,
        users.end_session,
        "momo users reset {id}",
    ),
    Action("/dash/keys", Operation.MANAGE_KEYS, keys.create, "momo keys create --name NAME"),
    Action(
        "/dash/keys/{id}",
        Operation.MANAGE_KEYS,
        keys.change,
        "momo keys rotate {id}, momo keys revoke {id}",
    ),
    Action("/dash/health/backups", Operation.BACK_UP, health.make_backup, "momo backup create"),
    Action(
        "/dash/health/backups/check",
        Operation.BACK_UP,
        health.check_backup,
        "momo backup verify NAME --drill",
    ),
    Action(
        "/dash/settings/{id}",
        Operation.CHANGE_SETTINGS,
        settings.change,
        "momo config set {id} VALUE",
    ),
    Action(
        "/dash/settings/mail/password",
        Operation.MANAGE_SECRETS,
        settings.set_mail_password,
        "momo notices password",
    ),
    Action(
        "/dash/settings/notices/test",
        Operation.MANAGE_NOTICES,
        settings.test_notices,
        "momo notices test",
    ),
)
