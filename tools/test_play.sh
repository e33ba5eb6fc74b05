#!/usr/bin/env bash
# The playground in real browsers: builds the page, opens it from disk, and does what a person would. Says what it
# cannot do ("skipped: needs .."), and ends with 1 if anything fails.
#
#   tools/test_play.sh [PAGE] [PICTURES]
#
# PAGE is a page that is built already; without one it is built, as it is released. Pictures of three sizes are written
# where PICTURES begins, as /tmp/shot-.
set -euo pipefail
cd "$(dirname "$0")/.."

page=${1:-}
if [ -z "$page" ]; then
  built=0
  page=$(packaging/play.sh) || built=$?
  # The reason for the skip has been reported.
  [ "$built" != 77 ] || exit 0
  [ "$built" = 0 ] || exit 1
fi
if ! command -v node >/dev/null; then
  echo "play: skipped: needs node"
  exit 0
fi

# Its answers are compared with those of the command: the one that is named, or one that is built.
layland=${LAYLAND_COMMAND:-$PWD/target/debug/layland}
[ -n "${LAYLAND_COMMAND:-}" ] || cargo build --quiet --workspace --bin layland

# axe-core looks at accessibility. It is fetched once, by npm, into the target folder.
axe=target/play/axe/node_modules/axe-core/axe.min.js
if [ ! -f "$axe" ] && command -v npm >/dev/null; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix target/play/axe axe-core@4 >/dev/null 2>&1 || true
fi

status=0
if command -v "${CHROMIUM:-chromium}" >/dev/null; then
  node crates/layland-play/tests/browser/play.mjs "$page" "$layland" "$axe" "${2:-}" || status=1
  for how in file link frame; do
    node crates/layland-play/tests/browser/start.mjs "$page" "$how" "${2:-}" || status=1
  done
else
  echo "play: skipped: needs chromium"
fi

# Firefox is driven over a WebSocket, which Node.js has since 22, and 20 as an experiment.
firefox=${FIREFOX:-firefox-esr}
websocket=()
node -e 'process.exit(typeof WebSocket === "undefined" ? 1 : 0)' || websocket=(--experimental-websocket)
if ! command -v "$firefox" >/dev/null; then
  echo "play: skipped: needs $firefox"
elif ! node "${websocket[@]}" -e 'process.exit(typeof WebSocket === "undefined" ? 1 : 0)' 2>/dev/null; then
  echo "play: skipped: needs Node.js with WebSocket (22 or newer) for Firefox"
else
  FIREFOX=$firefox node --no-warnings "${websocket[@]}" crates/layland-play/tests/browser/firefox.mjs "$page" "$layland" "${2:-}" || status=1
fi
exit $status
