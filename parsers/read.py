"""The one door of the room: which network a message may come from, and what it says."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from parsers.advert import is_advert
from parsers.match import plain, read_with, squeeze, twice
from parsers.providers import EVERY_PROVIDER, PROVIDERS, WORDINGS, Provider, networks_of_senders
from parsers.reading import Kind, NotPayment, Reading, Unreadable
from parsers.template import TEXT_CHARACTERS_MAX, Wording

__all__ = [
    "ADVERT",
    "EVERY_PROVIDER",
    "PROVIDERS",
    "UNKNOWN",
    "Provider",
    "network_of_imsi",
    "networks_of_country",
    "provider_of",
    "provider_of_network",
    "read",
    "wordings",
]

UNKNOWN: Final = "no known wording"
"""Why a text is unreadable that no wording knows."""

ADVERT: Final = "advert"
"""What an advert names for its wording; there is no such wording."""

_NETWORKS_OF_SENDER: Final = networks_of_senders(EVERY_PROVIDER.values())
# Of a shop's own networks, whose language the adverts are known in.
_NETWORK_OF_OWN_SENDER: Final = {
    sender: provider.network for provider in PROVIDERS.values() for sender in provider.senders
}
_NAMES: Final = {
    name: provider.name
    for provider in PROVIDERS.values()
    for name in (provider.name, *provider.aliases)
}
_PROVIDER_OF_NETWORK: Final = {provider.network: provider.name for provider in PROVIDERS.values()}
_NETWORK_OF_PLMN: Final = {
    plmn: provider.network for provider in PROVIDERS.values() for plmn in provider.plmns
}


class _Index:
    """Wordings, found by a literal of theirs: a text is asked once for each literal, not once for each wording."""

    def __init__(self, of: Iterable[Wording]) -> None:
        self._by_literal: dict[str, list[tuple[int, Wording]]] = {}
        for place, wording in enumerate(of):
            rarest = max(wording.guards, key=len)
            self._by_literal.setdefault(rarest, []).append((place, wording))

    def candidates(self, squeezed: str) -> list[tuple[int, Wording]]:
        """Return the wordings worth trying, with their places, in order."""
        found: list[tuple[int, Wording]] = []
        for literal, of_it in self._by_literal.items():
            if literal in squeezed:
                found += of_it
        if len(found) > 1:
            found.sort(key=_place)
        return found


def _place(candidate: tuple[int, Wording]) -> int:
    return candidate[0]


def read(
    sender: str | None, body: str, *, network: str | None = None, own: Iterable[Wording] = ()
) -> Reading:
    """Say what a message says. Never raises, whatever the text.

    The sender only chooses which wordings are tried; whether it can be trusted is decided elsewhere.

    Args:
        sender: The originating address as decoded, or None when unknown.
        body: The whole message, all parts joined.
        network: Short name of the network whose wordings are the only ones to try. Without it those that send from
            there; when none is known to, every network's, Ghana's first, so that a pasted text can be read too.
        own: The shop's own wordings. They are tried last, and never on a text that one of ours knows and refuses: a
            wording of the shop's can add, and never weaken.

    Returns:
        A payment, a reversal, something else, or why nothing could be read. What only advertises is something else, when
        the sender is the network's own.
    """
    if len(body) > TEXT_CHARACTERS_MAX:
        return Unreadable(f"longer than {TEXT_CHARACTERS_MAX} characters")
    text = plain(body).strip()
    squeezed = squeeze(text)
    networks = _networks(sender, network)
    candidates = _index(networks).candidates(squeezed)
    for _, wording in candidates:
        reading = read_with(wording, text, squeezed)
        if reading is not None:
            return reading
    for _, wording in candidates:
        label = twice(wording, squeezed)
        if label is not None and all(guard in squeezed for guard in wording.guards):
            return Unreadable(
                f"perhaps {wording.network} {wording.name}, but {label!r} stands in it twice: once typed by the payer?"
            )
    for wording in own:
        reading = read_with(wording, text, squeezed) if wording.network in networks else None
        if reading is not None:
            return reading
    advertiser = _NETWORK_OF_OWN_SENDER.get(sender or "")
    if advertiser in networks and is_advert(squeezed):
        return NotPayment(network=advertiser, wording=ADVERT, kind=Kind.PROMO)
    return Unreadable(UNKNOWN)


def wordings() -> Iterator[Wording]:
    """Give every wording of every network."""
    for of_network in WORDINGS.values():
        yield from of_network


def provider_of(name_or_alias: str) -> str | None:
    """Return the canonical name of a provider, or None for an unknown one."""
    return _NAMES.get(name_or_alias)


def provider_of_network(network: str) -> str | None:
    """Return the provider of a network's short name, or None; only those that a shop can have a number at."""
    return _PROVIDER_OF_NETWORK.get(network)


def networks_of_country(region: str) -> tuple[str, ...]:
    """Return the short names of the networks of a country (ISO 3166 code), in the order in which they are tried."""
    return tuple(
        network
        for network, of_network in WORDINGS.items()
        if of_network and of_network[0].country.region == region.upper()
    )


def network_of_imsi(imsi: str) -> str | None:
    """Return the short name of the shop's network that issued a SIM, by the first five digits of its IMSI, or None.

    The IMSI and not the registered network: a roaming SIM still gets its own network's receipts.
    """
    return _NETWORK_OF_PLMN.get(imsi.strip()[:5])


def _networks(sender: str | None, network: str | None) -> tuple[str, ...]:
    if network is not None:
        return (network,)
    return _NETWORKS_OF_SENDER.get(sender or "", _EVERY_NETWORK)


_EVERY_NETWORK: Final = tuple(WORDINGS)


@cache
def _index_of(networks: tuple[str, ...]) -> _Index:
    return _Index(wording for network in networks for wording in WORDINGS[network])


def _index(networks: tuple[str, ...]) -> _Index:
    # A name that is no network's must not fill the cache.
    return _index_of(tuple(network for network in networks if network in WORDINGS))
