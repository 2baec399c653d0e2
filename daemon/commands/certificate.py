"""Command `certificate`: make, show and export the certificate of the shop's own CA."""

import argparse
import os
from typing import Any

from daemon import wire
from daemon.commands.output import need_shop, print_json
from daemon.core.limits import SECOND_US
from daemon.open_shop import (
    EXIT_FAILED,
    EXIT_NOT_FOUND,
    EXIT_OK,
    EXIT_USAGE,
    StartError,
    is_set_up,
)
from daemon.runtime import own_certificate
from daemon.runtime.own_certificate import (
    CertificateError,
    CertificateFacts,
    NameRefused,
    machine_names,
)
from daemon.runtime.system import SystemClock


def certificate_command(options: argparse.Namespace, places: wire.Places) -> int:
    """Run the command, for `momo daemon certificate`; it needs no daemon."""
    home = places.home
    need_shop(is_set_up(places, os.environ))
    try:
        if options.what == "create":
            now_s = SystemClock().now_us() // SECOND_US
            facts = own_certificate.create(
                home, options.names, machine_names(), now_s, new_ca=options.new_ca
            )
        else:
            facts = _existing(home)
        data: dict[str, Any] = own_certificate.as_json(facts, home)
        if options.what == "export":
            certificate = own_certificate.ca_certificate(home, der=options.der)
            data["certificate"] = certificate.hex() if options.der else certificate.decode()
    except NameRefused as error:
        raise StartError(
            wire.ErrorCode.USAGE, EXIT_USAGE, str(error), "momo daemon certificate create --help"
        ) from error
    except CertificateError as error:
        raise StartError(
            wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, str(error), "momo daemon certificate create"
        ) from error
    print_json({"success": True, "data": data})
    return EXIT_OK


def _existing(home: str) -> CertificateFacts:
    facts = own_certificate.read_facts(home)
    if facts is None:
        raise StartError(
            wire.ErrorCode.CERTIFICATE_NOT_FOUND,
            EXIT_NOT_FOUND,
            "this shop has no certificate of its own yet",
            "momo daemon certificate create",
        )
    return facts
