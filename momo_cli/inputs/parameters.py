"""The flags and arguments that several commands share, with their help."""

from typing import Annotated, Any, NamedTuple

from typer import Argument, Option


class Given(NamedTuple):
    """The declaration of a flag or an argument, written as the default of its parameter; `...` is no default."""

    make: Any
    names: tuple[str, ...]
    more: dict[str, Any]
    default: Any

    def declared(self, name: str, type_: Any) -> Any:
        """Return the annotation that Typer reads, for the parameter of this name and type."""
        own = (f"--{name.replace('_', '-')}",) if type_ is bool else ()
        return Annotated[type_, self.make(*(self.names or own), **self.more)]


def option(*words: str, default: Any = None, **more: Any) -> Any:
    """Return an option: its names if the parameter's does not do, its metavar if it has one, and its help."""
    *before, text = words
    names = tuple(word for word in before if word.startswith("-"))
    metavar = next((word for word in before if word not in names), None)
    return Given(Option, names, {"metavar": metavar, "help": text, **more}, default)


def flag(*words: str) -> Any:
    """Return an option without a value, which is off unless it is typed: its names, and its help, as `option`."""
    return option(*words, default=False)


def argument(metavar: str, text: str, default: Any = ..., **more: Any) -> Any:
    """Return an argument: its word in the usage line and its help; without a default it must be typed."""
    return Given(Argument, (), {"metavar": metavar, "help": text, **more}, default)


# Lists.
WATCH = option("[=2s]", "Repeat until Ctrl-C.")
ALL_ROWS = flag("--all", "All of them; --json then writes one line for each.")
LIMIT = option("At most N.", default=50, min=1, max=200)

OFFSET = option("Skip the first N.", default=0, min=0)
OF_ENDPOINT = option("ID", "Only of this endpoint.")
OF_BRANCH = option("NAME", "At a hub: only this branch's.")
FAIL_IF_ANY = flag("--fail-if-any", "Exit 6 if the list is not empty.")
FOLLOW = flag("-f", "--follow", "Continue with new lines.")
SINCE_EVENT = option("--since-event", "Continue after the event with this id.")

# Things.
IDS = argument("[ID...]", "Their ids; - reads ids from stdin.", default=None)
TRANSACTION = argument("REF|CODE", "The transaction's reference or code.")
METHOD = argument("METHOD", "The number, the name on it, or its id: momo lines list.")
MESSAGES_FILE = argument("FILE|-", "The messages; - reads them from stdin.")
LABEL = option("A label.")


HTTP_ADDRESS = option("--http", "HOST:PORT|loopback|lan|off", "The address of the API, with port 8420 unless given.")

# Flags of output and of action.
DRY_RUN = flag("-n", "--dry-run", "Show the result; change nothing.")
PAYLOAD = flag("--payload", "Also the body of the webhook.")
SHOW_BODY = flag("--show-body", "With the texts: names, numbers, balances; noted in the journal.")
NOTES = option("A note for the journal.")
REASON = option("The reason, for the journal.")

# Secrets, which are never on the command line.
PASSWORD_FILE = option("FILE", "The owner's password; - = stdin.")
NEW_PASSWORD_FILE = option("FILE", "The new password, 10 characters or more; - = stdin.")
SECRET_FILE = option("FILE", "Write the secret to this file, not to the output.")
