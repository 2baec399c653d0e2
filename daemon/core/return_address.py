"""Where a customer goes back to from the checkout page (interface.md, `redirect_url`). Pure."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

_ADDRESS: Final = re.compile(
    r"(https?)://([A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?#][!-~]*)?",
    re.ASCII | re.IGNORECASE,
)


_OWN_NAME: Final = re.compile(
    r"[a-z0-9-]+|.+\.(?:localhost|local|lan|home\.arpa|internal|test)", re.ASCII | re.IGNORECASE
)
"""Names that mean a machine of the shop's own network, or nothing at all (RFC 2606, 6761, 6762, 8375)."""


@dataclass(frozen=True, slots=True)
class ReturnAddress:
    """Where a customer goes back to: the address, with the reference in it, and the host that is shown."""

    url: str
    host: str


def may_return_to(url: str) -> bool:
    """Say whether a request may send its customer there: https, or http within the shop's own network.

    Over plain http anybody on the way could lead a customer who has just paid to a page of his own.
    """
    found = _ADDRESS.fullmatch(url)
    if found is None:
        return False
    scheme, host = found.group(1).lower(), found.group(2)
    try:
        own = ipaddress.ip_address(host.strip("[]")).is_private
    except ValueError:
        if host.startswith("["):
            return False
        own = _OWN_NAME.fullmatch(host) is not None
    return scheme == "https" or own


def return_address(url: str | None, reference: str) -> ReturnAddress | None:
    """Add the reference to a `redirect_url`; None for anything but an http or https address.

    Only the reference goes with the customer, who could change whatever stands in an address: the shop asks the API what
    became of the order.
    """
    found = _ADDRESS.fullmatch(url or "")
    if found is None:
        return None
    scheme, host, port, rest = found.groups(default="")
    place, mark, fragment = rest.partition("#")
    if not place.startswith("/"):
        place = f"/{place}"
    join = "&" if "?" in place else "?"
    address = f"{scheme.lower()}://{host}{port}{place}{join}reference={reference}{mark}{fragment}"
    return ReturnAddress(address, f"{host.lower()}{port}")
