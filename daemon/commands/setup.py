"""Commands `setup`: create the missing parts of a shop, and `password-set`: set the owner's password without a daemon."""

import argparse
import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from daemon.commands.output import password, print_json
from daemon.core.errors import MomoError, Refusal
from daemon.flows.access.users import set_new
from daemon.flows.upkeep import setup
from daemon.open_shop import EXIT_CONFIG, EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, StartError, open_shop
from daemon.runtime.system import SystemClock, SystemEntropy
from daemon.wire import UNSHOWN_NAME, ErrorCode, Places


def setup_command(options: argparse.Namespace, places: Places) -> int:
    """Set the shop up, or with `--check` report the missing parts."""
    return asyncio.run(_set_up(options, places))


async def _set_up(options: argparse.Namespace, places: Places) -> int:
    """Create the missing parts. It can be run again: existing parts are not changed."""
    clock, entropy = SystemClock(), SystemEntropy()
    shop = open_shop(places, os.environ, clock)
    # There from before the keys are made until they are shown: a run that is killed between does not lose them.
    unshown = Path(places.home) / UNSHOWN_NAME

    def note() -> None:
        with contextlib.suppress(OSError):  # a full disk is told when the keys are stored
            unshown.touch(mode=0o600)

    makes = not (options.check or options.in_browser)
    try:
        request = setup.SetupRequest(
            unshown=makes and unshown.exists(), shop=options.shop or None, timezone=options.tz,
            password=None if options.in_browser else password(options.password_file), owner_email=options.owner_email,
            check=options.check, in_browser=options.in_browser,
        )  # fmt: skip
        result = await setup.set_up(shop.store, clock, entropy, shop.vault, request, note)
    except Refusal as refusal:
        raise StartError(refusal.code, str(refusal.message), "momo setup --help", exit_code=EXIT_USAGE) from refusal
    except MomoError as error:
        raise StartError(ErrorCode.UNAVAILABLE, str(error), "momo doctor disk permissions") from error
    finally:
        shop.close()
    body: dict[str, Any] = {"success": True, "data": result}
    if options.json:
        print_json(body)
    else:
        for step in result["steps"]:
            print(f"{step['status']:<13} {step['id']:<15} {step['detail']}")
        for name in ("api_key", "test_api_key", "webhook_secret"):
            if result[name]:
                print(f"{name}: {result[name]}   (shown only once: save it)")
    if makes and not options.shown_later:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            unshown.unlink(missing_ok=True)
    waiting = [step for step in result["steps"] if step["status"] == "needs_action"]
    return EXIT_FINDINGS if options.check and waiting else EXIT_OK


def password_set_command(_options: argparse.Namespace, places: Places) -> int:
    """Set the password from stdin."""
    return asyncio.run(_set_password(places))


async def _set_password(places: Places) -> int:
    clock = SystemClock()
    shop = open_shop(places, os.environ, clock)
    try:
        await set_new(shop.store, clock, f"local:{os.getuid()}", password("-"), at_machine=True)
    except Refusal as refusal:
        code = EXIT_CONFIG if refusal.code is ErrorCode.NOT_SET_UP else EXIT_USAGE
        raise StartError(refusal.code, str(refusal.message), "momo users password", exit_code=code) from refusal
    finally:
        shop.close()
    print_json({"success": True, "data": {"changed": True}})
    return EXIT_OK
