"""Build momo's Debian package: `make deb`, or `python packaging/deb/build.py --release 13 --arch arm64`.

One package per Debian release, because each has its own Python. momo and the libraries it needs go into a virtual
environment in /usr/lib/momo that runs on Debian's /usr/bin/python3. Only files of pinned wheels are copied and nothing of
the target is run, so a package for another release or architecture needs no machine of that kind. Compiled Python files
are made at installation, by Debian's py3compile. The same commit and wheels give the same package, byte for byte.
"""

import argparse
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

REPOSITORY: Final = Path(__file__).resolve().parents[2]
PARTS: Final = Path(__file__).resolve().parent
OUR_PACKAGES: Final = ("momo_cli", "daemon", "parsers")
PYTHON: Final = {"12": "3.11", "13": "3.13"}
SUITE: Final = {"12": "bookworm", "13": "trixie"}
GLIBC_MINOR: Final = {"12": 36, "13": 41}
MACHINE: Final = {"amd64": "x86_64", "arm64": "aarch64"}
LEFT_OUT: Final = frozenset({"pip", "psycopg-binary", "setuptools"})
"""pip and setuptools install packages, which dpkg does here; psycopg uses Debian's libpq5 instead of a copy of its own."""
DEPENDS: Final = (
    "python3 (>= {python}~), python3 (<< {next_python}~), libc6 (>= 2.34), libgcc-s1, adduser, "
    "ca-certificates, debconf (>= 0.5) | debconf-2.0"
)
CONTROL: Final = """\
Package: momo
Version: {version}
Architecture: {arch}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: {depends}
Suggests: libpq5, polkitd, udev
Section: misc
Priority: optional
Description: mobile-money payments at a shop, read from SMS
 momo reads the payment SMS of mobile-money networks from a USB modem, finds the
 order that each one pays, stores the payment, and sends signed webhooks to the
 shop's own software. There is no aggregator, no fee per payment, and nothing is
 lost without internet.
 .
 The shop is in /var/lib/momo and belongs to the user momo. Start with the
 command "sudo momo setup".
"""
UNITS: Final = {
    "/etc/systemd/system/": "usr/lib/systemd/system/",
    "/etc/sysusers.d/": "usr/lib/sysusers.d/",
    "/etc/modules-load.d/": "usr/lib/modules-load.d/",
    "/etc/udev/rules.d/": "usr/lib/udev/rules.d/",
    "/etc/polkit-1/rules.d/": "usr/share/polkit-1/rules.d/",
}
"""Where `momo daemon install --system` writes, and where a package has these files."""
COMMAND: Final = """\
#!/usr/lib/momo/bin/python3 -I
import sys

from momo_cli.__main__ import main

try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
"""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a build: a Debian release, its architecture, and the folder of the package's files."""

    release: str
    arch: str
    version: str
    root: Path

    @property
    def python(self) -> str:
        """The version of the release's Python, such as 3.11."""
        return PYTHON[self.release]

    @property
    def code(self) -> Path:
        """The folder of the libraries in the virtual environment."""
        return self.root / f"usr/lib/momo/lib/python{self.python}/site-packages"


def main() -> None:
    """Build the packages that the flags name."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--release", choices=PYTHON, action="append")
    options.add_argument("--arch", choices=MACHINE, action="append")
    options.add_argument("--out", type=Path, default=REPOSITORY / "dist")
    options.add_argument("--suffix", default="", help="appended to the version, such as ~test1")
    options.add_argument("--fast", action="store_true", help="compress little, for tests")
    given = options.parse_args()
    for release in given.release or PYTHON:
        for arch in given.arch or MACHINE:
            print(build(release, arch, given.out, given.suffix, fast=given.fast))


def build(release: str, arch: str, out: Path, suffix: str = "", *, fast: bool = False) -> Path:
    """Build one package into the folder `out` and return its path."""
    epoch = _epoch()
    with tempfile.TemporaryDirectory(prefix="momo-deb-") as scratch:
        version = f"{_project()['version']}+deb{release}{suffix}"
        target = Target(release, arch, version, Path(scratch) / "root")
        _install_wheels(target, Path(scratch))
        _make_environment(target)
        _add_program_files(target)
        _add_documents(target, epoch)
        _add_control(target)
        _set_modes_and_times(target.root, epoch)
        out.mkdir(parents=True, exist_ok=True)
        package = out / f"momo_{version}_{arch}.deb"
        pressed = ["-Zgzip", "-z1"] if fast else ["-Zxz"]
        words = ["dpkg-deb", "--root-owner-group", *pressed, "--build", target.root, package]
        environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
        subprocess.run(words, check=True, env=environ, stdout=subprocess.DEVNULL)
    return package


def _project() -> dict[str, str]:
    found = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    return dict(found)


def _maintainer() -> str:
    """Return the package's maintainer: `DEBFULLNAME` and `DEBEMAIL`, as Debian's tools do (debchange(1))."""
    name = os.environ.get("DEBFULLNAME", "The momo authors")
    return f"{name} <{os.environ.get('DEBEMAIL', 'momo@localhost.localdomain')}>"


def _epoch() -> int:
    """Return the time of the package's files: `SOURCE_DATE_EPOCH`, else that of the newest commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    words = ["git", "-C", REPOSITORY, "log", "-1", "--format=%ct"]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def _install_wheels(target: Target, scratch: Path) -> None:
    """Install the pinned libraries and momo itself, without running anything of theirs."""
    pinned = scratch / "requirements.txt"
    pinned.write_text("".join(_pinned(target)))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--quiet"]
    # Where the wheels are is decided by this machine's settings of pip.
    install = [*pip, "install", "--no-deps", "--no-compile", f"--target={target.code}"]
    install += ["--only-binary=:all:", "--implementation=cp", f"--python-version={target.python}"]
    install += [f"--platform={name}" for name in _platforms(target)]
    subprocess.run([*install, "--require-hashes", f"--requirement={pinned}"], check=True)
    source = scratch / "source"  # a copy, because setuptools keeps files of earlier builds
    source.mkdir()
    for name in OUR_PACKAGES:
        unneeded = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, source / name, ignore=unneeded)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={scratch}", source]
    subprocess.run(wheel, check=True)
    ours = next(scratch.glob("*.whl"))
    subprocess.run([*install, "--no-index", ours], check=True)


def _pinned(target: Target) -> Iterator[str]:
    """Yield the lines of requirements/extras.txt that this target needs.

    pip evaluates markers for the Python that runs it, so they are evaluated here for the target's.
    """
    facts = {
        "implementation_name": "cpython",
        "platform_machine": MACHINE[target.arch],
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{target.python}.0",
        "python_version": target.python,
        "sys_platform": "linux",
    }
    wanted = False
    for line in (REPOSITORY / "requirements/extras.txt").read_text().splitlines(keepends=True):
        if line[0].isalpha():
            requirement = Requirement(line.rstrip(" \\\n"))
            marker = requirement.marker
            wanted = requirement.name not in LEFT_OUT
            wanted = wanted and (marker is None or marker.evaluate(facts))
            if wanted:
                yield f"{requirement.name}{requirement.specifier} \\\n"
        elif wanted:
            yield line


def _platforms(target: Target) -> Iterator[str]:
    machine = MACHINE[target.arch]
    yield from (f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC_MINOR[target.release], 4, -1))
    yield from (f"manylinux{year}_{machine}" for year in ("2014", "2010", "1"))
    yield "any"


def _make_environment(target: Target) -> None:
    """Write the files of `python3 -m venv`, with the paths of the installed package."""
    home = target.root / "usr/lib/momo"
    (home / "bin").mkdir()
    (home / "bin/python3").symlink_to("../../../bin/python3")
    settings = f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {target.python}\n"
    (home / "pyvenv.cfg").write_text(settings)
    for name in ("bin", "share"):  # programs of the libraries, which name this machine's Python
        shutil.rmtree(target.code / name, ignore_errors=True)
    for pattern in ("RECORD", "REQUESTED", "INSTALLER", "direct_url.json"):
        for path in target.code.glob(f"*.dist-info/{pattern}"):
            path.unlink()


def _add_program_files(target: Target) -> None:
    root = target.root
    _write(root / "usr/bin/momo", COMMAND, 0o755)
    for path, text in _unit_files(target):
        start = next(start for start in UNITS if path.startswith(start))
        name = path.removeprefix(start)
        first, _, rest = text.partition("\n")
        if " Written by " in first:
            mark = first.partition(" ")[0]
            first = f"{mark} Part of the Debian package momo; own changes belong in /etc."
        _write(root / UNITS[start] / name, f"{first}\n{rest}")
    for shell, path in (
        ("bash", "bash-completion/completions/momo"),
        ("zsh", "zsh/vendor-completions/_momo"),
        ("fish", "fish/vendor_completions.d/momo.fish"),
    ):
        _write(root / "usr/share" / path, _momo("completion", shell))


def _unit_files(target: Target) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of the files of a system service, as the installed momo would write them.

    The package's momo runs with the libraries of this checkout: the package's own may be compiled for another Python.
    """
    environment = target.root / "usr/lib/momo"
    run = (
        "import sys, runpy; "
        f"sys.prefix = {str(environment)!r}; sys.executable = sys.prefix + '/bin/python3'; "
        f"sys.path.append({str(target.code)!r}); "
        "sys.argv[0] = 'momo'; runpy.run_module('momo_cli', run_name='__main__', alter_sys=True)"
    )
    words = ["daemon", "install", "--system", "--timers", "--print", "--json"]
    environ = {"PATH": os.defpath, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-c", run, *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environ, cwd=environment)
    for file in json.loads(done.stdout)["data"]["files"]:
        yield file["path"], file["text"].replace(str(target.root), "")


def _momo(*words: str) -> str:
    """Return the output of this checkout's command."""
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "momo_cli", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environ)
    return done.stdout


def _add_documents(target: Target, epoch: int) -> None:
    documents = target.root / "usr/share/doc/momo"
    when = datetime.fromtimestamp(epoch, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
    changes = (
        f"momo ({target.version}) {SUITE[target.release]}; urgency=medium\n\n"
        "  * The changes are in CHANGELOG.md.gz beside this file.\n\n"
        f" -- {_maintainer()}  {when}\n"
    )
    _write_compressed(documents / "changelog.gz", changes)
    _write_compressed(documents / "CHANGELOG.md.gz", (REPOSITORY / "CHANGELOG.md").read_text())
    _write(documents / "copyright", _copyright(target))
    overrides = target.root / "usr/share/lintian/overrides/momo"
    _write(overrides, (PARTS / "lintian-overrides").read_text())
    with tempfile.TemporaryDirectory() as folder:
        _momo("help", "--man", folder, "--quiet")
        for page in Path(folder).glob("*.1"):
            path = target.root / "usr/share/man/man1" / f"{page.name}.gz"
            _write_compressed(path, page.read_text())


def _copyright(target: Target) -> str:
    """Return momo's licence, and the licence of each library with the place of its text."""
    lines = ["momo, collects mobile-money payments at a shop.\n"]
    lines += [(REPOSITORY / "LICENSE").read_text()]
    lines += ["The package contains these libraries, each under its own licence. The LGPL is also in"]
    lines += ["/usr/share/common-licenses/LGPL-3.\n"]
    for folder in sorted(target.code.glob("*.dist-info")):
        facts = HeaderParser().parsestr((folder / "METADATA").read_text())
        if facts["Name"] == "momo-shop":
            continue
        kinds = [each for each in facts.get_all("Classifier", []) if each.startswith("License ::")]
        named = facts["License-Expression"] or (kinds[0] if kinds else facts["License"] or "")
        short = named.splitlines()[0].rpartition(":: ")[2] if named else "see its text"
        lines.append(f"  {facts['Name']} {facts['Version']}: {short}")
        patterns = ("*LICEN[CS]E*", "*COPYING*", "licenses/**/*")
        texts = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
        lines += [f"    /{path.relative_to(target.root)}" for path in sorted(texts)]
    return "\n".join(lines) + "\n"


def _add_control(target: Target) -> None:
    control = target.root / "DEBIAN"
    files = sorted(path for path in target.root.rglob("*") if path.is_file() and not path.is_symlink())
    sums = "".join(
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(target.root)}\n"
        for path in files
    )
    # Rounded up for each file, as dpkg-gencontrol counts.
    size = sum(-(-path.stat().st_size // 1024) for path in files)
    major, minor = target.python.split(".")
    depends = DEPENDS.format(python=target.python, next_python=f"{major}.{int(minor) + 1}")
    facts = {"version": target.version, "arch": target.arch, "size": size, "depends": depends}
    facts["maintainer"] = _maintainer()
    _write(control / "control", CONTROL.format(**facts))
    _write(control / "md5sums", sums)
    _write(control / "templates", (PARTS / "templates").read_text())
    for name in ("postinst", "prerm", "postrm"):
        _write(control / name, (PARTS / name).read_text(), 0o755)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _write_compressed(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _set_modes_and_times(root: Path, epoch: int) -> None:
    """Set the modes and the time of all files as in a package, independent of this machine's umask."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            own = path.stat().st_mode & 0o100 and path.is_relative_to(root / "usr/lib") is False
            path.chmod(0o755 if path.is_dir() or own else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


if __name__ == "__main__":
    main()
