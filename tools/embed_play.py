#!/usr/bin/env python3
"""Puts the playground into the built book: below each picture and each check of the pages about policies and analyses,
with the set of its command.

    tools/embed_play.py BOOK PROGRAM PAGE

The embedded pages are folded up, need no script, and are loaded when a reader unfolds them; the pictures stay.
"""

import argparse
import base64
import html
import json
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
FOLDERS = ("policies", "analyses")

CAPTION = r"<p><code>layland (sim) (?P<sim>[^<]*)</code></p>"
BLOCK = r'<pre><code class="language-console">\$ layland (check|sim) (?P<block>[^\n<]*)\n[^<]*</code></pre>'

FRAME = """
<details class="play"><summary>Change it, and watch</summary>
<iframe src="../play.html{fragment}" loading="lazy" title="The playground, with this set under {policies}"></iframe>
<p><a href="../play.html{alone}">In a page of its own</a></p></details>
"""


def parser():
    """Those options of the commands that say what a picture is about."""
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("set", nargs="?")
    options.add_argument("-t", "--task", action="append", default=[])
    options.add_argument("--cpus")
    options.add_argument("-p", "--policy", default="")
    options.add_argument("--until")
    options.add_argument("--design")
    # These are not about the set, but their values must not be taken for a set.
    for other in ("--test", "--chart", "--effort", "--tick", "--reserve", "--window", "--seed", "--fail-on", "-o"):
        options.add_argument(other)
    flags = ("--all", "--bounds", "--no-margin", "--cycle", "--per-task", "--check", "--cite", "--json", "--sensitivity")
    for other in flags:
        options.add_argument(other, action="store_true")
    return options


def set_of(program, asked, folder):
    """The task-set file of a command; none if the command is about a file that the book does not have."""
    if asked.set and asked.set.startswith("demo:") and not asked.cpus:
        said = subprocess.run([program, "demos", asked.set], capture_output=True, text=True, check=True)
        return said.stdout
    if asked.set and not asked.set.startswith("demo:"):
        file = folder / asked.set
        if not file.is_file():
            return None
        if file.suffix == ".toml" and not asked.cpus:
            return file.read_text(encoding="utf-8")
    command = [program, "convert", *([asked.set] if asked.set else [])]
    for task in asked.task:
        command += ["-t", task]
    if asked.cpus:
        command += ["--cpus", asked.cpus]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder if folder.is_dir() else None).stdout


def fragment(start):
    """As the page reads it (playground.rs)."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = compressor.compress(json.dumps(start).encode()) + compressor.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def frame(program, command, folder):
    asked = parser().parse_args(shlex.split(command))
    # The page designs nothing.
    text = None if asked.design else set_of(program, asked, folder)
    if text is None:
        return None
    start = {"set": text}
    if asked.policy:
        start["policies"] = asked.policy.split(",")
    if asked.until:
        start["until"] = asked.until
    return FRAME.format(
        fragment=fragment({**start, "embedded": True}),
        alone=fragment(start),
        policies=html.escape(asked.policy or "every policy"),
    )


def main(book, program, page):
    book, program = Path(book), str(Path(program).resolve())
    shutil.copyfile(page, book / "play.html")
    frames = 0
    for file in (file for folder in FOLDERS for file in sorted((book / folder).glob("*.html"))):
        folder = DOCS / file.parent.name / f"{file.stem}.in"
        seen = set()

        def put(found):
            nonlocal frames
            command = html.unescape(found["sim"] or found["block"])
            made = None if command in seen else frame(program, command, folder)
            seen.add(command)
            frames += made is not None
            return found[0] + (made or "")

        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(f"{CAPTION}|{BLOCK}", put, text), encoding="utf-8")
    if not frames:
        sys.exit("no command of the book has a playground")
    print(f"the book: {frames} playgrounds")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: embed_play.py BOOK PROGRAM PAGE")
    main(*sys.argv[1:])
