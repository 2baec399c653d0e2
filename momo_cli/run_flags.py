"""The flags of `daemon run`, which `daemon start` takes too."""

from collections.abc import Sequence


def run_flags(
    http: str | None,
    modems: Sequence[str],
    *,
    simulated_phone: bool,
    insecure_http: bool = False,
    log_json: bool = False,
    supervised: bool = False,
) -> tuple[str, ...]:
    """Return the flags as the daemon's program takes them."""
    flags: list[str] = []
    if http is not None:
        flags.append(f"--http={http}")
    if insecure_http:
        flags.append("--insecure-http")
    flags += [f"--modem={modem}" for modem in modems]
    if simulated_phone:
        flags.append("--simulated-phone")
    if log_json:
        flags.append("--log-json")
    if supervised:
        flags.append("--supervised")
    return tuple(flags)
