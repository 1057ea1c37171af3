#!/usr/bin/env bash
# Installs what a build or a test run needs and what is missing, from Debian's packages.
#
#   scripts/setup.sh build   a C compiler, for the SQLite that is built in
#   scripts/setup.sh test    the same, the programs of PostgreSQL and Redis, a clock that tests can set, a browser, and Node
#   scripts/setup.sh python  what scripts/node.sh fetches Node with
#
# The tests start throwaway servers of their own: nothing that is installed here is left running.
set -euo pipefail

purpose="${1:?build, test or python}"

if [ "$purpose" != python ] && ! command -v cargo >/dev/null; then
    echo "cargo is missing: install Rust with rustup (https://rustup.rs), then run this again." >&2
    exit 1
fi

missing=()
[ "$purpose" = python ] || command -v cc >/dev/null || missing+=(build-essential)
if [ "$purpose" = python ]; then
    python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
fi
if [ "$purpose" = test ]; then
    scripts/with-node.sh true 2>/dev/null || scripts/node.sh
    if ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && ! command -v initdb >/dev/null; then
        missing+=(postgresql)
    fi
    command -v redis-server >/dev/null || missing+=(redis-server)
    compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null || missing+=(faketime)
    command -v chromium >/dev/null || missing+=(chromium)
fi
[ "${#missing[@]}" -eq 0 ] && exit 0

by_hand="Install by hand what these Debian packages hold, then run this again: ${missing[*]}"
if ! command -v apt-get >/dev/null; then
    echo "There is no apt-get here. $by_hand" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    # Without a terminal nobody can type a password.
    if [ -t 0 ]; then as_root=(sudo); else as_root=(sudo -n); fi
    if ! command -v sudo >/dev/null || ! "${as_root[@]}" true; then
        echo "Packages are missing, and this is neither root nor allowed to use sudo. $by_hand" >&2
        exit 1
    fi
fi

# Debian's packages start their servers as they are installed, unless this file says no.
policy=/usr/sbin/policy-rc.d
made_policy=no
restore() {
    if [ "$made_policy" = yes ]; then "${as_root[@]}" rm -f "$policy"; fi
}
trap restore EXIT
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    made_policy=yes
    "${as_root[@]}" chmod 755 "$policy"
fi

echo "Installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
