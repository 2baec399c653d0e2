"""Make the files of a release in dist/ from the newest commit: `make release`.

sdist, wheel, four Debian packages, an SBOM (CycloneDX 1.6), the release notes, and SHA256SUMS over all of them. Two builds of one
commit are byte-identical: file times are those of the commit, and names and owners do not depend on the machine.
"""

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.dependency import Dependency
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement

REPOSITORY: Final = Path(__file__).resolve().parents[1]
BUILD_ONLY: Final = {"packaging", "pip", "setuptools"}
"""Pinned for building; not part of what is installed."""


def main() -> None:
    """Build into the folder of `--out`, which must be empty or missing."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--out", type=Path, default=REPOSITORY / "dist")
    options.add_argument("--fast", action="store_true", help="one Debian package, for tests")
    given = options.parse_args()
    if given.out.exists() and any(given.out.iterdir()):
        sys.exit(f"{given.out} is not empty: a release has only its own files. next: rm -r {given.out}")
    if _git("status", "--porcelain", "--untracked-files=no"):
        sys.exit("There are changes without a commit, and a release is made of a commit. next: git commit")
    os.umask(0o022)  # the permissions of the files in the wheel
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="momo-release-") as folder:
        source = Path(folder) / "momo"
        _export(source)
        build(source, given.out.resolve(), int(_git("log", "-1", "--format=%ct")), fast=given.fast)
    for path in sorted(given.out.iterdir()):
        print(path)


def build(source: Path, out: Path, epoch: int, *, fast: bool) -> None:
    """Build all files of the release from the exported sources.

    Args:
        source: The files of the commit, in a folder that may be written.
        out: An empty folder.
        epoch: The time of all files, in seconds since 1970.
        fast: Only one Debian package, of another Python and architecture than the machine of the tests.
    """
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONPATH": str(source)}
    environ |= {"PYTHONDONTWRITEBYTECODE": "1", "DPKG_DEB_THREADS_MAX": "1"}  # threads change how xz divides a file

    def run(*words: str | Path) -> None:
        subprocess.run([sys.executable, *words], check=True, cwd=source, env=environ, stdout=subprocess.DEVNULL)

    run("-m", "momo_cli", "help", "--man", "packaging/man", "--quiet")
    made = source / "build-release"
    for kind in ("sdist", "wheel"):
        run("-W", "ignore", "-c", f"from setuptools.build_meta import *; build_{kind}({str(made)!r})")
    (wheel,) = made.glob("*.whl")
    (sdist,) = made.glob("*.tar.gz")
    shutil.copy(wheel, out)
    _repack(sdist, out / sdist.name, epoch)
    shutil.rmtree(source / "packaging/man")
    run("packaging/deb/build.py", f"--out={out}", *(("--fast", "--release=13", "--arch=arm64") if fast else ()))
    version = tomllib.loads((source / "pyproject.toml").read_text())["project"]["version"]
    (out / f"momo-{version}.cdx.json").write_text(sbom(source, version, epoch))
    (out / f"momo-{version}.notes").write_text(notes((source / "CHANGELOG.md").read_text(), version))
    files = sorted(path for path in out.iterdir() if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(sums))


def notes(changelog: str, version: str) -> str:
    """Return the section of a version, or of what is not released yet, without its heading.

    Raises:
        SystemExit: The changelog has neither.
    """
    for name in (version, "Unreleased"):
        found = re.search(rf"^## \[{re.escape(name)}\].*?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
        if found:
            return f"# momo {version}\n\n{found[1].strip()}\n"
    sys.exit(f"CHANGELOG.md has no section [{version}].")


def sbom(source: Path, version: str, epoch: int) -> str:
    """Return the bill of materials: momo and every library of its packages, with the hashes of the files that pip accepts."""
    required = {name for name, _, _ in _pins(source / "requirements/runtime.txt")}
    libraries = [
        Component(
            name=name,
            version=pinned,
            purl=(purl := PackageURL("pypi", name=name, version=pinned)),
            bom_ref=str(purl),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in digests],
            scope=ComponentScope.REQUIRED if name in required else ComponentScope.OPTIONAL,
        )
        for name, pinned, digests in _pins(source / "requirements/extras.txt")
        if name not in BUILD_ONLY
    ]
    project = Component(name="momo-shop", version=version, type=ComponentType.APPLICATION, bom_ref="momo-shop")
    bom = Bom(
        components=libraries,
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"pkg:pypi/momo-shop@{version}?epoch={epoch}"),
        metadata=BomMetaData(component=project, timestamp=datetime.fromtimestamp(epoch, UTC)),
        dependencies=[Dependency(project.bom_ref, [Dependency(each.bom_ref) for each in libraries])],
    )
    return f"{JsonV1Dot6(bom).output_as_string(indent=2)}\n"


def _pins(path: Path) -> list[tuple[str, str, list[str]]]:
    """Return the name, version and SHA-256 hashes of each package of a requirements file."""
    pins: list[tuple[str, str, list[str]]] = []
    for line in path.read_text().splitlines():
        if line[:1].isalpha():
            requirement = Requirement(line.rstrip(" \\"))
            pins.append((requirement.name, str(requirement.specifier).removeprefix("=="), []))
        elif digest := re.search("--hash=sha256:([0-9a-f]{64})", line):
            pins[-1][2].append(digest[1])
    return pins


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", REPOSITORY, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _export(folder: Path) -> None:
    """Write the files of the newest commit into a folder."""
    archive = subprocess.run(["git", "-C", REPOSITORY, "archive", "HEAD"], check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")


def _repack(archive: Path, path: Path, epoch: int) -> None:
    """Copy a .tar.gz with its members in order, without times, owners and permissions of this machine."""
    buffer = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode, member.pax_headers = (0o755 if member.isdir() or member.mode & 0o100 else 0o644, {})
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed:
        packed.write(buffer.getvalue())


if __name__ == "__main__":
    main()
