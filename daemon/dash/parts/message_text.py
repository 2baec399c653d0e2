"""Texts that strangers wrote, such as SMS and payers' names, made safe to look at."""

import re
from typing import Final

from daemon.core.access.callers import READERS
from daemon.dash.web.visit import Visit
from parsers.masking import mask_text
from parsers.phone import read_phone

_HIDDEN: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Control and direction characters: they are invisible, and may change the order or the place of the visible text."""
_BALANCE: Final = re.compile(r"(?i)((?:balance|solde)[^\d\n]{0,24})\d[\d,]*(?:\.\d+)?")


def visible(text: str | None) -> str:
    """Return a text with each control and direction character as its number, such as `[U+202E]`; "" for none."""
    plain = (text or "").replace("\r\n", "\n")
    return _HIDDEN.sub(lambda found: f"[U+{ord(found.group()):04X}]", plain)


def sms_text(visit: Visit, text: str | None) -> str | None:
    """Return the text of an SMS as this user may see it: cashiers see masked phone numbers, and no balance if they may see no sums."""
    if text is None:
        return None
    shown = visible(text)
    if not visit.sees_sums:
        shown = _BALANCE.sub(r"\1***", shown)
    if visit.role not in READERS:
        shown = "\n".join(mask_text(line, is_phone=read_phone) for line in shown.split("\n"))
    return shown


def sender_name(visit: Visit, sender: str | None) -> str:
    """Return the sender of an SMS: a name, or a number as this user may see it."""
    number = read_phone(sender or "")
    return visible(sender) if number is None else visit.phone(number)


def actor_name(visit: Visit, actor: str | None) -> str:
    """Return the actor of an event in words: a user by name, else the kind of caller."""
    kind, _, name = (actor or "").partition(":")
    if kind == "user":
        return visible(name)
    return visit.words(f"actor_{kind}") if visit.words.has(f"actor_{kind}") else visible(actor)
