"""Make what the shop still lacks."""

import argparse
import asyncio
import os
from typing import Any

from daemon import wire
from daemon.core.errors import MomoError, Refusal
from daemon.doors import EXIT_FAILED, EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, StartError, open_doors
from daemon.flows import setup
from daemon.system import SystemClock, SystemEntropy
from daemon.verbs.say import password, print_json


def run(options: argparse.Namespace, places: wire.Places) -> int:
    """Set the shop up, or say what is missing."""
    return asyncio.run(_run(options, places))


async def _run(options: argparse.Namespace, places: wire.Places) -> int:
    """Make what the shop still lacks. Safe to run again: what is there is left as it is."""
    clock, entropy = SystemClock(), SystemEntropy()
    doors = open_doors(places, os.environ, clock)
    try:
        request = setup.SetupRequest(
            shop=options.shop or None,
            timezone=options.tz,
            password=password(options.password_file),
            owner_email=options.owner_email,
            check=options.check,
        )
        result = await setup.set_up(doors.store, clock, entropy, doors.vault, request)
    except Refusal as refusal:
        raise StartError(
            refusal.code, EXIT_USAGE, refusal.message, "momo setup --shop NAME --password-file FILE"
        ) from refusal
    except MomoError as error:
        raise StartError(
            wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, str(error), f"check {places.home}"
        ) from error
    finally:
        doors.close()
    body: dict[str, Any] = {"success": True, "data": result}
    if options.json:
        print_json(body)
    else:
        for step in result["steps"]:
            print(f"{step['status']:<13} {step['id']:<15} {step['detail']}")
        for name in ("api_key", "test_api_key", "webhook_secret"):
            if result[name]:
                print(f"{name}: {result[name]}   (shown once: keep it)")
    waiting = [step for step in result["steps"] if step["status"] == "needs_action"]
    return EXIT_FINDINGS if options.check and waiting else EXIT_OK
