"""Numbers and names of which only so much is shown that their owner knows them. Pure."""

from daemon.core.texting import local


def masked(number: str | None) -> str | None:
    """Return a number of which only the ends are shown, such as `024 *** 4567`."""
    if number is None:
        return None
    here = local(number)
    return f"{here[:3]} *** {here[-4:]}" if len(here) >= 9 else "***"


def short_name(name: str | None) -> str | None:
    """Return a first name and the initial of the last, such as `Kofi B.`."""
    words = (name or "").split()
    if not words:
        return None
    return words[0] if len(words) == 1 else f"{words[0]} {words[-1][0]}."


def grouped(number: str) -> str:
    """Return a number of ten digits as people read it out, such as `024 412 4567`; any other one as it is."""
    return f"{number[:3]} {number[3:6]} {number[6:]}" if len(number) == 10 else number
