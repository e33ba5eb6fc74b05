#!/usr/bin/env python3
"""Checks a folder of HTML pages: every link to another file leads to one, and every anchor is there. No network."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places in it to which links can lead."""

    def __init__(self):
        super().__init__()
        self.links = []
        self.anchors = set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def read(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main(folder):
    root = Path(folder).resolve()
    pages = {path: read(path) for path in sorted(root.rglob("*.html"))}
    wrong = []
    checked = 0
    for path, page in pages.items():
        # One page with everything, which refers to itself, and a page for what is not there, which may be anywhere.
        if path.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                wrong.append(f"{path.relative_to(root)}: {link}")
            # The playground takes its set from the fragment.
            elif target.name == "play.html" and parts.fragment.startswith("s="):
                continue
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{path.relative_to(root)}: {link}: no such anchor")
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(f"{len(wrong)} links of {len(pages)} pages lead nowhere")
    if not pages or not checked:
        sys.exit(f"no pages in {folder}")
    print(f"the book: {len(pages)} pages, {checked} links")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check_links.py FOLDER")
    main(sys.argv[1])
