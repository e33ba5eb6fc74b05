"""Puts the playground into one page: the template, its style, its scripts and the WebAssembly.

    packaging/play.py MODULE PAGE [MOST]

The same parts give the same bytes. A page that would ask for anything outside itself is refused by its own content
security policy: scripts run by the hash of their text, and nothing is loaded. One of more than MOST bytes is an error.
"""

import base64
import hashlib
import pathlib
import re
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPORT = ROOT / "crates/layland-report/assets"
PLAY = ROOT / "crates/layland-play/assets"

# The element that `layland play FILE` replaces.
START = '<script type="application/json" id="start">null</script>'


def text(path):
    return path.read_text(encoding="utf-8")


def together(paths):
    return "".join(text(path) for path in paths)


def scripts():
    """The scripts of a report but for the one that starts it, then those of the page."""
    report = [path for path in sorted(REPORT.glob("js/*.js")) if not path.name.startswith("90-")]
    return together(report + sorted(PLAY.glob("js/*.js")))


def packed(module):
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    digits = base64.b85encode(compressor.compress(module) + compressor.flush()).decode()
    # Inside a script `<` may begin its end, or a comment; `.` is not a digit.
    return digits.replace("<", ".")


def hashes(page, element):
    """The hashes that the policy allows: of each script that runs, or of each style, by its text."""
    texts = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
    assert texts, f"a page without a {element} does nothing"
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def main():
    module, out = map(pathlib.Path, sys.argv[1:3])
    most = int(sys.argv[3]) if len(sys.argv) > 3 else None
    parts = {
        "style": text(REPORT / "report.css") + together(sorted(PLAY.glob("*.css"))),
        "scripts": scripts(),
        "worker": text(PLAY / "worker.js"),
        "wasm": packed(module.read_bytes()),
        "uplot": text(REPORT / "vendor/uPlot.iife.min.js"),
        "uplot_style": text(REPORT / "vendor/uPlot.min.css"),
        "uplot_licence": text(REPORT / "vendor/uPlot-LICENSE"),
    }
    template = text(PLAY / "play.html")
    places = set(re.findall(r"\{\{ (\w+) \}\}", template)) - {"script_hashes", "style_hashes"}
    unknown = places - parts.keys()
    if unknown:
        sys.exit(f"play.html names parts that there are not: {', '.join(sorted(unknown))}")
    for place in sorted(places & {"scripts", "worker", "uplot"}):
        if "</script" in parts[place]:
            sys.exit(f"a script must not end itself: {place}")
    # In one pass: what looks like a place in a part is none.
    page = re.sub(r"\{\{ (\w+) \}\}", lambda found: parts.get(found[1], found[0]), template)
    for element in ("script", "style"):
        page = page.replace(f"{{{{ {element}_hashes }}}}", hashes(page, element), 1)
    if page.count(START) != 1:
        sys.exit(f"play.html needs this once: {START}")
    out.write_text(page, encoding="utf-8", newline="\n")
    size = len(page.encode())
    if most is not None and size > most:
        sys.exit(f"the page has {size} bytes, more than {most}")


if __name__ == "__main__":
    main()
