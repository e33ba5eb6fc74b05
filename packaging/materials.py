#!/usr/bin/env python3
"""Says what a program is made of: a bill of materials (CycloneDX 1.5), and every licence with its text.

    materials.py PACKAGE TARGET FEATURES SBOM.json LICENCES.txt

PACKAGE is `layland`, the static program, or `layland-python`, the module of the wheel. The crates are those that cargo
links into it for this target with these features, from the lock file; crates that only take part in building are listed
with the scope `excluded`. For targets with glibc the static C libraries are those of the Debian packages that are
installed here. Needs cargo, with the sources of all crates, and the standard library alone.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100

MUSL = """Copyright © 2005-2020 Rich Felker, et al.

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

# libunwind, which unwinds the stack of a panic where the C library is musl, in what rustup installs and in Zig.
LLVM_EXCEPTION = """---- LLVM Exceptions to the Apache 2.0 License ----

As an exception, if, as a result of your compiling your source code, portions of this Software are embedded
into an Object form of such source code, you may redistribute such embedded portions in such Object form
without complying with the conditions of Sections 4(a), 4(b) and 4(d) of the License.

In addition, if you combine or link compiled forms of this Software with software that is licensed under the
GPLv2 ("Combined Software") and if a court of competent jurisdiction determines that the patent provision
(Section 3), the indemnity provision (Section 9) or other Section of the License conflicts with the conditions
of the GPLv2, you may retroactively and prospectively choose to deem waived or otherwise exclude such
Section(s) of the License, but only in their entirety and only with respect to the Combined Software.
"""

NOTE = """Layland is free software, under the licences MIT or Apache-2.0, as you prefer. The program contains
the parts below, under licences of their own. Where a part offers several licences, any of them will do.
"""

NOTE_GLIBC = """
Parts of the GNU C library and of libelf (elfutils) are linked into the program. They are under the GNU
Lesser General Public License (libelf: that, or the GNU General Public License, version 2). You may
replace them: all sources of Layland and the script that links them (packaging/build.sh) are public, the
versions of the libraries are below, and their sources are in the archives of the distribution that is named.
"""


class Part:
    """A library that is in the program, or that takes part in building it."""

    def __init__(self, name: str, version: str, licence: str, purl: str) -> None:
        self.name, self.version, self.licence, self.purl = name, version, licence, purl
        self.checksum = ""
        self.is_linked = True
        self.texts: list[str] = []
        self.needs: set[str] = set()

    def in_words(self) -> str:
        return f"{self.name} {self.version}".rstrip()


def said(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def crates(package: str, target: str, features: str) -> list[Part]:
    """All crates, with the texts of their licences."""
    chosen = ["--features", features] if features else []
    tree = ["cargo", "tree", "--locked", "-p", package, "--target", target, *chosen, "--prefix", "none"]

    def names(edges: str) -> set[tuple[str, str]]:
        lines = said(*tree, "-e", edges, "-f", "{p}").splitlines()
        return {(name, version[1:]) for name, version, *_ in map(str.split, filter(None, lines))}

    # The output of a macro is a part of the program, so that macros count.
    linked, all_of_them = names("normal"), names("normal,build")
    ours = [f"{package}/{feature}" for feature in features.split(",") if feature]
    metadata = json.loads(
        said("cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", target,
             *(["--features", ",".join(ours)] if ours else []))
    )
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(each["name"], each["version"]): each.get("checksum", "") for each in lock["package"]}
    purls = {each["id"]: f"pkg:cargo/{each['name']}@{each['version']}" for each in metadata["packages"]}
    needs = {each["id"]: {needed["pkg"] for needed in each["deps"]} for each in metadata["resolve"]["nodes"]}
    parts = []
    for each in metadata["packages"]:
        key = (each["name"], each["version"])
        if key not in all_of_them:
            continue
        # An older way to write a choice.
        licence = (each["license"] or "").replace("/", " OR ")
        part = Part(*key, licence, purls[each["id"]])
        part.checksum = checksums[key]
        part.is_linked = key in linked
        part.needs = {purls[needed] for needed in needs[each["id"]]}
        folder = Path(each["manifest_path"]).parent
        if each["source"] is None:
            part.texts = [(ROOT / name).read_text() for name in ("LICENSE-MIT", "LICENSE-APACHE")]
            if part.is_linked:
                parts += assets(folder)
        else:
            part.texts = texts_of(folder)
        if not part.texts and "Apache-2.0" in licence:
            part.texts = [(ROOT / "LICENSE-APACHE").read_text()]
        if part.is_linked and not part.texts:
            sys.exit(f"failed to find the licence of {part.in_words()}: its sources have no such file")
        parts.append(part)
    there = {part.purl for part in parts}
    for part in parts:
        part.needs &= there
    return parts


def texts_of(folder: Path) -> list[str]:
    """The licences in the folder of a crate, and of libbpf, which comes within the crate that links it."""
    name = re.compile(r"(un)?licen[sc]e|copying|copyright|notice", re.IGNORECASE)
    paths = [*folder.glob("*"), *folder.glob("libbpf/*")]
    return [path.read_text() for path in sorted(paths) if path.is_file() and name.match(path.name)]


def assets(folder: Path) -> list[Part]:
    """Fonts and scripts of others within a crate of ours: each has its licence beside it."""
    parts = []
    for path in sorted(folder.rglob("*-LICENSE")):
        name, text = path.name.removesuffix("-LICENSE"), path.read_text()
        if "SIL OPEN FONT LICENSE Version 1.1" in text:
            licence = "OFL-1.1"
        elif "Permission is hereby granted, free of charge" in text:
            licence = "MIT"
        else:
            sys.exit(f"failed to recognize the licence {path.relative_to(ROOT)}")
        heads = b"".join(each.read_bytes()[:200] for each in sorted(path.parent.glob(name + "*")))
        version = re.search(rb"\bv(?:ersion )?(\d+\.\d+\.\d+)", heads)
        if not version:
            sys.exit(f"failed to find the version of {name} in {path.parent.relative_to(ROOT)}")
        number = version[1].decode()
        part = Part(name, number, licence, f"pkg:generic/{name}@{number}")
        part.texts = [text]
        parts.append(part)
    return parts


def standard_library() -> Part:
    version = said("rustc", "--version").split()[1]
    part = Part("rust-std", version, "MIT OR Apache-2.0", f"pkg:generic/rust-std@{version}")
    folder = Path(said("rustc", "--print", "sysroot").strip()) / "share/doc/rust/licenses"
    part.texts = [path.read_text() for name in ("MIT", "Apache-2.0") for path in folder.glob(f"{name}.txt")]
    return part


def c_libraries(target: str, features: str) -> list[Part]:
    """The libraries that are linked statically beside crates."""
    if target.endswith("-musl"):
        musl = Part("musl", "", "MIT", "pkg:generic/musl")
        musl.texts = [MUSL]
        unwind = Part("libunwind", "", "Apache-2.0 WITH LLVM-exception", "pkg:generic/libunwind")
        unwind.texts = [(ROOT / "LICENSE-APACHE").read_text() + "\n" + LLVM_EXCEPTION]
        return [musl, unwind]
    libraries = {"c": "LGPL-2.1-or-later", "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1"}
    if "ext" in features:
        libraries |= {"elf": "GPL-2.0-or-later OR LGPL-3.0-or-later", "z": "Zlib"}
    # Packages refer to these files for the texts of licences.
    in_full = {"c": ["LGPL-2.1"], "gcc": ["GPL-3"], "elf": ["GPL-2", "LGPL-3", "GPL-3"], "z": []}
    machine = target.split("-")[0]
    compiler = os.environ.get("CC", "cc") if machine == os.uname().machine else f"{machine}-linux-gnu-gcc"
    release = Path("/etc/os-release").read_text()
    system = (re.search(r"^ID=\"?(\w+)", release, re.MULTILINE) or ["", "linux"])[1]
    parts = []
    for name, licence in libraries.items():
        file = said(compiler, f"-print-file-name=lib{name}.a").strip()
        try:
            # With the kind of machine, where there are several: each has a version of its own.
            installed = said("dpkg-query", "--search", os.path.realpath(file)).split(": ")[0]
            version = said("dpkg-query", "--show", "--showformat=${Version}", installed)
        except (OSError, subprocess.CalledProcessError):
            print(f"without the licence of lib{name}.a: no Debian package has {file}", file=sys.stderr)
            parts.append(Part(f"lib{name}.a", "", licence, f"pkg:generic/lib{name}"))
            continue
        package = installed.split(":")[0]
        part = Part(f"lib{name}.a of {package}", version, licence, f"pkg:deb/{system}/{package}@{version}")
        texts = [Path("/usr/share/doc", package, "copyright")]
        texts += [Path("/usr/share/common-licenses", each) for each in in_full[name]]
        part.texts = [text.read_text() for text in texts]
        parts.append(part)
    return parts


def bill(parts: list[Part], package: str, target: str) -> dict[str, object]:
    """CycloneDX, without a serial number: the same program has the same bill."""
    top = next(part for part in parts if part.name == package)

    def component(part: Part) -> dict[str, object]:
        known: dict[str, object] = {
            "type": "application" if part is top else "library",
            "bom-ref": part.purl,
            "name": part.name,
        }
        known |= {"version": part.version} if part.version else {}
        if part is not top:
            known["scope"] = "required" if part.is_linked else "excluded"
        if part.checksum:
            known["hashes"] = [{"alg": "SHA-256", "content": part.checksum}]
        return known | {"licenses": [{"expression": part.licence}], "purl": part.purl}

    created = datetime.fromtimestamp(EPOCH, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": created,
            "component": component(top),
            "properties": [{"name": "layland:target", "value": target}],
        },
        "components": [component(part) for part in parts if part is not top],
        "dependencies": [{"ref": part.purl, "dependsOn": sorted(part.needs)} for part in parts],
    }


def report(parts: list[Part], version: str, target: str) -> str:
    """A table of all parts, then each text with those that it belongs to."""
    lines = [f"Licences of layland {version} for {target}", "", NOTE]
    lines += [NOTE_GLIBC] if any("LGPL-2.1-or-later" in part.licence for part in parts) else []
    width = max(len(part.in_words()) for part in parts)
    lines += [f"{part.in_words():<{width}}  {part.licence}" for part in parts]
    # By its words: the same text is broken differently by different people.
    owners: dict[str, list[str]] = {}
    whole: dict[str, str] = {}
    for part in parts:
        for text in part.texts:
            words = " ".join(text.split())
            whole.setdefault(words, text.strip("\n"))
            if part.in_words() not in owners.setdefault(words, []):
                owners[words].append(part.in_words())
    for words, names in owners.items():
        lines += ["", "=" * WIDTH, ", ".join(names), "-" * WIDTH, whole[words]]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def main() -> None:
    package, target, features, to_bill, to_report = sys.argv[1:]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    parts = [*crates(package, target, features), standard_library()]
    if package == "layland":
        parts += c_libraries(target, features)
    parts.sort(key=lambda part: (part.name, part.version))
    Path(to_bill).write_text(json.dumps(bill(parts, package, target), indent=1) + "\n")
    Path(to_report).write_text(report([part for part in parts if part.is_linked], version, target))


if __name__ == "__main__":
    main()
