#!/usr/bin/env bash
# Compares the public interface of each promised crate (docs/versions.md) with that of an earlier revision, and lists
# what breaks, with the version that it asks for (cargo-semver-checks). All crates of a revision are documented together,
# once: to let the tool do it crate by crate takes twenty times as long.
#
#   tools/check_semver.sh [REVISION]     by default the last release, which is the last tag v*
#   tools/check_semver.sh --self         compares the work tree with itself: nothing may be found
#
# Everything stays below target/semver. Exit code: 0 if nothing breaks what it may not, else 1.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo semver-checks --version >/dev/null 2>&1; then
  echo "skipped: needs cargo-semver-checks (cargo install --locked cargo-semver-checks)"
  exit 0
fi
revision=${1:-}
if [ -z "$revision" ] && ! revision=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null); then
  echo "skipped: needs a release to compare with (a tag v*), or a revision as an argument"
  exit 0
fi
output=$PWD/target/semver

# interfaces FOLDER NAME: the public interfaces of the crates in a folder, as JSON files in target/semver/NAME. With the
# default features: `ext` needs libraries of C, and hides nothing that the others show.
interfaces() {
  local published=()
  mapfile -t published < <(cd "$1" && cargo metadata --no-deps --format-version 1 |
    python3 -c 'import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] is None and not package["description"].startswith("Internal"):
        print("--package=" + package["name"])')
  rm -rf "${output:?}/$2" "$output/build/doc"
  mkdir -p "$output/$2"
  # JSON is not stable yet, and its format is that of the compiler that the tool was made for.
  (cd "$1" && RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$output/build \
    RUSTDOCFLAGS="-Z unstable-options --output-format json --document-private-items --document-hidden-items --cap-lints allow" \
    cargo doc --quiet --locked --no-deps --lib "${published[@]}")
  cp "$output"/build/doc/*.json "$output/$2/"
}

interfaces . now
before=now
if [ "$revision" != --self ]; then
  before=before
  rm -rf "$output/source"
  git worktree prune
  git worktree add --quiet --force --detach "$output/source" "$revision"
  trap 'git worktree remove --force "$output/source"' EXIT
  interfaces "$output/source" before
fi

status=0
for interface in "$output"/now/*.json; do
  name=$(basename "$interface" .json)
  if [ ! -f "$output/$before/$name.json" ]; then
    echo "$name: new"
  elif report=$(cargo semver-checks --color never --current-rustdoc "$interface" --baseline-rustdoc "$output/$before/$name.json" 2>&1); then
    echo "$name: $(sed -n 's/^ *Summary *//p' <<<"$report")"
  else
    echo "$name:"
    echo "$report"
    status=1
  fi
done
exit $status
