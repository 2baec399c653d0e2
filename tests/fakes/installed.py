"""momo as a customer has it: a wheel built from this tree, in a venv or a zipapp of its own. Nothing is downloaded.

The libraries are those of the Python that runs the tests; momo itself is not among them, only the installed one is found.
"""

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipapp
from pathlib import Path

from tests.fakes.real_shop import ROOT

_SOURCES = ("momo_cli", "daemon", "parsers", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
_MAIN = "import runpy\nrunpy.run_module('momo_cli', run_name='__main__', alter_sys=True)\n"
LIBRARIES = sysconfig.get_path("purelib")


def run(*words: str | Path, cwd: Path | None = None) -> str:
    """Run a program to its end and return its output; fail with it."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """Build as `make wheel` does, in a copy of the sources; return the sdist and the wheel made from it."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    for name in _SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree / name)
    run(sys.executable, "-m", "momo_cli", "help", "--man", tree / "packaging/man", cwd=tree)
    run(
        _tool("uv"), "build", "--quiet", "--offline", "--no-build-isolation",
        "--python", sys.executable, "--out-dir", folder / "dist", cwd=tree,
    )  # fmt: skip
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    (wheel,) = (folder / "dist").glob("*.whl")
    return sdist, wheel


def make_venv(folder: Path, wheel: Path | None) -> Path:
    """Make a venv that finds the libraries, with momo from the wheel; return its folder of programs."""
    venv.create(folder, symlinks=True)
    libraries = folder / f"lib/python{sysconfig.get_python_version()}/site-packages/libraries.pth"
    libraries.write_text(f"{LIBRARIES}\n")
    if wheel is not None:
        run(
            _tool("uv"), "pip", "install", "--quiet", "--offline", "--no-index", "--no-deps", "--no-cache",
            "--python", folder / "bin/python", wheel,
        )  # fmt: skip
    return folder / "bin"


def make_zipapp(folder: Path, wheel: Path) -> Path:
    """Pack the wheel into one file that Python runs."""
    unpacked = folder / "unpacked"
    shutil.unpack_archive(wheel, unpacked, "zip")
    (unpacked / "__main__.py").write_text(_MAIN)
    target = folder / "momo.pyz"
    zipapp.create_archive(unpacked, target)
    shutil.rmtree(unpacked)
    return target


def _tool(name: str) -> Path:
    return Path(sysconfig.get_path("scripts")) / name
