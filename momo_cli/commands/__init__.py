"""The table of commands: name -> (module, summary, panel). Help is made from it and imports none."""

from typing import Final, NamedTuple


class Info(NamedTuple):
    """Where a command lives, and its line in the help."""

    module: str
    summary: str
    panel: str


_ROOM: Final = "momo_cli.commands."
DAY, LINES, HOOKS, CARE = "Every day", "Lines", "Webhooks", "Care"
PANELS: Final = (DAY, LINES, HOOKS, CARE)

COMMANDS: Final[dict[str, Info]] = {
    "init": Info(_ROOM + "init", "Ask a customer for money", DAY),
    "reconcile": Info(_ROOM + "reconcile", "Match a payment to an order by its ID", DAY),
    "tx list": Info(_ROOM + "tx_list", "List orders", DAY),
    "tx show": Info(_ROOM + "tx_show", "Show one order", DAY),
    "tx watch": Info(_ROOM + "tx_watch", "Show what happens to orders, as it happens", DAY),
    "tx wait": Info(_ROOM + "tx_wait", "Wait until an order is paid", DAY),
    "tx cancel": Info(_ROOM + "tx_cancel", "Give up an order that nobody has paid", DAY),
    "open": Info(_ROOM + "open", "Show the page that the customer of an order sees", DAY),
    "review list": Info(_ROOM + "review_list", "List what waits for you to decide", DAY),
    "review show": Info(_ROOM + "review_show", "Show one of them with all that is known", DAY),
    "review approve": Info(_ROOM + "review_approve", "Let a doubtful payment count", DAY),
    "review reject": Info(_ROOM + "review_reject", "Let a doubtful payment count for nothing", DAY),
    "payers list": Info(_ROOM + "payers_list", "List names approved for a number", DAY),
    "payers revoke": Info(_ROOM + "payers_revoke", "Ask again about such a name", DAY),
    "messages list": Info(_ROOM + "messages_list", "List the SMS that came in", DAY),
    "messages show": Info(_ROOM + "messages_show", "Show one SMS and what was read in it", DAY),
    "messages reparse": Info(_ROOM + "messages_reparse", "Read unread SMS again", DAY),
    "messages import": Info(_ROOM + "messages_import", "Take in an old phone's SMS", DAY),
    "messages sample": Info(_ROOM + "messages_sample", "Make a sample for the maintainers", DAY),
    "parse": Info(_ROOM + "parse", "Say what a pasted message says", DAY),
    "notices list": Info(_ROOM + "notices_list", "List what you have to know", DAY),
    "notices seen": Info(_ROOM + "notices_seen", "Note that you have seen them", DAY),
    "notices test": Info(_ROOM + "notices_test", "Send yourself a test", DAY),
    "notices password": Info(_ROOM + "notices_password", "Keep the mail password", DAY),
    "watch": Info(_ROOM + "watch", "Show payments as they come, on a whole screen", DAY),
    "today": Info(_ROOM + "today", "Show the sheet of the day, tied out with the wallet", DAY),
    "report": Info(_ROOM + "report", "Show or mail the sheet of any time", DAY),
    "status": Info(_ROOM + "status", "Show how everything is", DAY),
    "lines": Info(_ROOM + "lines", "Show phones, SIMs and the numbers on them", LINES),
    "modems list": Info(_ROOM + "modems_list", "List the modems and how they fare", LINES),
    "modems show": Info(_ROOM + "modems_show", "Show one modem and what is wrong with it", LINES),
    "modems test": Info(_ROOM + "modems_test", "Ask a modem now whether all is well", LINES),
    "modems release": Info(_ROOM + "modems_release", "Have ModemManager let go of a modem", LINES),
    "modems name": Info(_ROOM + "modems_name", "Give a modem a name of your own", LINES),
    "sims list": Info(_ROOM + "sims_list", "List SIMs to choose from", LINES),
    "sims pin": Info(_ROOM + "sims_pin", "Keep the PIN of a SIM, sealed", LINES),
    "sims acknowledge": Info(
        _ROOM + "sims_acknowledge", "Say that you know of money no message told of", LINES
    ),
    "sims assign": Info(_ROOM + "sims_assign", "Put a number on a SIM", LINES),
    "sims clear": Info(_ROOM + "sims_clear", "Take the number off a SIM", LINES),
    "methods add": Info(_ROOM + "methods_add", "Register a number that takes money", LINES),
    "methods list": Info(_ROOM + "methods_list", "List the registered numbers", LINES),
    "methods show": Info(_ROOM + "methods_show", "Show one number", LINES),
    "methods update": Info(
        _ROOM + "methods_update", "Move a number to another SIM, or off it", LINES
    ),
    "methods remove": Info(_ROOM + "methods_remove", "Take a number away", LINES),
    "claim": Info(_ROOM + "claim", "Give a number the payments that had none", LINES),
    "endpoints add": Info(_ROOM + "endpoints_add", "Send payments to an address", HOOKS),
    "endpoints list": Info(_ROOM + "endpoints_list", "List the addresses", HOOKS),
    "endpoints show": Info(_ROOM + "endpoints_show", "Show one address and how it is doing", HOOKS),
    "endpoints update": Info(_ROOM + "endpoints_update", "Change an address or its label", HOOKS),
    "endpoints pause": Info(_ROOM + "endpoints_pause", "Stop sending to an address", HOOKS),
    "endpoints resume": Info(_ROOM + "endpoints_resume", "Send again, what waits first", HOOKS),
    "endpoints delete": Info(_ROOM + "endpoints_delete", "Give up an address for good", HOOKS),
    "endpoints test": Info(_ROOM + "endpoints_test", "Send made-up data to an address", HOOKS),
    "endpoints reveal": Info(_ROOM + "endpoints_reveal", "Show the signing secret", HOOKS),
    "endpoints rotate": Info(_ROOM + "endpoints_rotate", "Change the signing secret", HOOKS),
    "rules list": Info(_ROOM + "rules_list", "List what an address claims", HOOKS),
    "rules add": Info(_ROOM + "rules_add", "Let an address claim payments", HOOKS),
    "rules update": Info(_ROOM + "rules_update", "Change a rule", HOOKS),
    "rules remove": Info(_ROOM + "rules_remove", "Take a rule away", HOOKS),
    "rules test": Info(_ROOM + "rules_test", "Say who would get a payment, and why", HOOKS),
    "routes explain": Info(_ROOM + "routes_explain", "Say why a payment went where it went", HOOKS),
    "deliveries list": Info(_ROOM + "deliveries_list", "List what was sent to them", HOOKS),
    "deliveries watch": Info(_ROOM + "deliveries_watch", "Show deliveries as they end", HOOKS),
    "deliveries show": Info(_ROOM + "deliveries_show", "Show one delivery", HOOKS),
    "deliveries attempts": Info(_ROOM + "deliveries_attempts", "List each try of one", HOOKS),
    "deliveries redeliver": Info(_ROOM + "deliveries_redeliver", "Send some again", HOOKS),
    "deliveries curl": Info(_ROOM + "deliveries_curl", "Print a curl command for one", HOOKS),
    "deliveries gap": Info(_ROOM + "deliveries_gap", "List what an address has not got", HOOKS),
    "listen": Info(_ROOM + "listen", "Send test webhooks to a program on this machine", HOOKS),
    "replay": Info(_ROOM + "replay", "Send an address what it should have had", HOOKS),
    "dead-letters list": Info(_ROOM + "dead_letters_list", "List what was given up", HOOKS),
    "dead-letters show": Info(_ROOM + "dead_letters_show", "Show one of them", HOOKS),
    "dead-letters replay": Info(_ROOM + "dead_letters_replay", "Send one of them again", HOOKS),
    "dead-letters replay-batch": Info(
        _ROOM + "dead_letters_replay_batch", "Send many of them again", HOOKS
    ),
    "simulate payment": Info(_ROOM + "simulate_payment", "Make up a payment in the sandbox", CARE),
    "simulate endpoint": Info(
        _ROOM + "simulate_endpoint", "Practise with a receiver that fails", CARE
    ),
    "simulate sms": Info(_ROOM + "simulate_sms", "Make up an SMS in the sandbox", CARE),
    "backup create": Info(_ROOM + "backup_create", "Copy the whole shop into one file", CARE),
    "backup list": Info(_ROOM + "backup_list", "List the copies", CARE),
    "backup verify": Info(_ROOM + "backup_verify", "Look through a copy", CARE),
    "backup prune": Info(_ROOM + "backup_prune", "Remove old copies", CARE),
    "restore": Info(_ROOM + "restore", "Put a copy back", CARE),
    "keys create": Info(_ROOM + "keys_create", "Make an API key", CARE),
    "keys list": Info(_ROOM + "keys_list", "List the API keys", CARE),
    "keys show": Info(_ROOM + "keys_show", "Show one API key", CARE),
    "keys rotate": Info(_ROOM + "keys_rotate", "Follow an API key by a new one", CARE),
    "keys revoke": Info(_ROOM + "keys_revoke", "End an API key at once", CARE),
    "password set": Info(_ROOM + "password_set", "Choose a new owner's password", CARE),
    "templates list": Info(_ROOM + "templates_list", "List your own wordings", CARE),
    "templates check": Info(_ROOM + "templates_check", "Check a file of wordings", CARE),
    "templates learn": Info(_ROOM + "templates_learn", "Propose a wording from messages", CARE),
    "templates confirm": Info(
        _ROOM + "templates_confirm", "Confirm a wording by a genuine message", CARE
    ),
    "verify": Info(_ROOM + "verify", "Say whether a webhook that you got is genuine", HOOKS),
    "statement import": Info(
        _ROOM + "statement_import", "Compare a network's statement with the messages", CARE
    ),
    "export": Info(_ROOM + "export", "Write a whole table out of the shop", CARE),
    "forget": Info(_ROOM + "forget", "Forget a payer who asks for it", CARE),
    "prune": Info(_ROOM + "prune", "Let go of what is too old to keep", CARE),
    "doctor": Info(_ROOM + "doctor", "Look for what is wrong, and say what to type", CARE),
    "setup": Info(_ROOM + "setup", "Set up this machine", CARE),
    "daemon run": Info(_ROOM + "daemon_run", "Run the daemon here, in the foreground", CARE),
    "daemon start": Info(_ROOM + "daemon_start", "Start the daemon in the background", CARE),
    "daemon stop": Info(_ROOM + "daemon_stop", "Stop the daemon", CARE),
    "daemon restart": Info(_ROOM + "daemon_restart", "Stop the daemon and start it again", CARE),
    "daemon status": Info(_ROOM + "daemon_status", "Say whether the daemon runs", CARE),
    "config show": Info(_ROOM + "config_show", "Show the settings", CARE),
    "config get": Info(_ROOM + "config_get", "Show one setting", CARE),
    "config set": Info(_ROOM + "config_set", "Change one setting", CARE),
    "config edit": Info(_ROOM + "config_edit", "Change them in your editor", CARE),
    "config validate": Info(_ROOM + "config_validate", "Check the settings", CARE),
    "config path": Info(_ROOM + "config_path", "Print where the settings are", CARE),
    "logs": Info(_ROOM + "logs", "Show what the daemon did", CARE),
    "upgrade-check": Info(_ROOM + "upgrade_check", "Say what starting this version does", CARE),
    "service install": Info(_ROOM + "service_install", "Have this machine keep momo running", CARE),
    "service uninstall": Info(_ROOM + "service_uninstall", "Take the service away again", CARE),
    "service status": Info(_ROOM + "service_status", "Say how the service is", CARE),
    "service start": Info(_ROOM + "service_start", "Start the service", CARE),
    "service stop": Info(_ROOM + "service_stop", "Stop the service", CARE),
    "service restart": Info(_ROOM + "service_restart", "Stop and start the service", CARE),
    "service logs": Info(_ROOM + "service_logs", "Show the service's journal", CARE),
    "demo": Info(_ROOM + "demo", "See a payment from SMS to webhook, on a pretend phone", CARE),
    "api": Info(_ROOM + "api", "Make any call of the API", CARE),
    "completion": Info(_ROOM + "completion", "Let TAB complete your words", CARE),
    "help": Info(_ROOM + "help", "Explain a command or a topic", CARE),
    "version": Info(_ROOM + "version", "Show the versions", CARE),
}
"""Every command; two words are a group and its verb."""

GROUPS: Final[dict[str, tuple[str, str]]] = {
    "tx": ("Orders: list, show, watch, wait, cancel", DAY),
    "review": ("Payments that wait for you: list, show, approve, reject", DAY),
    "payers": ("Names that you approved for a number: list, revoke", DAY),
    "messages": ("The SMS that came in: list, show, reparse, import, sample", DAY),
    "templates": ("Wordings of your own: list, check, learn, confirm", CARE),
    "modems": ("Modems: list, show, test, release, name", LINES),
    "sims": ("SIM cards: list, assign, clear, pin, acknowledge", LINES),
    "methods": ("The numbers that take money: add, list, show, update, remove", LINES),
    "endpoints": ("Where payments are sent: add, list, show, update, pause, resume, test", HOOKS),
    "rules": ("What each address claims: list, add, update, remove, test", HOOKS),
    "routes": ("Where payments went: explain", HOOKS),
    "deliveries": ("What was sent: list, watch, show, attempts, redeliver, curl, gap", HOOKS),
    "dead-letters": ("What was given up: list, show, replay, replay-batch", HOOKS),
    "simulate": ("The sandbox: payment, sms, endpoint", CARE),
    "backup": ("Copies of the whole shop: create, list, verify, prune", CARE),
    "keys": ("API keys: create, list, show, rotate, revoke", CARE),
    "statement": ("The network's own statement: import", CARE),
    "password": ("The owner's password: set", CARE),
    "notices": ("What you have to know: list, seen, test, password", DAY),
    "config": ("The settings: show, get, set, edit, validate, path", CARE),
    "service": ("momo as a service: install, uninstall, status, start, stop, restart, logs", CARE),
    "daemon": ("The daemon: run, start, stop, restart, status", CARE),
}
"""The first words of two-word commands: summary and panel."""

ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "ls": ("list",),
    "rm": ("delete", "remove", "revoke"),
    "dl": ("dead-letters",),
    "reload": ("restart",),
}
"""Short words, and what each may stand for: the first that its group has."""
