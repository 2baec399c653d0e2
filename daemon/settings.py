"""The settings as a person edits them: shown with where each comes from, changed one at a time, checked before they count.

A change touches the lines of its own key and no other: comments and order stay. It is made on the text, read again,
and kept only when exactly that key has changed. The daemon reads its settings at start, so a change counts from the next.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from daemon import wire
from daemon.config import Config, ConfigError, load, parse, place_of, sources
from daemon.core.errors import MomoError


class NoSuchKey(MomoError):
    """There is no setting of that name; the text names the nearest."""


class CannotEdit(MomoError):
    """The file is written in a way that this program will not touch; a person must."""


def show(places: wire.Places, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return every setting: `{key, value, default, origin}`, `origin` being `default` or `FILE, line N`.

    Raises:
        ConfigError: A file is wrong.
    """
    config, defaults = load(places.config, environ), Config()
    set_in = sources(places.config, environ)
    return [
        {
            "key": key,
            "value": _value(config, key),
            "default": _value(defaults, key),
            "origin": set_in.get(key, "default"),
        }
        for key in _kinds()
    ]


def get(places: wire.Places, environ: Mapping[str, str], key: str) -> dict[str, Any]:
    """Return one of them.

    Raises:
        NoSuchKey: There is none of that name.
        ConfigError: A file is wrong.
    """
    _known(key)
    return next(row for row in show(places, environ) if row["key"] == key)


def change(places: wire.Places, key: str, value: str | None) -> dict[str, Any]:
    """Set one setting in the shop's own file, or with None take it out of there again.

    Args:
        places: Where the file is; it is made when it is not there.
        key: `section.key`.
        value: As typed: a text as it stands, a number, true or false, a list as TOML or separated by commas.

    Returns:
        `{key, value, old, path, changed}`.

    Raises:
        NoSuchKey: There is none of that name.
        ConfigError: The value will not do, or the file is wrong elsewhere.
        CannotEdit: The file must be edited by hand.
    """
    kind = _known(key)
    path = Path(places.config)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    before = _was(text, key)
    new = _without(text, key) if value is None else _with(text, key, _literal(kind, value))
    after = _value(parse(new, str(path)), key)
    _same_but_for(text, new, key)
    if new != text:
        _write(path, new)
    return {"key": key, "value": after, "old": before, "path": str(path), "changed": new != text}


def validate(places: wire.Places, environ: Mapping[str, str], file: str | None) -> dict[str, Any]:
    """Check the settings, or a file that is to become them; `{path, valid: true}`.

    Raises:
        ConfigError: With file, line and the nearest known key.
    """
    if file is None:
        load(places.config, environ)
        return {"path": places.config, "valid": True}
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error
    parse(text, file)
    return {"path": file, "valid": True}


def _kinds() -> dict[str, Any]:
    """Return `section.key` -> its type, in the order of the documents."""
    sections = get_type_hints(Config)
    found = {}
    for section in fields(Config):
        hints = get_type_hints(sections[section.name])
        for name, hint in hints.items():
            found[f"{section.name}.{name.removesuffix('_')}"] = hint
    return found


def _known(key: str) -> Any:
    kinds = _kinds()
    if key not in kinds:
        import difflib  # noqa: PLC0415 -- only for a slip

        near = difflib.get_close_matches(key, kinds, n=1)
        hint = f"did you mean {near[0]}?" if near else "momo config show lists them"
        raise NoSuchKey(f"there is no setting {key!r}; {hint}")
    return kinds[key]


def _value(config: Config, key: str) -> Any:
    section, _, name = key.partition(".")
    values = getattr(config, section)
    value = getattr(values, name if hasattr(values, name) else f"{name}_")
    return list(value) if isinstance(value, tuple) else value


def _was(text: str, key: str) -> Any:
    """Return what a setting was, None in a file that is wrong: perhaps this change mends it."""
    try:
        return _value(parse(text), key)
    except ConfigError:
        return None


def _literal(kind: Any, text: str) -> str:
    """Return the value as TOML writes it; what it may be is for the settings to say."""
    if kind is str:
        return _text(text)
    if get_origin(kind) is tuple and not text.lstrip().startswith("["):
        item = get_args(kind)[0]
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return f"[{', '.join(_literal(item, part) for part in parts)}]"
    try:
        tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return _text(text)  # refused later, with the type that is wanted
    return text.strip()


def _text(text: str) -> str:
    # TOML's basic strings are JSON's, but for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with(text: str, key: str, literal: str) -> str:
    section, _, name = key.partition(".")
    lines = text.splitlines(keepends=True)
    if (found := _lines_of(text, lines, key)) is not None:
        first, last = found
        return "".join([*lines[:first], f"{name} = {literal}\n", *lines[last:]])
    header = place_of(text, section)
    if header is not None:
        if not lines[header - 1].endswith("\n"):
            lines[header - 1] += "\n"
        return "".join([*lines[:header], f"{name} = {literal}\n", *lines[header:]])
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}[{section}]\n{name} = {literal}\n"


def _without(text: str, key: str) -> str:
    lines = text.splitlines(keepends=True)
    found = _lines_of(text, lines, key)
    return text if found is None else "".join([*lines[: found[0]], *lines[found[1] :]])


def _lines_of(text: str, lines: list[str], key: str) -> tuple[int, int] | None:
    """Return the first line of a key and the one after its last; a list may go over several."""
    number = place_of(text, key)
    if number is None:
        return None
    for last in range(number, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[number - 1 : last]))
        except tomllib.TOMLDecodeError:
            continue
        return number - 1, last
    raise CannotEdit(f"{key} is written in a way that only a person can change")


def _same_but_for(old: str, new: str, key: str) -> None:
    before, after = tomllib.loads(old), tomllib.loads(new)
    section, _, name = key.partition(".")
    for values in (before, after):
        values.get(section, {}).pop(name, None)
        if not values.get(section):
            values.pop(section, None)
    if before != after:
        raise CannotEdit(f"changing {key} would change other settings too")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)
