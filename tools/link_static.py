#!/usr/bin/env python3
"""Links the command as one file that needs no library, and prints its path.

    tools/link_static.py [OPTION..]        the options with which `cargo test --workspace` was called

What that has compiled is only linked once more, which takes seconds. The machines of the system tests and the files of
a release in CI run this program; `packaging/build.sh` builds the one that is released.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent


def fail(why: str) -> None:
    sys.exit(f"failed to link the static program: {why}")


def built(options: list[str]) -> tuple[dict[str, str], list[str]]:
    """The library of each crate of ours, and where libraries of C are."""
    command = ["cargo", "test", "--workspace", "--no-run", "--quiet", "--message-format=json", *options]
    said = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=False)
    if said.returncode != 0:
        fail(f"{' '.join(command)} ended with {said.returncode}")
    libraries, folders = {}, []
    for line in said.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "build-script-executed":
            folders += message["linked_paths"]
        elif message["reason"] == "compiler-artifact" and not message["profile"]["test"]:
            name = message["target"]["name"]
            if message["target"]["kind"] == ["lib"] and name.startswith("layland"):
                libraries[name] = next(file for file in message["filenames"] if file.endswith(".rlib"))
    return libraries, folders


def main() -> None:
    libraries, folders = built(sys.argv[1:])
    for name in ("layland", "layland_policy"):
        if name not in libraries:
            fail(f"no library of {name} was built")
    dependencies = Path(libraries["layland"]).parent
    target = FOLDER / os.environ.get("CARGO_TARGET_DIR", "target")
    program = target / "tmp" / "static" / "layland"
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [os.environ.get("RUSTC", "rustc"), "--edition", "2024", "--crate-name", "layland", "--crate-type", "bin"]
    command += ["-Ctarget-feature=+crt-static", "-Cstrip=symbols", "-Cdebug-assertions=on", "-o", str(program)]
    # Libraries are kept beside their hashes, and in `deps` if cargo has put the file of a library on top of them.
    places = {dependencies, dependencies / "deps"}
    command += [option for place in sorted(places) for option in ("-L", f"dependency={place}")]
    command += [option for folder in folders for option in ("-L", folder)]
    for name in ("layland", "layland_policy"):
        command += ["--extern", f"{name}={libraries[name]}"]
    command.append(str(FOLDER / "crates/layland/src/main.rs"))
    linked = subprocess.run(command, cwd=FOLDER, check=False)
    if linked.returncode != 0:
        fail(f"rustc ended with {linked.returncode}")
    print(program)


if __name__ == "__main__":
    main()
