#!/usr/bin/env bash
# Compares what two programs say, as those for two targets: same input and seed, same bytes, on every machine and with
# every C library. Every bundled task set is checked, simulated and drawn, and sets are generated.
#
#   packaging/compare.sh PROGRAM OTHER
#
# A program for another kind of machine is emulated (qemu-user-static).
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs a program in a folder of its own, and says how it ended.
try() {
  local program=$1 status=0
  shift
  (cd "$work/now" && timeout 600 "${emulator[@]}" "$program" "$@") >"$work/now/out" 2>"$work/now/err" || status=$?
  echo "$status" >"$work/now/status"
}

# Everything that one program says, in a folder.
everything() {
  local program machine demo seed folder=$2
  program=$(realpath "$1")
  emulator=()
  machine=$(LC_ALL=C readelf --file-header "$program" | sed -n 's/^ *Machine: *//p')
  case $machine in
  *X86-64) machine=x86_64 ;;
  *) machine=${machine,,} ;;
  esac
  if [ "$machine" != "$(uname -m)" ]; then
    if ! command -v "qemu-$machine-static" >/dev/null; then
      echo "skipped: needs qemu-$machine-static (qemu-user-static)"
      exit 0
    fi
    emulator=("qemu-$machine-static")
  fi
  mkdir -p "$folder"
  one() {
    mkdir -p "$work/now"
    try "$program" "$@"

    mv "$work/now" "$folder/$(printf '%03d' "$(find "$folder" -mindepth 1 -maxdepth 1 | wc -l)") $*"
  }
  for demo in $("${emulator[@]}" "$program" demos | cut -d ' ' -f 1); do
    one check "$demo"
    one check "$demo" --json
    one sim "$demo" --until 200ms --json
    one sim "$demo" --until 200ms -o picture.svg
  done
  for seed in 1 2 3; do
    one gen --tasks 20 --cpus 4 --utilization 3 --seed "$seed"
    one gen --tasks 40 --cpus 8 --utilization 6 --seed "$seed" --generator uunifast-discard
  done
}

everything "${1:?a program}" "$work/one"
everything "${2:?another program}" "$work/another"
diff --recursive --brief "$work/one" "$work/another"
# Two programs that only refuse say the same, too.
answers=$(grep --recursive --files-with-matches --include status '^[014]$' "$work/one" | wc -l)
count=$(find "$work/one" -name status | wc -l)
[ "$answers" -gt $((count / 2)) ] || { echo "failed to compare: $answers of $count commands had an answer" >&2 && exit 1; }
echo "the same bytes: $count commands"
