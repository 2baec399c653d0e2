"""The one door of the room: which network a message may come from, and what it says."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from parsers.networks import at_gh, mtn_gh, telecel_gh
from parsers.reading import Reading, Unreadable
from parsers.template import TEXT_CHARACTERS_MAX, Wording, read_with, squeeze


@dataclass(frozen=True, slots=True)
class Provider:
    """A wallet service that lines can belong to.

    Attributes:
        name: As stored and returned (`momo_mtn`).
        display_name: For people.
        network: Short name of the network (`mtn`).
        aliases: Other names that are accepted for it.
        currency: ISO 4217 code of what it pays in.
        senders: The originating addresses its receipts come from, to the byte; empty while none is known for sure.
        plmns: MCC and MNC of its SIMs (the first digits of an IMSI).
    """

    name: str
    display_name: str
    network: str
    aliases: tuple[str, ...]
    currency: str
    senders: tuple[str, ...]
    plmns: tuple[str, ...]


PROVIDERS: Final = {
    provider.name: provider
    for provider in (
        Provider(
            name=mtn_gh.PROVIDER,
            display_name="MTN MoMo",
            network=mtn_gh.NETWORK,
            aliases=(),
            currency="GHS",
            senders=mtn_gh.SENDERS,
            plmns=mtn_gh.PLMNS,
        ),
        Provider(
            name=telecel_gh.PROVIDER,
            display_name="Telecel Cash",
            network=telecel_gh.NETWORK,
            aliases=("momo_vodafone",),
            currency="GHS",
            senders=telecel_gh.SENDERS,
            plmns=telecel_gh.PLMNS,
        ),
        Provider(
            name=at_gh.PROVIDER,
            display_name="AT Money",
            network=at_gh.NETWORK,
            aliases=("momo_airteltigo", "momo_tigo"),
            currency="GHS",
            senders=at_gh.SENDERS,
            plmns=at_gh.PLMNS,
        ),
    )
}
"""Every provider, by its canonical name (decisions.md section 3)."""

_WORDINGS: Final = {module.NETWORK: module.WORDINGS for module in (mtn_gh, telecel_gh, at_gh)}
_NETWORK_OF_SENDER: Final = {
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


def read(sender: str | None, body: str, *, network: str | None = None) -> Reading:
    """Say what a message says. Never raises, whatever the text.

    The sender only chooses which wordings are tried; whether it can be trusted is decided elsewhere.

    Args:
        sender: The originating address as decoded, or None when unknown.
        body: The whole message, all parts joined.
        network: Short name of the network whose wordings are the only ones to try. Without it the sender's; when no
            network is known to send from there, every network's, so that a pasted text can be read too.

    Returns:
        A payment, a reversal, something else, or why nothing could be read.
    """
    if len(body) > TEXT_CHARACTERS_MAX:
        return Unreadable(f"longer than {TEXT_CHARACTERS_MAX} characters")
    text = body.strip()
    squeezed = squeeze(text)
    for wording in _wordings(sender, network):
        reading = read_with(wording, text, squeezed)
        if reading is not None:
            return reading
    return Unreadable("no known wording")


def wordings() -> Iterator[Wording]:
    """Give every wording of every network."""
    for of_network in _WORDINGS.values():
        yield from of_network


def provider_of(name_or_alias: str) -> str | None:
    """Return the canonical name of a provider, or None for an unknown one."""
    return _NAMES.get(name_or_alias)


def provider_of_network(network: str) -> str | None:
    """Return the provider of a network's short name, or None."""
    return _PROVIDER_OF_NETWORK.get(network)


def network_of_imsi(imsi: str) -> str | None:
    """Return the short name of the network that issued a SIM, by the first five digits of its IMSI, or None.

    The IMSI and not the registered network: a roaming SIM still gets its own network's receipts.
    """
    return _NETWORK_OF_PLMN.get(imsi.strip()[:5])


def _wordings(sender: str | None, network: str | None) -> Iterator[Wording]:
    if network is None and sender is not None:
        network = _NETWORK_OF_SENDER.get(sender)
    if network is None:
        return wordings()
    return iter(_WORDINGS.get(network, ()))
