#!/usr/bin/env bash
# Writes every golden file again after a change that is meant, one kind after the other: two of the tests of the book
# would otherwise write one page at once. Fails where a test fails that no new file can satisfy, such as one for a page
# that is missing. Then read the difference, which is printed in short.
set -euo pipefail
cd "$(dirname "$0")/.."

# Snapshots of charts and of messages about task sets.
INSTA_UPDATE=always cargo test --quiet -p layland-chart --lib
INSTA_UPDATE=always cargo test --quiet -p layland-config --test all messages

# The output of commands, word by word, and in the worked examples of papers.
TRYCMD=overwrite cargo test --quiet -p layland --test cmd

# The pages of the book: parts that the program says of itself and pictures; then the output of their commands.
LAYLAND_WRITE=1 cargo test --quiet -p layland --test book -- --skip the_commands_print_what_the_pages_show
TRYCMD=overwrite cargo test --quiet -p layland --test book -- the_commands_print_what_the_pages_show

git diff --stat
