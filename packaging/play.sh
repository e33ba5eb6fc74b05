#!/usr/bin/env bash
# Builds the playground: one page with the WebAssembly inside. Prints the path of it.
#
#   packaging/play.sh [PAGE [PROFILE]]        by default target/play/layland-play.html, in the profile `play`
#
# The same sources and compiler give the same bytes, in whatever folder. Exit code 77: skipped, the reason is the last
# line on standard error.
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
output=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$output"
output=$(cd "$output" && pwd)
page=${1:-$output/play/layland-play.html}
profile=${2:-play}
mkdir -p "$(dirname "$page")"

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "skipped: needs Python 3.11 or newer (python3)" >&2
  exit 77
fi
std_flags=()
assignments=$(packaging/std_source.sh "$target") || exit
eval "$assignments"

# Sources have to be there before the folder that they are in has a name.
cargo fetch --locked --quiet --target "$target"

# No path of this machine gets in. Of several prefixes that fit, the last one is taken.
prefixes=("$PWD=/layland" "$output=/build")
for sources in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
  prefixes+=("${sources%/}=/crates")
done
commit=$(rustc --version --verbose | sed -n 's/^commit-hash: //p')
prefixes+=("$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$commit")
# Searches recurse deeper than the one megabyte of stack that a module has otherwise.
flags=(-Clink-arg=-zstack-size=4194304)
for prefix in "${prefixes[@]}"; do
  flags+=("--remap-path-prefix=$prefix")
done
flags+=("${std_flags[@]}")
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS CARGO_INCREMENTAL=0
cargo build --locked --quiet -p layland-play --lib --target "$target" --profile "$profile" --target-dir "$output" >&2
# Users who open the page wait for all of it. In other profiles it is for tests alone.
most=()
[ "$profile" != play ] || most=(3300000)
"$python" packaging/play.py "$output/$target/$profile/layland_play.wasm" "$page" "${most[@]}"
echo "$page"
