"""The table of all pages and the table of all actions. Any other address is not found.

The menu, the rights, the live updates, the footers and the tests of every role are made from these rows.
"""

from typing import Final

from daemon.core.access.callers import COUNTER, EVERYBODY, MANAGERS, OWNER, READERS
from daemon.core.access.callers import Operation as Op
from daemon.dash.pages.access import account, keys, users
from daemon.dash.pages.books import day, shifts, statement
from daemon.dash.pages.lines import lines
from daemon.dash.pages.messages import messages
from daemon.dash.pages.payments import now, payments, review, search, till, transactions
from daemon.dash.pages.upkeep import first_run, health, journal, menus, settings
from daemon.dash.pages.webhooks import deliveries, endpoints, replay, rules
from daemon.dash.web.visit import Action, Page

# fmt: off
PAGES: Final[tuple[Page, ...]] = (
    # Before the login
    Page("/dash/login", "login", EVERYBODY, account.show_login, "momo open", public=True),
    Page("/dash/login/code", "login", EVERYBODY, account.show_code, "momo open", public=True),
    Page("/dash/enter", "login", EVERYBODY, account.enter, "momo open", public=True),
    # Counter
    Page("/dash", "now", EVERYBODY, now.show, "momo status && momo today", menu="main", live=("now", "review", "line", "delivery"), shared=True, of_branch=True),
    Page("/dash/till", "till", COUNTER, till.show, "momo init AMOUNT --phone NUMBER --qr", menu="main", live=("now", "review"), of_branch=True),
    Page("/dash/till/screen", "till_screen", COUNTER, till.show_screen, "momo open --page till/screen", live=("now", "review"), bare=True, of_branch=True),
    Page("/dash/till/{id}", "till", COUNTER, till.show_order, "momo tx wait {id}", live=("now", "review"), of_branch=True),
    Page("/dash/till/{id}/receipt", "receipt", COUNTER, till.show_receipt, "momo tx show {id}", live=("now",), of_branch=True),
    Page("/dash/poster", "poster", EVERYBODY, till.show_poster, "momo open --page poster", menu="books", menu_roles=READERS),
    Page("/dash/review", "review", EVERYBODY, review.show_queue, "momo review list", menu="main", live=("review",), of_branch=True),
    Page("/dash/review/{id}", "review", EVERYBODY, review.show_one, "momo review show {id}", live=("review",), of_branch=True),
    Page("/dash/reviews", "reviews", EVERYBODY, review.show_list, "momo review list --all", live=("review",), of_branch=True),
    # Money
    Page("/dash/search", "search", EVERYBODY, search.show, "momo tx list --search TEXT", live=("now", "review"), of_branch=True),
    Page("/dash/payments", "payments", EVERYBODY, payments.show_list, "momo watch", menu="main", menu_roles=READERS, live=("now",), of_branch=True),
    Page("/dash/payments/{id}", "payment", EVERYBODY, payments.show_one, "momo messages list", live=("now",), of_branch=True),
    Page("/dash/customers/{id}", "customer", READERS, payments.show_customer, "momo tx list --phone {id}", live=("now",), of_branch=True),
    Page("/dash/transactions", "transactions", EVERYBODY, transactions.show_list, "momo tx list", menu="main", live=("now",), of_branch=True),
    Page("/dash/transactions/{id}", "transaction", EVERYBODY, transactions.show_one, "momo tx show {id} --events", live=("now", "review", "delivery"), of_branch=True),
    # Webhooks
    Page("/dash/webhooks", "webhooks", READERS, endpoints.show_list, "momo endpoints list", menu="webhooks", live=("delivery",)),
    Page("/dash/webhooks/new", "hook_new", MANAGERS, endpoints.show_new, "momo endpoints add URL"),
    Page("/dash/webhooks/{id}", "webhooks", READERS, endpoints.show_one, "momo endpoints show {id}", live=("delivery",)),
    Page("/dash/webhooks/{id}/edit", "hook_edit", MANAGERS, endpoints.show_edit, "momo endpoints update {id}"),
    Page("/dash/webhooks/{id}/delete", "hook_delete", MANAGERS, endpoints.show_delete, "momo endpoints delete {id}"),
    Page("/dash/webhooks/{id}/secret", "secret", OWNER, endpoints.show_secret, "momo endpoints reveal {id}, momo endpoints rotate {id}"),
    Page("/dash/webhooks/{id}/rules/new", "rule_new", MANAGERS, rules.show_new, "momo endpoints rules add {id} FIELD OP VALUE"),
    Page("/dash/webhooks/{id}/rules/{rule}", "rule_edit", MANAGERS, rules.show_one, "momo endpoints rules update {id} {rule} FIELD OP VALUE"),
    Page("/dash/webhooks/{id}/deliveries", "deliveries", READERS, deliveries.show_list, "momo deliveries list --endpoint {id}", live=("delivery",)),
    Page("/dash/deliveries", "deliveries", READERS, deliveries.show_list, "momo deliveries list", menu="webhooks", live=("delivery",)),
    Page("/dash/deliveries/{id}", "delivery", READERS, deliveries.show_one, "momo deliveries show {id} --attempts", live=("delivery",)),
    Page("/dash/dead-letters", "dead_letters", READERS, deliveries.show_faults, "momo dead-letters list", menu="webhooks", live=("delivery",)),
    Page("/dash/dead-letters/of/{id}/{kind}", "dead_letters", READERS, deliveries.show_fault, "momo dead-letters list", live=("delivery",)),
    Page("/dash/dead-letters/{id}", "dead_letter", READERS, deliveries.show_letter, "momo dead-letters show {id}", live=("delivery",)),
    Page("/dash/replay", "replay", READERS, replay.show, "momo replay --gap --endpoint ID, momo replay --endpoint ID --from TIME --dry-run", menu="webhooks", live=("delivery",)),
    Page("/dash/routes", "route", READERS, rules.show_route, "momo tx routes REF", menu="webhooks"),
    # Lines
    Page("/dash/lines", "lines", READERS, lines.show_list, "momo lines", menu="lines", live=("line",)),
    Page("/dash/lines/{id}", "line", READERS, lines.show_one, "momo lines centres {id}", live=("line",)),
    Page("/dash/unplaced", "unplaced_title", READERS, lines.show_unplaced, "momo lines", menu="lines", live=("now", "line")),
    Page("/dash/unplaced/{id}", "claim", MANAGERS, lines.show_claim, "momo claim {id} --dry-run"),
    Page("/dash/messages", "messages", READERS, messages.show_list, "momo messages list", menu="lines", live=("now",)),
    Page("/dash/messages/import", "import_messages", MANAGERS, messages.show_import, "momo messages import --paste --line NUMBER"),
    Page("/dash/messages/{id}", "message", READERS, messages.show_one, "momo messages show {id} --show-body"),
    # Books
    Page("/dash/day", "day_sheet", READERS, day.show, "momo today --by hour", menu="main", live=("now",), of_branch=True),
    Page("/dash/shifts", "shifts", EVERYBODY, shifts.show_list, "momo users shift list", menu="books", menu_roles=READERS, live=("now",)),
    Page("/dash/shifts/{id}", "shift", EVERYBODY, shifts.show_one, "momo users shift show {id}", live=("now",)),
    Page("/dash/statement", "statement", MANAGERS, statement.show, "momo data statement FILE.csv --line NUMBER", menu="books"),
    # Upkeep
    Page("/dash/shop", "menu_shop", READERS, menus.show_shop, "momo status", menu="main"),
    Page("/dash/developers", "menu_developers", READERS, menus.show_developers, "momo endpoints list", menu="main"),
    Page("/dash/settings", "settings", READERS, settings.show_list, "momo config show", menu="upkeep"),
    Page("/dash/settings/{id}", "setting", READERS, settings.show_one, "momo config set {id} VALUE"),
    Page("/dash/journal", "journal_page", READERS, journal.show, "momo data export audit", menu="upkeep"),
    Page("/dash/health", "health", READERS, health.show, "momo doctor, momo backup list", menu="upkeep"),
    Page("/dash/health/checks", "checks", MANAGERS, health.show_checks, "momo doctor"),
    Page("/dash/users", "users", OWNER, users.show_list, "momo users list", menu="upkeep"),
    Page("/dash/users/{id}", "user", OWNER, users.show_one, "momo users role {id} ROLE, momo users disable {id}, momo users reset {id}"),
    Page("/dash/keys", "keys", OWNER, keys.show_list, "momo keys list", menu="webhooks"),
    Page("/dash/keys/{id}", "key", OWNER, keys.show_one, "momo keys show {id}"),
    Page("/dash/first", "first_run", OWNER, first_run.show, "momo setup", live=("now", "review", "line", "delivery")),
    Page("/dash/account", "account", EVERYBODY, account.show, "momo users list", of_branch=True),
    Page("/dash/account/second-factor", "second_factor", EVERYBODY, account.show_second_factor, "momo users reset NAME --second-factor", of_branch=True),
)

ACTIONS: Final[tuple[Action, ...]] = (
    Action("/dash/review/{id}/approve", Op.DECIDE_REVIEW, review.approve, "momo review approve {id}"),
    Action("/dash/review/{id}/reject", Op.DECIDE_REVIEW, review.reject, "momo review reject {id} --reason TEXT"),
    Action("/dash/review/{id}/rest", Op.SETTLE, review.settle, "momo tx settle CODE rest --payment ID"),
    Action("/dash/review/{id}/undo", Op.DECIDE_REVIEW, review.undo, "momo review undo {id}"),
    Action("/dash/lines/{id}/name", Op.MANAGE_LINES, lines.name, "momo phones name MODEM NAME"),
    Action("/dash/lines/{id}/assign", Op.MANAGE_LINES, lines.assign, "momo lines update NUMBER --sim {id}"),
    Action("/dash/lines/{id}/clear", Op.MANAGE_LINES, lines.clear, "momo lines update NUMBER --sim none"),
    Action("/dash/lines/{id}/pin", Op.MANAGE_LINES, lines.pin, "momo lines pin {id}"),
    Action("/dash/lines/{id}/test", Op.MANAGE_LINES, lines.test, "momo phones test MODEM"),
    Action("/dash/lines/{id}/text", Op.MANAGE_LINES, lines.send_text, "momo phones test MODEM --send-to NUMBER"),
    Action("/dash/lines/{id}/test-payment", Op.MANAGE_LINES, lines.test_payment, "momo lines test-payment {id}"),
    Action("/dash/lines/{id}/ignore", Op.MANAGE_LINES, lines.ignore, "momo lines ignore {id}"),
    Action("/dash/lines/{id}/acknowledge", Op.MANAGE_LINES, lines.acknowledge, "momo lines acknowledge {id}"),
    Action("/dash/lines/{id}/wallet", Op.DECIDE_FORGERY, lines.say_wallet, "momo lines wallet NUMBER AMOUNT"),
    Action("/dash/unplaced/{id}/claim", Op.MANAGE_LINES, lines.claim, "momo claim {id}"),
    Action("/dash/messages/all/reparse", Op.MANAGE_MESSAGES, messages.read_all_again, "momo messages reparse"),
    Action("/dash/messages/import/paste", Op.MANAGE_MESSAGES, messages.paste, "momo messages import --paste --line NUMBER"),
    Action("/dash/messages/import/backup", Op.MANAGE_MESSAGES, messages.take_backup, "momo messages import FILE --line NUMBER"),
    Action("/dash/messages/{id}/reparse", Op.MANAGE_MESSAGES, messages.read_again, "momo messages reparse"),
    Action("/dash/messages/{id}/confirm", Op.MANAGE_MESSAGES, messages.confirm_wording, "momo messages templates confirm {id}"),
    Action("/dash/messages/{id}/unconfirm", Op.MANAGE_MESSAGES, messages.unconfirm, "momo messages templates list"),
    Action("/dash/login", None, account.log_in),
    Action("/dash/login/code", None, account.send_code),
    Action("/dash/logout", Op.OWN_ACCOUNT, account.log_out),
    Action("/dash/till", Op.CREATE_TRANSACTION, till.make, "momo init AMOUNT"),
    Action("/dash/till/{id}/cancel", Op.CANCEL_TRANSACTION, till.cancel, "momo tx cancel {id}"),
    Action("/dash/payments/{id}/reconcile", Op.RECONCILE, payments.reconcile, "momo reconcile REF ID"),
    Action("/dash/transactions/{id}/cancel", Op.CANCEL_TRANSACTION, transactions.cancel, "momo tx cancel {id}"),
    Action("/dash/transactions/{id}/settle", Op.SETTLE, transactions.settle, "momo tx settle {id} rest"),
    Action("/dash/transactions/{id}/unsettle", Op.SETTLE_BY_HAND, transactions.take_settlement_back, "momo tx settle {id} --undo"),
    Action("/dash/transactions/{id}/renew", Op.CREATE_TRANSACTION, transactions.renew, "momo tx replace {id}"),
    Action("/dash/transactions/{id}/reconcile", Op.RECONCILE, transactions.reconcile, "momo reconcile {id} ID"),
    Action("/dash/transactions/{id}/send", Op.SEND_CODE, transactions.send_again, "momo tx send-code {id}"),
    Action("/dash/account/password", Op.OWN_ACCOUNT, account.change_password, "momo users reset NAME"),
    Action("/dash/account/sessions/{id}/end", Op.OWN_ACCOUNT, account.end_session, "momo users reset NAME"),
    Action("/dash/account/second-factor/on", Op.OWN_ACCOUNT, account.switch_on),
    Action("/dash/account/second-factor/off", Op.OWN_ACCOUNT, account.switch_off, "momo users reset NAME --second-factor", form="/dash/account"),
    Action("/dash/account/language", Op.OWN_ACCOUNT, account.set_language),
    Action("/dash/account/mode", Op.OWN_ACCOUNT, account.set_mode),
    Action("/dash/webhooks/new", Op.MANAGE_WEBHOOKS, endpoints.create, "momo endpoints add URL"),
    Action("/dash/webhooks/{id}/edit", Op.MANAGE_WEBHOOKS, endpoints.edit, "momo endpoints update {id}"),
    Action("/dash/webhooks/{id}/pause", Op.MANAGE_WEBHOOKS, endpoints.pause, "momo endpoints pause {id}"),
    Action("/dash/webhooks/{id}/resume", Op.MANAGE_WEBHOOKS, endpoints.resume, "momo endpoints resume {id}"),
    Action("/dash/webhooks/{id}/test", Op.MANAGE_WEBHOOKS, endpoints.test, "momo endpoints test {id}"),
    Action("/dash/webhooks/{id}/delete", Op.MANAGE_WEBHOOKS, endpoints.delete, "momo endpoints delete {id}"),
    Action("/dash/webhooks/{id}/secret/reveal", Op.MANAGE_SECRETS, endpoints.reveal, "momo endpoints reveal {id}"),
    Action("/dash/webhooks/{id}/secret/rotate", Op.MANAGE_SECRETS, endpoints.rotate, "momo endpoints rotate {id}"),
    Action("/dash/webhooks/{id}/rules/new", Op.MANAGE_WEBHOOKS, rules.create, "momo endpoints rules add {id} FIELD OP VALUE"),
    Action("/dash/webhooks/{id}/rules/{rule}", Op.MANAGE_WEBHOOKS, rules.change, "momo endpoints rules update {id} {rule} FIELD OP VALUE"),
    Action("/dash/webhooks/{id}/rules/{rule}/remove", Op.MANAGE_WEBHOOKS, rules.remove, "momo endpoints rules remove {id} {rule}"),
    Action("/dash/deliveries/{id}/redeliver", Op.RESEND, deliveries.redeliver, "momo deliveries redeliver {id}"),
    Action("/dash/deliveries/{id}/curl", Op.RESEND, deliveries.curl, "momo deliveries curl {id}"),
    Action("/dash/dead-letters/of/{id}/{kind}/all", Op.RESEND, deliveries.replay_kind, "momo dead-letters replay"),
    Action("/dash/dead-letters/of/{id}/{kind}/marked", Op.RESEND, deliveries.replay_marked, "momo dead-letters replay ID"),
    Action("/dash/dead-letters/{id}/replay", Op.RESEND, deliveries.replay_one, "momo dead-letters replay {id}"),
    Action("/dash/dead-letters/{id}/dismiss", Op.RESEND, deliveries.dismiss, "momo dead-letters dismiss {id}"),
    Action("/dash/replay", Op.RESEND, replay.start, "momo replay --endpoint ID --from TIME"),
    Action("/dash/day/mail", Op.MAIL_REPORT, day.mail, "momo report --yesterday --mail ADDRESS"),
    Action("/dash/shifts", Op.KEEP_SHIFT, shifts.begin, "momo users shift open"),
    Action("/dash/shifts/{id}/close", Op.KEEP_SHIFT, shifts.end, "momo users shift close {id}"),
    Action("/dash/statement", Op.COMPARE_STATEMENT, statement.compare, "momo data statement FILE.csv --line NUMBER"),
    Action("/dash/first/shop", Op.MANAGE_USERS, first_run.begin, "momo users password"),
    Action("/dash/users", Op.MANAGE_USERS, users.add, "momo users add NAME ROLE"),
    Action("/dash/users/{id}", Op.MANAGE_USERS, users.change, "momo users role {id} ROLE, momo users disable {id}, momo users reset {id}"),
    Action("/dash/users/{id}/sessions/end", Op.MANAGE_USERS, users.end_session, "momo users reset {id}"),
    Action("/dash/keys", Op.MANAGE_KEYS, keys.create, "momo keys create --name NAME"),
    Action("/dash/keys/{id}", Op.MANAGE_KEYS, keys.change, "momo keys rotate {id}, momo keys revoke {id}"),
    Action("/dash/health/backups", Op.BACK_UP, health.make_backup, "momo backup create"),
    Action("/dash/health/backups/check", Op.BACK_UP, health.check_backup, "momo backup verify NAME --drill"),
    Action("/dash/settings/{id}", Op.CHANGE_SETTINGS, settings.change, "momo config set {id} VALUE"),
    Action("/dash/settings/restart/now", Op.CHANGE_SETTINGS, settings.restart, "momo daemon restart", form="/dash/settings"),
    Action("/dash/settings/mail/password", Op.MANAGE_SECRETS, settings.set_mail_password, "momo notices password", form="/dash/settings"),
    Action("/dash/settings/notices/test", Op.MANAGE_NOTICES, settings.test_notices, "momo notices test"),
)
# fmt: on
