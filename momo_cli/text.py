"""Sanitising of untrusted text, and look-up of dotted paths in JSON."""

from typing import Any


def clean(text: object) -> str:
    """Return the text as one line without control characters, because names and texts are untrusted."""
    line = "" if text is None else str(text)
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else " " for c in line)


def warnings_of(body: object) -> list[str]:
    """Return the warnings of an answer (`meta.warnings`) as lines for stderr."""
    found = at(body, "meta.warnings")
    return [f"warning: {clean(each)}" for each in found] if isinstance(found, list) else []


def at(row: object, path: str, missing: object = None) -> Any:  # JSON
    """Return the value at a dotted path through objects and lists; `missing` if there is none."""
    here: Any = row
    for step in path.split("."):
        if isinstance(here, dict):
            here = here.get(step, missing)
        elif isinstance(here, list) and step.lstrip("-").isdigit():
            here = here[int(step)] if -len(here) <= int(step) < len(here) else missing
        else:
            return missing
    return here
