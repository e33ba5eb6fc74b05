#!/usr/bin/env bash
# Lets cargo build for a target whose compiled standard library is not installed. Prints assignments for a shell:
#
#   assignments=$(packaging/std_source.sh TARGET) || exit
#   eval "$assignments"
#   cargo build --target TARGET
#
# Where rustup has installed the library (`rustup target add TARGET`), it prints nothing: nothing is needed. Otherwise
# it takes the sources of the library from Debian, whose package rust-src has all crates that the library depends on,
# so that no rustup server is asked. The package has to be of the very version of the compiler. The sources stay in
# target/std-source. The printed assignments make cargo build them, too (-Zbuild-std, some 30 s of processor time):
#
#   RUSTC_BOOTSTRAP             so that a stable compiler has that option
#   CARGO_UNSTABLE_BUILD_STD    the option itself
#   RUSTC                       a rustc that has the sources in its sysroot, where cargo looks for them
#   std_flags                   an array of bash: flags for rustc that name the files as rustup's library does
#
# The sysroot is ours: the sources, where rustup would have put them, beside links to the rest of the compiler's own.
# Cargo hashes where the sources of a crate are into the names of its symbols, and the names decide how the compiler
# cuts a crate into units. For a crate of the library it leaves the sysroot out of the path, and nothing else, and for
# the build script of such a crate the sysroot that rustc has without any flags. Sources anywhere else, or a sysroot
# that only a flag names, would make other bytes in every folder.
#
# Exit code 77: skipped, the reason is the last line on standard error.
set -euo pipefail
target=${1:?a target, e.g. wasm32-unknown-unknown}
root=$(cd "$(dirname "$0")/.." && pwd)

if ! rustc --print target-list | grep --quiet --line-regexp --fixed-strings -- "$target"; then
  echo "there is no target $target (rustc --print target-list)" >&2
  exit 2
fi
if [ -n "$(find "$(rustc --print target-libdir --target "$target")" -name 'libstd-*' 2>/dev/null)" ]; then
  exit
fi

skip() {
  echo "skipped: needs the target $target (rustup target add $target)" >&2
  exit 77
}
fail() {
  echo "no sources of the standard library: $*" >&2
  skip
}

version=$(rustc --version | sed -nE 's/^rustc ([0-9.]+) .*/\1/p')
# Debian has no packages of beta and nightly compilers.
[ -n "$version" ] || fail "$(rustc --version) is no stable version"

# Not in CARGO_TARGET_DIR: another target folder needs no other sources.
kept=$root/target/std-source
mkdir -p "$kept"
sysroot=$kept/rustc-$version
sources=lib/rustlib/src/rust
library=$sysroot/$sources/library
# Two that run at a time would each unpack it.
exec 9>"$kept/lock"
flock 9

if [ ! -f "$library/Cargo.lock" ]; then
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || fail "needs Debian's apt-get and dpkg"
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -nE 's,^(URIs:|deb( +\[[^]]*\])?) +([^ ]*/debian)/?( .*)?$,\3,p' | head -n 1 || true)
  [ -n "$mirror" ] || fail "needs a Debian mirror in /etc/apt"

  # A private view of one suite at a time: the machine's own lists do not change, and the first suite that has the
  # version ends the search.
  view=$kept/apt
  mkdir -p "$view/lists/partial" "$view/cache/archives/partial"
  cat >"$view/apt.conf" <<END
Dir::Etc::SourceList "$view/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$view/lists";
Dir::Cache "$view/cache";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "root";
END
  export APT_CONFIG=$view/apt.conf
  found=
  for suite in trixie-backports trixie forky sid experimental bookworm; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$view/sources.list"
    apt-get update >"$view/update.log" 2>&1 || continue
    found=$(apt-cache madison rust-src | awk -v version="$version+" 'index($3, version) == 1 { print $3; exit }')
    [ -z "$found" ] || break
  done
  [ -n "$found" ] || fail "no suite of Debian has rust-src $version"

  echo "fetching rust-src $found from Debian" >&2
  (cd "$view" && apt-get download "rust-src=$found" >"$view/download.log" 2>&1) || fail "see $view/download.log"
  rm -rf "$kept/new"
  mkdir "$kept/new"
  dpkg --fsys-tarfile "$view"/rust-src_*.deb |
    tar --extract --directory "$kept/new" --strip-components 4 "./usr/src/rustc-$version/library"
  [ -d "$kept/new/library/vendor" ] || fail "rust-src $found has no crates that the library depends on"
  rm -rf "$sysroot"
  mkdir -p "$sysroot/$sources"
  mv "$kept/new/library" "$library"
  rm -rf "$view" "$kept/new"
fi

# A panic in WebAssembly ends the program.
case $target in
wasm32-*) crates=std,panic_abort ;;
*) crates=std,panic_unwind ;;
esac

# Nothing is written that is so already: another build may be using it.
own=$(rustc --print sysroot)
for part in "$own"/lib/rustlib/*; do
  link=$sysroot/lib/rustlib/${part##*/}
  [ "${part##*/}" = src ] || [ "$(readlink "$link")" = "$part" ] || ln -sfn "$part" "$link"
done
mkdir -p "$sysroot/bin"
cat >"$kept/new-rustc" <<END
#!/bin/sh
exec '$own/bin/rustc' --sysroot '$sysroot' "\$@"
END
chmod +x "$kept/new-rustc"
cmp --quiet "$kept/new-rustc" "$sysroot/bin/rustc" || mv "$kept/new-rustc" "$sysroot/bin/rustc"

printf 'export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=%s RUSTC=%q\n' "$crates" "$sysroot/bin/rustc"
# Cargo names files in a workspace as they are seen from there, and others in full.
name=/rustc/$(rustc --version --verbose | sed -n 's/^commit-hash: //p')
printf 'std_flags=(%q %q)\n' "--remap-path-prefix=$sysroot/$sources=$name" \
  "--remap-path-prefix=${sysroot#"$root/"}/$sources=$name"
