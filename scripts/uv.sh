#!/usr/bin/env bash
# Prints the path of a uv: the one on PATH, else one that pip puts into .forerun/ (its version is
# pinned). `--target` works on a Debian whose Python is "externally managed" and has no venv module.
set -euo pipefail
cd "$(dirname "$0")/.."
pinned=0.13.8
if [ -z "${FORERUN_OWN_UV:-}" ] && uv --version >/dev/null 2>&1; then
    command -v uv
    exit 0
fi
home="${FORERUN_HOME:-$PWD/.forerun}"
uv="$home/uv-$pinned/bin/uv"
if ! "$uv" --version >/dev/null 2>&1; then
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --target "$home/uv-$pinned" "uv==$pinned" >&2
fi
echo "$uv"
