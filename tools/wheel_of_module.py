"""Makes the wheel of the Python package from an extension module that is built already.

    python tools/wheel_of_module.py MODULE FOLDER

writes `layland-VERSION-TAG.whl` into FOLDER, from MODULE (`target/debug/lib_layland.so`), the files in Python and the
metadata that maturin writes; and prints its path. Python and maturin are those of the environment. Nothing is compiled.
Symbols are taken out, as maturin does it (`strip = true` in pyproject.toml).
"""

import base64
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "crates/layland-python/python"
# The name of a module of the stable interface (PEP 3149).
NAME = "layland/_layland.abi3.so"


def metadata(folder: Path) -> Path:
    """The folder `.dist-info` that maturin writes into `folder`."""
    write = ["maturin", "pep517", "write-dist-info", "--metadata-directory", str(folder)]
    write += ["--interpreter", sys.executable]
    subprocess.run(write, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (found,) = folder.glob("*.dist-info")
    return found


def stripped(module: Path, folder: Path) -> Path:
    """A copy of the module without symbols, where there is `strip`."""
    copy = folder / "module.so"
    shutil.copy(module, copy)
    if shutil.which("strip"):
        subprocess.run(["strip", str(copy)], check=True)
    return copy


def contents(module: Path, info: Path) -> dict[str, Path]:
    """The files of the wheel by their names in it, in order."""
    python = (path for path in SOURCES.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = {path.relative_to(SOURCES).as_posix(): path for path in python}
    files[NAME] = module
    written = (path for path in info.rglob("*") if path.is_file())
    files |= {path.relative_to(info.parent).as_posix(): path for path in written}
    return dict(sorted(files.items()))


def add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Adds a file with the rights that maturin gives it, and the date that a file has by default."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (0o100755 if name == NAME else 0o100644) << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED, compresslevel=1)


def main() -> None:
    module, out = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        info = metadata(folder)
        lines = (info / "WHEEL").read_text().splitlines()
        (tag,) = (line.split()[1] for line in lines if line.startswith("Tag:"))
        wheel = out / f"{info.name.removesuffix('.dist-info')}-{tag}.whl"
        record = []
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, path in contents(stripped(module, folder), info).items():
                data = path.read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record.append(f"{name},sha256={digest},{len(data)}\n")
                add(archive, name, data)
            record.append(f"{info.name}/RECORD,,\n")
            add(archive, f"{info.name}/RECORD", "".join(record).encode())
    print(wheel)


if __name__ == "__main__":
    main()
