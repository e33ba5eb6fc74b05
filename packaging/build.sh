#!/usr/bin/env bash
# Builds the command as one stripped file that needs no library, and prints the path of it; or the Python package.
#
#   packaging/build.sh TARGET [PROFILE]        e.g. x86_64-unknown-linux-gnu; the profile is `dist` unless given
#   packaging/build.sh --wheel FOLDER TARGET [PROFILE]
#
# The same sources, compiler and C library give the same bytes, in whatever folder: no path of this machine gets in.
# The engine ext is built in where libelf and zlib can be linked, which is for targets with glibc. If a target lacks
# the standard library or a linker for musl on this machine, it is fetched (std_source.sh, musl_linker.sh); exit code 3
# says that this fails.
set -euo pipefail
cd "$(dirname "$0")/.."

wheels=
if [ "$1" = --wheel ]; then
  wheels=$(realpath "$2")
  shift 2
fi
target=$1
profile=${2:-dist}

# Another kind of machine with glibc: Debian has a compiler for it, and libelf and zlib for it beside our own.
compiler=${CC:-cc}
if [[ $target = *-gnu && $target != $(uname -m)-* ]]; then
  compiler=${target%%-*}-linux-gnu-gcc
  if ! command -v "$compiler" >/dev/null; then
    echo "skipped: needs $compiler (gcc-${target%%-*}-linux-gnu), to build for $target here" >&2
    exit 3
  fi
  name=${target^^}
  export "CARGO_TARGET_${name//-/_}_LINKER=$compiler" "CC_${target//-/_}=$compiler"
fi
# A target whose standard library is not installed: it is compiled, too.
status=0
std_flags=()
assignments=$(packaging/std_source.sh "$target") || status=$?
links_with_zig=
if [[ $status = 0 && $target = *-musl ]] && [[ -n $assignments || $target != $(uname -m)-* ]]; then
  links_with_zig=yes
  assignments+=$'\n'$(packaging/musl_linker.sh "$target") || status=$?
fi
# The missing part has been reported.
[ $status != 77 ] || exit 3
[ $status = 0 ] || exit $status
eval "$assignments"

features=()
case $target in
*-gnu)
  # The compiler prints the name of a missing file without a folder.
  if [[ $("$compiler" -print-file-name=libelf.a) = /* && $("$compiler" -print-file-name=libz.a) = /* ]]; then
    features=(--features ext)
  else
    echo "without the engine ext: needs libelf and zlib for the target (libelf-dev, zlib1g-dev)" >&2
  fi
  ;;
esac

# Sources have to be there before the folder that they are in has a name.
cargo fetch --locked --quiet --target "$target"

folder=$PWD
output=${CARGO_TARGET_DIR:-$folder/target}
mkdir -p "$output"
output=$(cd "$output" && pwd)
# Of several prefixes that fit, the last one is taken.
prefixes=("$folder=/layland" "$output=/build")
for sources in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
  prefixes+=("${sources%/}=/crates")
done
commit=$(rustc --version --verbose | sed -n 's/^commit-hash: //p')
prefixes+=("$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$commit")

flags=()
# An interpreter loads the wheel, and has a C library.
[ -n "$wheels" ] || flags=(-Ctarget-feature=+crt-static)
# Zig brings its own start files and C library.
[ -z "$links_with_zig" ] || flags+=(-Clink-self-contained=no)
cflags=
for prefix in "${prefixes[@]}"; do
  if [[ $prefix =~ [[:space:]] ]]; then
    # libbpf is built by make, which takes flags apart at spaces.
    echo "failed to build: the path ${prefix%=*} has a space" >&2
    exit 1
  fi
  flags+=("--remap-path-prefix=$prefix")
  cflags+=" -ffile-prefix-map=$prefix"
done
flags+=("${std_flags[@]}")
export CARGO_ENCODED_RUSTFLAGS CFLAGS
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
CFLAGS=${cflags# }

# A private build keeps lines for backtraces. A release does without, and is a fifth of the size.
name=${profile^^}
name=${name//-/_}
export "CARGO_PROFILE_${name}_DEBUG=false" "CARGO_PROFILE_${name}_STRIP=symbols"
export CARGO_INCREMENTAL=0 LC_ALL=C TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

if [ -n "$wheels" ]; then
  if ! command -v maturin >/dev/null; then
    echo "skipped: needs maturin (pip install 'maturin>=1.9.4,<2')" >&2
    exit 3
  fi
  parts=$(mktemp -d)
  trap 'rm -rf "$parts"' EXIT
  "${PYTHON:-python3}" packaging/materials.py layland-python "$target" "" "$parts/layland.cdx.json" "$parts/LICENCES.txt"
  export CARGO_TARGET_DIR=$output
  maturin build --locked --quiet --target "$target" --profile "$profile" --strip --out "$wheels" \
    --sbom-include "$parts/layland.cdx.json" --sbom-include "$parts/LICENCES.txt"
  exit
fi
cargo build --locked --quiet -p layland --bin layland --target "$target" --profile "$profile" "${features[@]}" \
  --target-dir "$output" >&2
[ "$profile" = dev ] && profile=debug
echo "$output/$target/$profile/layland"
