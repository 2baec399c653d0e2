"""The settings: meaning, value and where each comes from; change one after a check; mail password and test of notices."""

import asyncio
import json
import os
from typing import Any, Final

from daemon.core.errors import Refusal
from daemon.core.json_values import Json
from daemon.dash.parts.confirming import confirm
from daemon.dash.parts.listing import chosen_file
from daemon.dash.web.visit import FormWrong, Goto, Outcome, Shown, Visit
from daemon.flows.upkeep import notices
from daemon.flows.upkeep import settings as flow
from daemon.runtime import config_file
from daemon.runtime.config import all_rows, value_of
from daemon.runtime.config_file import ConfigError
from daemon.wire import ErrorCode

HERE: Final = "/dash/settings"
LOGO: Final = "pages.logo"
TASKS: Final[dict[str, tuple[str, ...]]] = {
    "payments": ("transactions", "trust"),
    "customers": ("sms", "transactions.code_sms_at", "transactions.public_sms", "limits.sms_per_number_hour"),
    "look": ("pages", "till"),
    "alarms": ("smtp", "notices"),
    "phones": ("modems",),
    "webhooks": ("webhooks", "open_collections"),
    "security": ("access", "limits", "http.insecure_http", "http.cors_origins"),
    "machine": ("http", "store", "hub", "retention", "backup", "power", "network", "secrets"),
}
"""What people come to change, and the sections and single settings that belong to it; a single one leaves its section's task."""
PASSWORD_CHARACTERS_MAX: Final = 1024
VALUE_CHARACTERS_MAX: Final = 2000


async def show_list(visit: Visit) -> Shown:
    """Show every setting, by task."""
    try:
        found = await asyncio.to_thread(_read, visit)
        problem = ""
    except ConfigError as error:
        found, problem = [], visit.cite(str(error))
    tasks: dict[str, list[Json]] = {task: [] for task in TASKS}
    for one in found:
        tasks[task_of(one["key"])].append(one)
    return Shown(
        "upkeep/settings.html",
        {
            "tasks": tasks,
            "path": visit.machine.places.config,
            "waiting": [one for one in found if one["waits"]],
            "channels": visit.machine.channels,
            "problem": problem,
            "has_password": await notices.has_smtp_password(visit.env),
        },
    )


def task_of(key: str) -> str:
    """Return the task of a setting."""
    section = key.partition(".")[0]
    named = next((task for task, those in TASKS.items() if key in those), None)
    return named or next(task for task, those in TASKS.items() if section in those)


async def restart(visit: Visit) -> Outcome:
    """Start the daemon again, so that it takes over what waits for it."""
    visit.machine.restart()
    return Goto(HERE, "said_restarting")


async def change(visit: Visit) -> Outcome:
    """Write a setting that was checked; a picture that was chosen becomes a file of the shop."""
    key, places = visit.places["id"], visit.machine.places
    value = None if visit.form.get("default") else visit.form.get("value", "")
    upload = visit.form.get("upload", "") if key == LOGO else ""
    await confirm(visit)
    try:
        if upload:
            done = await flow.change_picture(visit.env, visit.caller, places, key, chosen_file(upload))
        else:
            done = await flow.change(visit.env, visit.caller, places, key, value)
    except (ConfigError, config_file.CannotEdit, OSError) as error:
        visit.errors["value"] = visit.cite(str(error))
        raise FormWrong from error
    except config_file.NoSuchKey as error:
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND) from error
    return Goto(HERE, "said_setting_acts" if done["live"] else "said_setting_changed")


async def set_mail_password(visit: Visit) -> Outcome:
    """Store the password of the mail account, or with an empty field remove it."""
    await confirm(visit)
    given = visit.form.get("mail_password", "")
    if len(given) > PASSWORD_CHARACTERS_MAX:
        visit.wrong("mail_password", "mail_password_long")
    await notices.store_smtp_password(visit.env, visit.caller, given or None)
    return Goto(HERE, "said_mail_password_set" if given else "said_mail_password_removed")


async def test_notices(visit: Visit) -> Outcome:
    """Queue a test notice on every channel."""
    await notices.queue_test(visit.env, visit.caller, visit.machine.channels)
    return Goto(HERE, "said_notice_tested")


async def show_one(visit: Visit) -> Shown:
    """Show one setting; with `value` in the address or the form also the effect of a change to it."""
    key, fields = visit.places["id"], visit.form or visit.query
    default = "default" in fields
    value = fields.get("value", "" if visit.form and not default else None)
    try:
        found = {one["key"]: one for one in await asyncio.to_thread(_read, visit)}
    except ConfigError as error:
        raise Refusal(ErrorCode.VALIDATION_ERROR, str(error), hint="momo config edit") from error
    if key not in found:
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    rows = all_rows()
    operation = flow.may_change(rows[key])
    allowed = operation is not None and visit.may(operation)
    given = None if default else (value or "")[:VALUE_CHARACTERS_MAX]
    new = None
    if allowed and (default or value is not None) and "value" not in visit.errors:
        try:
            checked = await flow.preview(visit.caller, visit.machine.places, key, given)
            new = _text(checked["value"])
        except (ConfigError, config_file.CannotEdit) as error:
            visit.errors["value"] = visit.cite(str(error))
    return Shown(
        "upkeep/setting.html",
        {
            "one": found[key],
            "given": found[key]["value"] if value is None else value,
            "default": default,
            "new": new,
            "allowed": allowed,
            "here": operation is not None,
            "is_logo": key == LOGO,
        },
        key,
        status=422 if visit.errors else 200,
    )


def _read(visit: Visit) -> list[Json]:
    """Return every setting with the texts of its values, the key of its meaning, and whether its change waits for a restart."""
    running, rows = visit.env.config, all_rows()

    def waits(one: Json) -> bool:
        row = rows[one["key"]]
        return not one["live"] and config_file.as_typed(value_of(running, row)) != one["value"]

    return [
        {
            **one,
            "value": _text(one["value"]),
            "default": _text(one["default"]),
            "word": rows[one["key"]].word,
            "waits": waits(one),
        }
        for one in config_file.show_settings(visit.machine.places, os.environ)
    ]


def _text(value: Any) -> str:
    """Return a value as it is typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        plain = all("," not in str(one) and str(one).strip() == str(one) for one in value)
        return ", ".join(str(one) for one in value) if plain else json.dumps(value)
    return str(value)
