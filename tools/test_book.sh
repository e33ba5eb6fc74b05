#!/usr/bin/env bash
# Builds the book into target/book, and fails on a warning of mdBook or a link of the built pages that leads nowhere.
# The output of its commands, its pictures and its tables are tested by `cargo test -p layland --test book`.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "skipped: needs Python 3.11 or newer (python3)"
  exit 0
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  echo "skipped: needs venv and pip (python3-venv)"
  exit 0
fi

environment=$PWD/target/book-environment
needs=tools/book_requirements.txt
if ! cmp -s "$needs" "$environment/installed.txt"; then
  rm -rf "$environment"
  "$python" -m venv "$environment"
  if ! "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$needs"; then
    echo "skipped: needs the packages of $needs (a package index)"
    exit 0
  fi
  cp "$needs" "$environment/installed.txt"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -rf target/book
status=0
"$environment/bin/mdbook" build >"$log" 2>&1 || status=$?
if [ "$status" != 0 ] || grep -qE 'WARN|ERROR' "$log"; then
  cat "$log"
  echo "mdBook has something to say about the book" >&2
  exit 1
fi
# The playground, where it and the program are built.
page=${LAYLAND_PLAY:-target/play/layland-play.html}
program=target/debug/layland
if [ -f "$page" ] && [ -x "$program" ]; then
  "$python" tools/embed_play.py target/book "$program" "$page"
else
  echo "skipped: needs the page of the playground (tools/test_play.sh)"
fi
"$python" tools/check_links.py target/book
