#!/usr/bin/env bash
# Tests the files of a release, in short: makes them twice, in two folders, from the static program that the system
# tests have built, compares all bytes, and tries them in empty roots. The wheel is the one that LAYLAND_WHEEL names,
# or one that maturin builds, as a release has it. In short means for the former: that a module needs nothing but Python
# is not seen. Two builds of the program itself are compared by packaging/reproduce.sh, in minutes; programs for musl and
# for other machines are built by hand (docs/releases.md), and here only the reasons why one cannot be built are tested.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS TEXT COMMAND..: how it ends, and the last line that it says on standard error.
expect() {
  local status=0 wanted=$1 text=$2 last
  shift 2
  "$@" >"$work/out" 2>"$work/err" || status=$?
  last=$(tail -n 1 "$work/err")
  if [ $status != "$wanted" ] || [ "$last" != "$text" ] || [ -s "$work/out" ]; then
    echo "failed: $* ended with $status and \"$last\", not with $wanted and \"$text\"" >&2
    cat "$work/out" "$work/err" >&2
    exit 1
  fi
}
host=$(rustc --version --verbose | sed -n 's/^host: //p')
expect 0 "" packaging/std_source.sh "$host"
expect 2 "there is no target nowhere (rustc --print target-list)" packaging/std_source.sh nowhere
# A compiler of a version that no suite of Debian has.
mkdir "$work/bin"
cat >"$work/bin/rustc" <<END
#!/bin/sh
case "\$*" in
--version) echo "rustc 9.9.9-nightly (0123456 2026-01-01)" ;;
*target-libdir*) echo "$work/nothing" ;;
*) exec "$(command -v rustc)" "\$@" ;;
esac
END
chmod +x "$work/bin/rustc"
target=aarch64-unknown-linux-musl
missing="needs the target $target (rustup target add $target)"
expect 77 "skipped: $missing" env PATH="$work/bin:$PATH" packaging/std_source.sh $target
expect 3 "skipped: $missing" env PATH="$work/bin:$PATH" packaging/build.sh $target
expect 0 "skipped: $missing" env PATH="$work/bin:$PATH" packaging/release.sh --target $target --out "$work/none"
# The names that cargo gives to the crates of a standard library from its sources, and with them the bytes of a program,
# are the same in every folder. Nothing is compiled: cargo names everything before it asks for the first crate.
version=$(rustc --version | cut -d ' ' -f 2)
if [ -d "target/std-source/rustc-$version/lib" ] && [ -n "$(packaging/std_source.sh $target)" ]; then
  cat >"$work/wrapper" <<END
#!/bin/sh
case "\$*" in
*-vV | *'--crate-name ___'*) exec "\$@" ;;
esac
exit 1
END
  chmod +x "$work/wrapper"
  for folder in here/as well/as/there; do
    mkdir -p "$work/$folder/packaging" "$work/$folder/src" "$work/$folder/target"
    cp packaging/std_source.sh "$work/$folder/packaging"
    cp -r target/std-source "$work/$folder/target"
    printf '[package]\nname = "nothing"\nedition = "2024"\n' >"$work/$folder/Cargo.toml"
    touch "$work/$folder/src/lib.rs"
    (
      cd "$work/$folder"
      eval "$(packaging/std_source.sh $target)"
      CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${std_flags[*]}")
      export CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR=out RUSTC_WRAPPER=$work/wrapper
      cargo build --quiet --target $target 2>"$work/err" || mkdir -p out
      find out -path '*.fingerprint/*-*' -prune -printf '%f\n' | sort >"$work/${folder%%/*}.names"
    )
  done
  if ! grep --quiet '^compiler_builtins-' "$work/here.names" || ! grep --quiet '^std-' "$work/here.names"; then
    echo "failed: cargo names no standard library" >&2
    cat "$work/err" "$work/here.names" >&2
    exit 1
  fi
  if ! diff "$work/here.names" "$work/well.names"; then
    echo "failed: a standard library from its sources has other names in another folder" >&2
    exit 1
  fi
else
  echo "skipped: needs the sources of the standard library (packaging/std_source.sh $target)"
fi
for machine in aarch64 x86_64; do
  if [ $machine != "$(uname -m)" ] && ! command -v $machine-linux-gnu-gcc >/dev/null; then
    target=$machine-unknown-linux-gnu
    missing="needs $machine-linux-gnu-gcc (gcc-$machine-linux-gnu), to build for $target here"
    expect 3 "skipped: $missing" packaging/build.sh $target
  fi
done

program=${LAYLAND_STATIC:-${CARGO_TARGET_DIR:-target}/static/layland}
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
libraries=()
if [ -n "${LAYLAND_WHEEL:-}" ]; then
  cp "$LAYLAND_WHEEL" "$work/one"
  # Its module is built with the workspace, and so with the engine ext.
  libraries=(elf z)
elif [ -x "$environment/bin/maturin" ]; then
  # As tools/test_python.sh builds it without a module, so that nothing is compiled again.
  PATH=$environment/bin:$PATH "$environment/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation --config-settings=build-args='--profile dev' --wheel-dir "$work/one" .
else
  echo "skipped: needs the environment of tools/test_python.sh"
fi
if compgen -G "$work/one/*.whl" >/dev/null; then
  (cd "$work/one" && sha256sum ./*.whl | sed 's/ \.\// /' >>SHA256SUMS)
fi

packaging/try.sh "$work/one" "${libraries[@]}"
