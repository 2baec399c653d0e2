"""The flags and arguments that several commands share, with their help."""

from typing import Annotated, Any

from typer import Argument, Option


def option(*words: str, **more: Any) -> Any:
    """Return Typer's option: its names if the parameter's does not do, its metavar if it has one, and its help."""
    *before, text = words
    names = [word for word in before if word.startswith("-")]
    metavar = next((word for word in before if word not in names), None)
    return Option(*names, metavar=metavar, help=text, **more)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Return the Typer argument with this word in the usage line, and its help."""
    return Argument(metavar=metavar, help=text, **more)


# Lists.
AllRows = Annotated[bool, option("--all", "All of them; --json then writes one line for each.")]
Limit = Annotated[int, option("At most N.", min=1, max=200)]
LongLimit = Annotated[int, option("At most N.", min=1, max=500)]
Offset = Annotated[int, option("Skip the first N.", min=0)]
OfEndpoint = Annotated[str | None, option("ID", "Only of this endpoint.")]
OfBranch = Annotated[str | None, option("NAME", "At a hub: only this branch's.")]
FailIfAny = Annotated[bool, option("--fail-if-any", "Exit 6 if the list is not empty.")]
Follow = Annotated[bool, option("-f", "--follow", "Continue with new lines.")]
SinceEvent = Annotated[
    str | None, option("--since-event", "Continue after the event with this id.")
]

# Things.
Ids = Annotated[list[str] | None, argument("[ID...]", "Their ids; - reads ids from stdin.")]
Transaction = Annotated[str, argument("REF|CODE", "The transaction's reference or code.")]
Method = Annotated[
    str, argument("METHOD", "The number, the name on it, or its id: momo lines list.")
]
MessagesFile = Annotated[str, argument("FILE|-", "The messages; - reads them from stdin.")]
Label = Annotated[str | None, option("A label.")]
Network = Annotated[str | None, option("mtn|telecel", "The network of the SIM; default: mtn.")]

HttpAddress = Annotated[
    str | None,
    option(
        "--http",
        "HOST:PORT|loopback|lan|off",
        "The address of the API, with port 8420 unless given.",
    ),
]

# Flags of output and of action.
DryRun = Annotated[bool, option("-n", "--dry-run", "Show the result; change nothing.")]
Payload = Annotated[bool, option("--payload", "Also the body of the webhook.")]
ShowBody = Annotated[
    bool, option("--show-body", "With the texts: names, numbers, balances; noted in the journal.")
]
Notes = Annotated[str | None, option("A note for the journal.")]
Reason = Annotated[str | None, option("The reason, for the journal.")]

# Secrets, which are never on the command line.
PasswordFile = Annotated[str | None, option("FILE", "The owner's password; - = stdin.")]
NewPasswordFile = Annotated[
    str | None, option("FILE", "The new password, 10 characters or more; - = stdin.")
]
SecretFile = Annotated[
    str | None, option("FILE", "Write the secret to this file, not to the output.")
]
