"""Command `certificate`: make, show and export the certificate of the shop's own CA."""

import argparse
import os
from typing import Any

from daemon.commands.output import need_shop, print_json
from daemon.core.limits import SECOND_US
from daemon.open_shop import EXIT_OK, StartError, is_set_up
from daemon.runtime import own_certificate
from daemon.runtime.own_certificate import CertificateError, NameRefused, machine_names
from daemon.runtime.system import SystemClock
from daemon.wire import ErrorCode, Places


def certificate_command(options: argparse.Namespace, places: Places) -> int:
    """Run the command, for `momo daemon certificate`; it needs no daemon."""
    home = places.home
    need_shop(is_set_up(places, os.environ))
    try:
        if options.what == "create":
            now_s = SystemClock().now_us() // SECOND_US
            facts = own_certificate.create(home, options.names, machine_names(), now_s, new_ca=options.new_ca)
        elif (found := own_certificate.read_facts(home)) is None:
            why = "this shop has no certificate of its own yet"
            raise StartError(ErrorCode.CERTIFICATE_NOT_FOUND, why, "momo daemon certificate create")
        else:
            facts = found
        data: dict[str, Any] = own_certificate.as_json(facts, home)
        if options.what == "export":
            certificate = own_certificate.ca_certificate(home, der=options.der)
            data["certificate"] = certificate.hex() if options.der else certificate.decode()
    except NameRefused as error:
        raise StartError(ErrorCode.USAGE, str(error), "momo daemon certificate create --help") from error
    except CertificateError as error:
        raise StartError(ErrorCode.UNAVAILABLE, str(error), "momo daemon certificate create") from error
    print_json({"success": True, "data": data})
    return EXIT_OK
