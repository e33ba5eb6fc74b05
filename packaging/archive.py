#!/usr/bin/env python3
"""Writes the archives of a release. The same files give the same bytes.

    archive.py tar OUT.tar.gz FOLDER PREFIX          a tarball, with everything below PREFIX
    archive.py deb OUT.deb FOLDER CONTROL            a Debian package of the files below FOLDER
    archive.py oci OUT.tar FOLDER MACHINE VERSION    an image in the layout of the Open Container Initiative

Entries are sorted, belong to root, and are as old as SOURCE_DATE_EPOCH says. A file can be executed if its owner may,
and all users can read it. Needs the standard library alone.
"""

import gzip
import hashlib
import io
import json
import lzma
import os
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def tar(files: dict[str, tuple[bytes | None, int]]) -> bytes:
    """A tar archive: each name with its content and mode. A folder has no content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.mtime, entry.mode = EPOCH, mode
            entry.uname = entry.gname = "root"
            if content is None:
                entry.type = tarfile.DIRTYPE
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content or b""))
    return out.getvalue()


def below(folder: Path, prefix: str) -> dict[str, tuple[bytes | None, int]]:
    """Everything in a folder, and the folders that it is in."""
    files: dict[str, tuple[bytes | None, int]] = {}
    for path in folder.rglob("*"):
        name = prefix + path.relative_to(folder).as_posix()
        if path.is_dir():
            files[name] = (None, 0o755)
        else:
            files[name] = (path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
    return files


def gzipped(content: bytes) -> bytes:
    """Level 9 takes three times as long, for less than a hundredth of the size."""
    return gzip.compress(content, 6, mtime=0)


def xz(content: bytes) -> bytes:
    """A fifth of the time that the default takes, for a sixth more of the size."""
    return lzma.compress(content, preset=1)


def deb(folder: Path, control: Path) -> bytes:
    files = below(folder, "./") | {"./": (None, 0o755)}
    contents = {name: content for name, (content, _) in files.items() if content is not None}
    # In KiB; a folder counts as one, as for dpkg-gencontrol.
    size = sum(-(-len(content) // 1024) for content in contents.values()) + len(files) - len(contents)
    sums = "".join(
        f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {name[2:]}\n"
        for name, content in sorted(contents.items())
    )
    about = below(control, "./") | {"./": (None, 0o755), "./md5sums": (sums.encode(), 0o644)}
    text = (control / "control").read_text().replace("@SIZE@", str(size))
    about["./control"] = (text.encode(), 0o644)
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": xz(tar(about)),
        "data.tar.xz": xz(tar(files)),
    }
    out = b"!<arch>\n"
    for name, content in members.items():
        out += f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def oci(folder: Path, machine: str, version: str) -> bytes:
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
    created = datetime.fromtimestamp(EPOCH, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "org.opencontainers.image.title": "layland",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    }
    blobs: dict[str, bytes] = {}

    def blob(kind: str, content: bytes) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    layer = tar(below(folder, "") | {"tmp": (None, 0o1777), "data": (None, 0o777)})
    config = {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/layland"],
            "Cmd": ["help"],
            "WorkingDir": "/data",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created, "created_by": "packaging/release.sh"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": blob(OCI_CONFIG, json.dumps(config).encode()),
        "layers": [blob(OCI_LAYER, gzipped(layer))],
        "annotations": labels | {"org.opencontainers.image.created": created},
    }
    entry = blob(OCI_MANIFEST, json.dumps(manifest).encode())
    entry["platform"] = {"architecture": architecture, "os": "linux"}
    name = f"localhost/layland:{version}"
    entry["annotations"] = {"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name}
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry],
    }
    files: dict[str, tuple[bytes | None, int]] = {name: (content, 0o644) for name, content in blobs.items()}
    files |= {"blobs": (None, 0o755), "blobs/sha256": (None, 0o755)}
    files["oci-layout"] = (b'{"imageLayoutVersion":"1.0.0"}', 0o644)
    files["index.json"] = (json.dumps(index).encode(), 0o644)
    return tar(files)


def main() -> None:
    kind, out, folder, *rest = sys.argv[1:]
    if kind == "tar":
        prefix = rest[0]
        files = below(Path(folder), prefix + "/") | {prefix: (None, 0o755)}
        content = gzipped(tar(files))
    elif kind == "deb":
        content = deb(Path(folder), Path(rest[0]))
    elif kind == "oci":
        content = oci(Path(folder), rest[0], rest[1])
    else:
        sys.exit(f"no such archive: {kind}")
    Path(out).write_bytes(content)


if __name__ == "__main__":
    main()
