"""The command table: name -> (module, summary, panel). Help is made from it and imports no command."""

from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple


class Info(NamedTuple):
    """The file of a command below `momo_cli.commands`, and its line in the help."""

    file: str
    summary: str
    panel: str

    @property
    def module(self) -> str:
        """Return the name to import."""
        return f"momo_cli.commands.{self.file}"


DAY, LINES, HOOKS, CARE = "Every day", "Lines", "Webhooks", "Care"
PANELS: Final = (DAY, LINES, HOOKS, CARE)
FIRST: Final = (
    "setup", "init", "tx", "reconcile", "watch", "today", "review", "lines", "status", "notices", "open", "doctor",
    "backup", "restore", "help",
)  # fmt: skip
"""The words on the first screen; `momo help all` has the others too."""

COMMANDS: Final[dict[str, Info]] = {
    "init": Info("payments.transactions", "Create a transaction for a customer to pay", DAY),
    "reconcile": Info("payments.reconcile", "Match a payment to a transaction by its network ID", DAY),
    "tx list": Info("payments.transactions", "List transactions", DAY),
    "tx show": Info("payments.transactions", "Show one transaction", DAY),
    "tx watch": Info("payments.transactions", "Show changes of transactions as they happen", DAY),
    "tx wait": Info("payments.transactions", "Wait until a transaction is paid", DAY),
    "tx settle": Info("payments.transactions", "Settle a transaction that was paid too little or too much", DAY),
    "tx cancel": Info("payments.transactions", "Cancel an unpaid transaction", DAY),
    "tx replace": Info("payments.transactions", "Replace an unpaid transaction by a new one", DAY),
    "tx send-code": Info("payments.transactions", "Send the customer the SMS with the code again", DAY),
    "tx routes": Info("webhooks.endpoints", "Show which endpoints got a payment, and why", HOOKS),
    "open": Info("access.open", "Open the dashboard, or the checkout page of a transaction", DAY),
    "review list": Info("payments.review", "List the payments held for review", DAY),
    "review show": Info("payments.review", "Show one review with its evidence", DAY),
    "review approve": Info("payments.review", "Approve a held payment", DAY),
    "review reject": Info("payments.review", "Reject a held payment", DAY),
    "review undo": Info("payments.review", "Take a decision back", DAY),
    "review payers list": Info("payments.review", "List the payer names approved for a number", DAY),
    "review payers revoke": Info("payments.review", "Revoke the approval of a payer name", DAY),
    "messages list": Info("messages.messages", "List the received SMS", DAY),
    "messages show": Info("messages.messages", "Show one SMS and the values read from it", DAY),
    "messages reparse": Info("messages.messages", "Read unparsed messages again", DAY),
    "messages import": Info("messages.messages", "Import the SMS of an old phone", DAY),
    "messages sample": Info("messages.messages", "Make a sample for the maintainers", DAY),
    "messages parse": Info("messages.messages", "Show the values in a pasted message", DAY),
    "messages templates list": Info("messages.messages", "List your own wordings", CARE),
    "messages templates check": Info("messages.messages", "Check a file of wordings", CARE),
    "messages templates learn": Info("messages.messages", "Propose a wording from messages", CARE),
    "messages templates confirm": Info("messages.messages", "Confirm a wording by a genuine message", CARE),
    "notices list": Info("upkeep.status", "List the notices", DAY),
    "notices seen": Info("upkeep.status", "Mark notices as seen", DAY),
    "notices test": Info("upkeep.status", "Send yourself a test notice", DAY),
    "notices password": Info("upkeep.status", "Store the password of the mail account", DAY),
    "watch": Info("payments.transactions", "Show payments live on the whole screen", DAY),
    "today": Info("books.report", "Show the day sheet, compared with the wallet", DAY),
    "report": Info("books.report", "Show or mail the sheet of any period", DAY),
    "users shift list": Info("books.report", "List the shifts at the tills", DAY),
    "users shift show": Info("books.report", "Show who stood at a till, and what was made, paid and settled", DAY),
    "users shift open": Info("books.report", "Open your shift", DAY),
    "users shift close": Info("books.report", "Close a shift", DAY),
    "status": Info("upkeep.status", "Show the state of the shop", DAY),
    "lines status": Info("lines.lines", "Show the phones, their SIMs and numbers", LINES),
    "lines list": Info("lines.numbers", "List the registered numbers", LINES),
    "lines show": Info("lines.numbers", "Show one number", LINES),
    "lines add": Info("lines.numbers", "Register a number that receives payments", LINES),
    "lines update": Info("lines.numbers", "Change the SIM or the account name of a number", LINES),
    "lines remove": Info("lines.numbers", "Remove a number", LINES),
    "lines centres": Info("lines.numbers", "Show which service centres are home, and why", LINES),
    "lines trust": Info("lines.numbers", "Accept a held message, and all that waits for it", LINES),
    "lines wallet": Info("lines.numbers", "Say what the wallet shows", LINES),
    "lines ussd": Info("lines.ussd", "Dial a code and answer the network's menu", LINES),
    "lines test-payment": Info("lines.numbers", "Name an odd amount for you to pay to a SIM", LINES),
    "lines pin": Info("lines.numbers", "Store the PIN of a SIM, encrypted", LINES),
    "lines acknowledge": Info("lines.numbers", "Acknowledge money that no message explains", LINES),
    "lines ignore": Info("lines.numbers", "Set aside a SIM that is not for payments", LINES),
    "phones status": Info("lines.phones", "Show the signal, the storage and the troubles of the modems", LINES),
    "phones list": Info("lines.numbers", "List the phones and their SIMs", LINES),
    "phones show": Info("lines.phones", "Show one modem and its troubles", LINES),
    "phones add": Info("lines.phones", "Add an Android phone, a HiLink stick, or ModemManager", LINES),
    "phones remove": Info("lines.phones", "Remove a source", LINES),
    "phones test": Info("lines.phones", "Check a modem now", LINES),
    "phones release": Info("lines.phones", "Make ModemManager release a modem", LINES),
    "phones udev-rule": Info("lines.phones", "Print the udev rule for modems", LINES),
    "phones name": Info("lines.phones", "Give a modem a name", LINES),
    "phones password": Info("lines.phones", "Store the password of a HiLink stick's page", LINES),
    "phones sources": Info("lines.phones", "List the Android phones, HiLink sticks, and ModemManager", LINES),
    "phones rotate-key": Info("lines.phones", "Make a signing key for an Android phone", LINES),
    "claim": Info("lines.numbers", "Claim the unplaced payments of a number", LINES),
    "endpoints list": Info("webhooks.endpoints", "List the endpoints", HOOKS),
    "endpoints show": Info("webhooks.endpoints", "Show an endpoint and its state", HOOKS),
    "endpoints add": Info("webhooks.endpoints", "Add an endpoint that payments are sent to", HOOKS),
    "endpoints update": Info("webhooks.endpoints", "Change an endpoint", HOOKS),
    "endpoints pause": Info("webhooks.endpoints", "Pause an endpoint", HOOKS),
    "endpoints resume": Info("webhooks.endpoints", "Resume an endpoint, waiting deliveries first", HOOKS),
    "endpoints delete": Info("webhooks.endpoints", "Delete an endpoint for good", HOOKS),
    "endpoints test": Info("webhooks.endpoints", "Send a test webhook to an endpoint", HOOKS),
    "endpoints reveal": Info("webhooks.endpoints", "Show the signing secret", HOOKS),
    "endpoints rotate": Info("webhooks.endpoints", "Change the signing secret", HOOKS),
    "endpoints rules list": Info("webhooks.endpoints", "List the rules of an endpoint", HOOKS),
    "endpoints rules add": Info("webhooks.endpoints", "Add a rule to an endpoint", HOOKS),
    "endpoints rules update": Info("webhooks.endpoints", "Change a rule", HOOKS),
    "endpoints rules remove": Info("webhooks.endpoints", "Remove a rule", HOOKS),
    "endpoints rules test": Info("webhooks.endpoints", "Show which endpoints would get a payment", HOOKS),
    "deliveries list": Info("webhooks.deliveries", "List the deliveries", HOOKS),
    "deliveries show": Info("webhooks.deliveries", "Show one delivery", HOOKS),
    "deliveries watch": Info("webhooks.deliveries", "Show deliveries as they end", HOOKS),
    "deliveries attempts": Info("webhooks.deliveries", "List the attempts of one delivery", HOOKS),
    "deliveries redeliver": Info("webhooks.deliveries", "Send deliveries again", HOOKS),
    "deliveries curl": Info("webhooks.deliveries", "Print a curl command for one delivery", HOOKS),
    "deliveries verify": Info("webhooks.deliveries", "Check whether a webhook is genuine", HOOKS),
    "listen": Info("webhooks.listen", "Send test webhooks to a program on this machine", HOOKS),
    "replay": Info("webhooks.deliveries", "Send an endpoint the payments of a time window", HOOKS),
    "dead-letters list": Info("webhooks.deliveries", "List the dead letters, grouped by cause", HOOKS),
    "dead-letters show": Info("webhooks.deliveries", "Show one dead letter", HOOKS),
    "dead-letters replay": Info("webhooks.deliveries", "Send dead letters again", HOOKS),
    "dead-letters dismiss": Info("webhooks.deliveries", "Close dead letters without sending them again", HOOKS),
    "simulate payment": Info("payments.simulate", "Simulate a payment in the sandbox", CARE),
    "simulate endpoint": Info("payments.simulate", "Simulate an endpoint that fails", CARE),
    "simulate sms": Info("payments.simulate", "Simulate an SMS in the sandbox", CARE),
    "backup list": Info("upkeep.data", "List the backups", CARE),
    "backup create": Info("upkeep.data", "Back up the database into one file", CARE),
    "backup verify": Info("upkeep.data", "Check a backup", CARE),
    "backup prune": Info("upkeep.data", "Remove old backups", CARE),
    "restore": Info("upkeep.data", "Restore a backup", CARE),
    "keys list": Info("access.keys", "List the API keys", CARE),
    "keys show": Info("access.keys", "Show one API key", CARE),
    "keys create": Info("access.keys", "Create an API key", CARE),
    "keys rotate": Info("access.keys", "Replace an API key by a new one", CARE),
    "keys revoke": Info("access.keys", "End an API key at once", CARE),
    "users list": Info("access.keys", "List the users of the dashboard", CARE),
    "users add": Info("access.keys", "Add a user of the dashboard", CARE),
    "users password": Info("access.keys", "Set a new owner's password", CARE),
    "users role": Info("access.keys", "Give a user another role", CARE),
    "users disable": Info("access.keys", "Disable a user, or enable the user again", CARE),
    "users reset": Info("access.keys", "Set a new password of a user, or switch the second factor off", CARE),
    "daemon status": Info("upkeep.daemon", "Show whether the daemon runs", CARE),
    "daemon run": Info("upkeep.daemon", "Run the daemon in the foreground", CARE),
    "daemon start": Info("upkeep.daemon", "Start the daemon in the background", CARE),
    "daemon stop": Info("upkeep.daemon", "Stop the daemon", CARE),
    "daemon restart": Info("upkeep.daemon", "Stop the daemon and start it again", CARE),
    "daemon logs": Info("upkeep.daemon", "Show the log of the daemon", CARE),
    "daemon install": Info("upkeep.daemon", "Install momo as a service", CARE),
    "daemon uninstall": Info("upkeep.daemon", "Remove the service", CARE),
    "daemon upgrade-check": Info("upkeep.status", "Show the effect of starting this version", CARE),
    "daemon certificate create": Info("access.open", "Make a certificate for the network", CARE),
    "daemon certificate show": Info("access.open", "Show the shop's own certificate", CARE),
    "daemon certificate export": Info("access.open", "Export the CA for phones to trust", CARE),
    "data statement": Info("books.export", "Compare a network's statement with the messages", CARE),
    "data export": Info("books.export", "Export a whole table", CARE),
    "data tables": Info("upkeep.data", "List the tables of the shop's database", CARE),
    "data schema": Info("upkeep.data", "List the columns of a table", CARE),
    "data query": Info("upkeep.data", "Read the shop's database with SQL", CARE),
    "data copy": Info("upkeep.data", "Copy the tables into an SQLite file for other programs", CARE),
    "data forget": Info("upkeep.data", "Erase the data of a payer", CARE),
    "data prune": Info("upkeep.data", "Erase old data", CARE),
    "hub status": Info("upkeep.hub", "List the branches, or show how far this branch has sent", CARE),
    "hub init": Info("upkeep.hub", "Make this shop the hub of branches", CARE),
    "hub end": Info("upkeep.hub", "Make this hub an ordinary shop again", CARE),
    "hub invite": Info("upkeep.hub", "Invite a branch", CARE),
    "hub distrust": Info("upkeep.hub", "End the stolen key of a branch", CARE),
    "hub accept": Info("upkeep.hub", "Let a payment count, or take rows kept aside", CARE),
    "hub release": Info("upkeep.hub", "Give a payment back to its branch", CARE),
    "hub send-sms": Info("upkeep.hub", "Let a branch send an SMS", CARE),
    "hub forget": Info("upkeep.hub", "Let a branch erase the data of a payer", CARE),
    "hub set": Info("upkeep.hub", "Change a setting of a branch", CARE),
    "hub join": Info("upkeep.hub", "Make this shop a branch of a hub", CARE),
    "hub leave": Info("upkeep.hub", "Leave the hub", CARE),
    "hub restore": Info("upkeep.hub", "Take this branch's rows back from the hub", CARE),
    "doctor": Info("upkeep.status", "Check this machine and this shop", CARE),
    "setup": Info("upkeep.setup", "Set up this machine", CARE),
    "config show": Info("upkeep.config", "Show the settings", CARE),
    "config get": Info("upkeep.config", "Show one setting", CARE),
    "config set": Info("upkeep.config", "Change one setting", CARE),
    "config edit": Info("upkeep.config", "Change the settings in your editor", CARE),
    "config validate": Info("upkeep.config", "Check the settings", CARE),
    "config path": Info("upkeep.config", "Print the path of the settings", CARE),
    "demo": Info("payments.simulate", "Show a payment from SMS to webhook, on a simulated phone", CARE),
    "api": Info("upkeep.config", "Make any call of the API", CARE),
    "completion": Info("upkeep.help", "Print or install the shell completion", CARE),
    "help": Info("upkeep.help", "Explain a command or a topic", CARE),
}
"""All commands; the words before the last one are the group."""

GROUPS: Final[dict[str, tuple[str, str]]] = {
    "tx": ("Transactions", DAY),
    "review": ("Payments held for review", DAY),
    "review payers": ("Payer names approved for a number", DAY),
    "messages": ("The received SMS", DAY),
    "messages templates": ("Your own wordings", DAY),
    "notices": ("Messages for you", DAY),
    "lines": ("The numbers that receive payments, and their SIMs", LINES),
    "phones": ("Phones: modems, and other sources of messages", LINES),
    "endpoints": ("Receivers of webhooks", HOOKS),
    "endpoints rules": ("The payments that an endpoint gets", HOOKS),
    "deliveries": ("Webhooks sent to endpoints", HOOKS),
    "dead-letters": ("Deliveries that failed for good", HOOKS),
    "simulate": ("The sandbox", CARE),
    "backup": ("Backups of the database", CARE),
    "data": ("The shop's data: exports, SQL, statements, erasure", CARE),
    "keys": ("API keys", CARE),
    "users": ("Users of the dashboard", CARE),
    "users shift": ("Who stood at a till, and what was sold", DAY),
    "config": ("The settings", CARE),
    "daemon": ("The daemon, and its service", CARE),
    "daemon certificate": ("HTTPS on the shop's network", CARE),
    "hub": ("A head office and its branches", CARE),
}
"""The words before the last one of a command: summary and panel."""

ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "ls": ("list",),
    "rm": ("delete", "remove", "revoke"),
    "dl": ("dead-letters",),
    "reload": ("restart",),
}
"""Aliases, each with the words it may stand for; the first one that the group has is used."""

ORDINARY: Final[dict[str, tuple[str, ...]]] = {
    "pay charge invoice bill sell request order": ("init --help", "simulate payment --help"),
    "balance wallet": ("today", "lines wallet --help"),
    "ussd dial menu airtime": ("lines ussd --help",),
    "money payment payments transaction transactions orders sales history find search": ("tx list", "today"),
    "day summary sheet total totals": ("today", "report"),
    "week month yesterday": ("report",),
    "sms inbox text texts receipt receipts": ("messages list",),
    "modem modems sim sims device devices stick": ("phones list", "lines"),
    "number numbers signal": ("lines",),
    "webhook webhooks hook hooks callback callbacks": ("endpoints list", "deliveries list"),
    "failed failures": ("dead-letters list",),
    "held suspicious fraud": ("review list",),
    "payers customers customer": ("review payers list",),
    "dashboard dash browser web login ui": ("open",),
    "settings setting configure configuration options": ("config show", "setup"),
    "start-here begin quickstart wizard": ("setup", "demo"),
    "upgrade": ("daemon upgrade-check",),
    "server service log": ("daemon status", "daemon logs"),
    "check health diagnose problem problems fix": ("doctor", "status"),
    "try trial sandbox": ("demo",),
    "token tokens apikey": ("keys list",),
    "staff cashier cashiers": ("users list",),
    "alert alerts alarm alarms notification notifications": ("notices list",),
    "branch branches": ("hub status",),
    "csv excel": ("data export --help",),
    "save dump": ("backup create",),
    "recover": ("restore --dry-run",),
    "live": ("watch",),
}
"""Ordinary words that are no commands, and the commands that do what they mean."""


def commands_meant(word: str) -> tuple[str, ...]:
    """Return the commands that an ordinary word means, without `momo`; none for any other word."""
    return next((found for words, found in ORDINARY.items() if word in words.split()), ())


def search(word: str) -> list[tuple[str, str]]:
    """Return the commands about a word, with their summaries: those that it means first."""
    found = [" ".join(one for one in each.split() if one[0] != "-") for each in commands_meant(word)]
    found += [name for name in COMMANDS if word in f"{name} {COMMANDS[name].summary}".lower()]
    return [(name, about(name)) for name in dict.fromkeys(found)]


def about(name: str) -> str:
    """Return the summary of a command or a group."""
    return COMMANDS[name].summary if name in COMMANDS else GROUPS[name][0]


def verb_alone(group: str) -> str:
    """Return the command of a group that its name alone runs: its list, or its state; empty if it has neither."""
    if group != "lines" and f"{group} list" in COMMANDS:
        return "list"
    return next((verb for verb in ("status", "show") if f"{group} {verb}" in COMMANDS), "")


RUNNABLE: Final = frozenset((*COMMANDS, *(name for name in GROUPS if " " in name or verb_alone(name)))) - {"daemon"}
"""What may stand behind `momo` in a text that names a command: all of it, or its first two words. `a momo daemon` is prose."""
_LONGEST: Final = max(len(name.split()) for name in COMMANDS)


def meanings(word: str) -> tuple[str, ...]:
    """Return the words that a word stands for: itself first, then those of an alias."""
    return (word, *ALIASES.get(word, ()))


def find_name(words: Sequence[str]) -> str:
    """Return the longest command or group that the words begin with, without aliases; empty if there is none."""
    for count in range(min(len(words), _LONGEST), 0, -1):
        for meant in product(*map(meanings, words[:count])):
            if (name := " ".join(meant)) in COMMANDS or name in GROUPS:
                return name
    return ""


def words_after(prefix: str) -> dict[str, tuple[str, str]]:
    """Return the words that can follow the prefix, with summary and panel."""
    start = f"{prefix} " if prefix else ""
    found: dict[str, tuple[str, str]] = {}
    for full, info in COMMANDS.items():
        if full.startswith(start):
            word, _, more = full.removeprefix(start).partition(" ")
            found.setdefault(word, GROUPS[start + word] if more else (info.summary, info.panel))
    return found
