"""What the comparisons share: the answers of `layland check`, and the form of vectors."""

import json
import subprocess
import sys


def checked(program, path, policies, tests, *options):
    """For each set of a file, what `layland check` says of each policy."""
    command = [program, "check", path, "--policy", policies, "--test", tests, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [json.loads(line)["policies"] for line in done.stdout.splitlines()]
    if not found or not all(found):
        sys.exit(f"layland says nothing of {policies}: {done.stderr[:500]}")
    return found


def write_vectors(path, vectors):
    """Writes vectors for the test kit, one a line."""
    lines = ",\n".join(json.dumps(one) for one in vectors)
    path.write_text(f"[\n{lines}\n]\n")
