#!/usr/bin/env bash
# Builds the program of the last commit twice from nothing, in two folders, with two target folders and two homes of
# cargo, and compares the bytes. Takes some twelve minutes of processor time for glibc, and 26 for musl with a standard
# library from its sources.
#
#   packaging/reproduce.sh [TARGET [PROFILE [FILE]]]     by default what the compiler builds for, in the profile `dist`
#
# The program is copied to FILE, for packaging/release.sh --binary.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-$(rustc --version --verbose | sed -n 's/^host: //p')}
# Of one commit, even where another one is made meanwhile.
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for place in one another/place; do
  mkdir -p "$work/$place/sources" "$work/$place/home"
  git archive "$commit" | tar --extract --directory "$work/$place/sources"
  # Downloads are the same; where they are unpacked is not.
  home=${CARGO_HOME:-$HOME/.cargo}
  for part in registry/cache registry/index config.toml; do
    if [ -e "$home/$part" ]; then
      mkdir -p "$(dirname "$work/$place/home/$part")"
      cp -r "$home/$part" "$work/$place/home/$part"
    fi
  done
  # So are the sources of the standard library and Zig; what Zig has compiled is not taken along.
  for part in std-source zig/packages zig/zig_requirements.txt; do
    if [ -e "target/$part" ]; then
      mkdir -p "$(dirname "$work/$place/sources/target/$part")"
      cp -r "target/$part" "$work/$place/sources/target/$part"
    fi
  done
  CARGO_HOME=$work/$place/home CARGO_TARGET_DIR=$work/$place/target \
    "$work/$place/sources/packaging/build.sh" "$target" "${2:-dist}" >"$work/path" || status=$?
  # The target is missing, which has been said.
  [ $status = 3 ] && exit 0
  [ $status = 0 ] || exit $status
  cp "$(cat "$work/path")" "$work/${place%%/*}.program"
  rm -rf "${work:?}/${place%%/*}"
done
sha256sum "$work/one.program" "$work/another.program" | sed "s|$work/||"
cmp "$work/one.program" "$work/another.program"
echo "the same bytes"
[ -z "${3:-}" ] || cp "$work/one.program" "$3"
