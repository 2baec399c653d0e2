"""The master key as a credential that systemd opens for the service alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from daemon.runtime.secrets import CREDENTIAL, SecretsElsewhere, SecretsLocked, Vault
from daemon.wire import Places


def key_file(places: Places) -> Path:
    return Path(places.master_key)


def credentials(tmp_path: Path, key: str) -> str:
    """Return a folder of credentials as systemd makes it: readable, and not to be written."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / CREDENTIAL).write_text(key)
    (folder / CREDENTIAL).chmod(0o440)
    return str(folder)


def test_a_key_that_was_moved_into_the_service_s_credentials_opens_what_it_sealed(
    places: Places, tmp_path: Path
) -> None:
    sealed = Vault(places, "auto").seal(b"x", "p")
    folder = credentials(tmp_path, key_file(places).read_text())
    key_file(places).write_text("credential\n")
    assert Vault(places, "auto", folder).unseal(sealed, "p") == b"x"
    # Outside the service there is no key, and none is made.
    outside = Vault(places, "auto")
    for act in (lambda: outside.unseal(sealed, "p"), lambda: outside.seal(b"y", "p")):
        with pytest.raises(SecretsElsewhere, match="only the service can read it"):
            act()
    assert key_file(places).read_text() == "credential\n"
    (tmp_path / "credentials" / CREDENTIAL).unlink()
    with pytest.raises(SecretsLocked, match=f"no credential {CREDENTIAL}: No such file"):
        Vault(places, "auto", folder).unseal(sealed, "p")


def test_a_service_that_has_a_credential_makes_it_the_key_of_a_new_shop(
    places: Places, tmp_path: Path
) -> None:
    desktop = replace(places, self_contained=False)
    Vault(replace(desktop, master_key=str(tmp_path / "other")), "file").seal(b"x", "p")
    folder = credentials(tmp_path, (tmp_path / "other").read_text())
    sealed = Vault(desktop, "auto", folder).seal(b"x", "p")
    assert key_file(desktop).read_text() == "credential\n"
    assert Vault(desktop, "auto", folder).unseal(sealed, "p") == b"x"


def test_a_key_in_its_file_stays_the_key_whatever_credential_there_is(
    places: Places, tmp_path: Path
) -> None:
    sealed = Vault(places, "auto").seal(b"x", "p")
    folder = credentials(tmp_path, "A" * 43 + "=")
    assert Vault(places, "auto", folder).unseal(sealed, "p") == b"x"
