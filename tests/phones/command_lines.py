"""Command lines and error results of the emulated phone (ITU-T V.250, 3GPP TS 27.007 and 27.005)."""

import re
from collections.abc import Callable, Container
from typing import Final

Handler = Callable[[str, str], list[str]]
"""Takes the operator (`""`, `"?"`, `"="`, `"=?"`) and the argument; returns the answer's lines."""

_BASIC: Final = re.compile(r"\s*(S\d+|&?[A-Z])(=\?|\?|=)?(\d*)", re.ASCII | re.IGNORECASE)
_EXTENDED: Final = re.compile(r"\s*([+^*$%][A-Z0-9]+)\s*(=\?|\?|=)?\s*(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_PIECES: Final = re.compile(r'(?:[^;"]|"[^"]*"?)+')

_ERROR_TEXTS: Final = {  # 27.007 clause 9.2, 27.005 clause 3.2.5
    ("CME", 3): "operation not allowed",
    ("CME", 4): "operation not supported",
    ("CME", 10): "SIM not inserted",
    ("CME", 11): "SIM PIN required",
    ("CME", 12): "SIM PUK required",
    ("CME", 13): "SIM failure",
    ("CME", 14): "SIM busy",
    ("CME", 16): "incorrect password",
    ("CME", 50): "incorrect parameters",
    ("CME", 100): "unknown",
    ("CMS", 302): "operation not allowed",
    ("CMS", 304): "invalid PDU mode parameter",
    ("CMS", 310): "SIM not inserted",
    ("CMS", 311): "SIM PIN required",
    ("CMS", 313): "SIM failure",
    ("CMS", 316): "SIM PUK required",
    ("CMS", 321): "invalid memory index",
    ("CMS", 330): "SMSC address unknown",
    ("CMS", 331): "no network service",
    ("CMS", 340): "no +CNMA acknowledgement expected",
    ("CMS", 500): "unknown error",
}


class Refusal(Exception):
    """The final result of a command that failed: `+CME ERROR`, `+CMS ERROR`, or plain `ERROR`."""

    def __init__(self, kind: str, code: int = 0, literally: str = "") -> None:
        """Create a result of a kind (`CME`, `CMS` or empty for a plain ERROR) with the standard's number.

        `literally` is the whole result line, independent of `AT+CMEE`, as on some makes.
        """
        super().__init__(kind, code, literally)
        self.kind = kind
        self.code = code
        self.literally = literally

    def line(self, verbosity: int) -> str:
        """Return the result line in the form set by `AT+CMEE`.

        `+CMS ERROR` is sent even with CMEE=0 (27.005 clause 3.1), `+CME ERROR` is not.
        """
        if self.literally:
            return self.literally
        if not self.kind or (self.kind == "CME" and not verbosity):
            return "ERROR"
        text = _ERROR_TEXTS.get((self.kind, self.code)) if verbosity == 2 else None
        return f"+{self.kind} ERROR: {text or self.code}"


def split_line(body: str) -> list[tuple[str, str, str]]:
    """Split the text after `AT` into commands: name in capitals, operator, argument.

    Commands with a prefix are separated by semicolons, basic ones follow each other (V.250
    clause 5.2). Text that cannot be a command is returned as a name, so that it is refused as
    unknown.
    """
    commands = []
    for piece in _PIECES.findall(body) if ";" in body else (body,):
        rest = piece.strip()
        while rest:
            extended = _EXTENDED.fullmatch(rest)
            if extended is not None:
                name, operator, argument = extended.groups()
                commands.append((name.upper(), operator or "", argument.strip()))
                break
            basic = _BASIC.match(rest)
            if basic is None:
                commands.append((rest, "", ""))
                break
            name, operator, argument = basic.groups()
            commands.append((name.upper(), operator or "", argument))
            rest = rest[basic.end() :].strip()
    return commands


def split_arguments(argument: str) -> list[str]:
    """Return the comma-separated arguments without quotes; at least one, possibly empty."""
    return [part.strip().strip('"') for part in argument.split(",")]


def number(text: str, allowed: Container[int], refusal: Refusal) -> int:
    """Parse a number.

    Raises:
        Refusal: the given one, when the text is not a number or the number is not allowed.
    """
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise refusal
    value = int(digits)
    if value not in allowed:
        raise refusal
    return value


def require_form(operator: str, argument: str, *operators: str) -> None:
    """Refuse other operators than these, and any argument.

    Raises:
        Refusal: the command has no such form.
    """
    if operator not in operators:
        raise Refusal("CME", 4)
    if argument:
        raise Refusal("CME", 50)


def type_of_address(address: str) -> int:
    """Return the type-of-address octet: international or unknown (24.011 clause 8.2.5.2)."""
    return 145 if address.startswith("+") else 129
