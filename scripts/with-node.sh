#!/usr/bin/env bash
# Runs a command with a Node that is new enough, the machine's or else the one in .tools/; fails where there is neither.
set -euo pipefail
tools="$(cd "$(dirname "$0")/.." && pwd)/.tools/bin"

is_new_enough() {
    command -v npm >/dev/null && command -v node >/dev/null &&
        node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
                 process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)'
}

is_new_enough || export PATH="$tools:$PATH"
if ! is_new_enough; then
    echo "Node 20.19 or newer and npm are missing: \`make node\` brings them." >&2
    exit 1
fi
exec "$@"
