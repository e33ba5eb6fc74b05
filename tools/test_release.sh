#!/usr/bin/env bash
# Tests the files of a release, in short: makes them twice, in two folders, from the static program that the system
# tests have built, compares all bytes, and tries them in empty roots. The wheel is built from what the tests of the
# Python package have built. Two builds of the program itself are compared by packaging/reproduce.sh, in minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${LAYLAND_STATIC:-${CARGO_TARGET_DIR:-target}/tmp/kernels/target/x86_64-unknown-linux-gnu/debug/layland}
if [ ! -x "$program" ]; then
  echo "skipped: needs the static program of the system tests (cargo test -p layland-system-tests)"
  exit 0
fi
if ! command -v readelf >/dev/null; then
  echo "skipped: needs readelf (binutils)"
  exit 0
fi
if ! "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "skipped: needs Python 3.11 or newer (python3)"
  exit 0
fi

page=${LAYLAND_PLAY:-target/play/layland-play.html}
pages=()
if [ -f "$page" ]; then
  pages=(--page "$page")
else
  echo "skipped: needs the page of the playground (tools/test_play.sh)"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in one two; do
  # In the second folder everything is newer, and the program has another name.
  cp "$program" "$work/program-$folder"
  packaging/release.sh --target x86_64-unknown-linux-gnu --binary "$work/program-$folder" "${pages[@]}" --out "$work/$folder" >/dev/null
done
if ! diff --recursive "$work/one" "$work/two"; then
  echo "failed: the same program makes different files" >&2
  exit 1
fi

environment=$PWD/target/python
if [ -x "$environment/bin/maturin" ]; then
  # As tools/test_python.sh builds it, so that nothing is compiled again.
  PATH=$environment/bin:$PATH "$environment/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation --config-settings=build-args='--profile dev' --wheel-dir "$work/one" .
  (cd "$work/one" && sha256sum ./*.whl | sed 's/ \.\// /' >>SHA256SUMS)
else
  echo "skipped: needs the environment of tools/test_python.sh"
fi

packaging/try.sh "$work/one"
