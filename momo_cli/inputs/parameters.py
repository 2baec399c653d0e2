"""The flags and arguments that several commands share, with their help."""

from typing import Annotated

from typer import Argument, Option

# Lists.
AllRows = Annotated[
    bool, Option("--all", help="All of them; --json then writes one line for each.")
]
Limit = Annotated[int, Option(min=1, max=200, help="At most N.")]
LongLimit = Annotated[int, Option(min=1, max=500, help="At most N.")]
Offset = Annotated[int, Option(min=0, help="Skip the first N.")]
OfEndpoint = Annotated[str | None, Option(metavar="ID", help="Only of this endpoint.")]
FailIfAny = Annotated[bool, Option("--fail-if-any", help="Exit 6 if the list is not empty.")]
Follow = Annotated[bool, Option("-f", "--follow", help="Continue with new lines.")]
SinceEvent = Annotated[
    str | None, Option("--since-event", help="Continue after the event with this id.")
]

# Things.
Ids = Annotated[
    list[str] | None, Argument(metavar="[ID...]", help="Their ids; - reads ids from stdin.")
]
Transaction = Annotated[
    str, Argument(metavar="REF|CODE", help="The transaction's reference or code.")
]
Method = Annotated[
    str,
    Argument(metavar="METHOD", help="The number, the name on it, or its id: momo methods list."),
]
MessagesFile = Annotated[
    str, Argument(metavar="FILE|-", help="The messages; - reads them from stdin.")
]
Label = Annotated[str | None, Option(help="A label.")]
Network = Annotated[
    str | None, Option(metavar="mtn|telecel", help="The network of the SIM; default: mtn.")
]

# What is shown, and what is done.
DryRun = Annotated[bool, Option("-n", "--dry-run", help="Show the result; change nothing.")]
Payload = Annotated[bool, Option("--payload", help="Also the body of the webhook.")]
SandboxOnly = Annotated[bool, Option("--sandbox", help="The simulated payments of the sandbox.")]
ShowBody = Annotated[
    bool,
    Option("--show-body", help="With the texts: names, numbers, balances; noted in the journal."),
]
Notes = Annotated[str | None, Option(help="A note for the journal.")]
Reason = Annotated[str | None, Option(help="The reason, for the journal.")]

# Secrets, which are never on the command line.
PasswordFile = Annotated[
    str | None, Option(metavar="FILE", help="The owner's password; - = stdin.")
]
NewPasswordFile = Annotated[
    str | None,
    Option(metavar="FILE", help="The owner's password, 10 characters or more; - = stdin."),
]
SecretFile = Annotated[
    str | None, Option(metavar="FILE", help="Write the secret to this file, not to the output.")
]
