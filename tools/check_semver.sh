#!/usr/bin/env bash
# Compares the public interface of each published crate with that of an earlier revision, and lists what breaks, with
# the version that it asks for (cargo-semver-checks). Takes minutes: each crate is documented twice.
#
#   tools/check_semver.sh [REVISION]     by default the last release, which is the last tag v*
#   tools/check_semver.sh --self         compares the work tree with itself: nothing may be found
#
# Everything stays below target/. Exit code: that of cargo-semver-checks, 0 if nothing breaks what it may not.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo semver-checks --version >/dev/null 2>&1; then
  echo "skipped: needs cargo-semver-checks (cargo install --locked cargo-semver-checks)"
  exit 0
fi
case ${1:-} in
--self) baseline=(--baseline-root .) ;;
"")
  if ! revision=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null); then
    echo "skipped: needs a release to compare with (a tag v*), or a revision as an argument"
    exit 0
  fi
  baseline=(--baseline-rev "$revision")
  ;;
*) baseline=(--baseline-rev "$1") ;;
esac
# Default features: `ext` needs libraries of C, and hides nothing that the others show.
exec cargo semver-checks --workspace --exclude layland-python --exclude layland-testkit --exclude layland-system-tests \
  --exclude layland-play --default-features "${baseline[@]}"
