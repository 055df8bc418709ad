#!/usr/bin/env bash
# Writes requirements.lock anew from pyproject.toml: every package with its hashes, no address of
# any index, so that the same file installs from whatever index a machine is set up to use.
#   scripts/lock.sh             keep the locked versions where pyproject.toml allows it
#   scripts/lock.sh --upgrade   take the newest that pyproject.toml allows
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$(scripts/uv.sh)
"$uv" pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links --all-extras --group dev --group docs "$@" \
    pyproject.toml --output-file requirements.lock
if grep -nE '://|^-|pyspark-client' requirements.lock; then
    echo "requirements.lock names an address, an option or pyspark-client (above)" >&2
    exit 1
fi
