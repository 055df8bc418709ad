#!/usr/bin/env bash
# Installs Debian packages without a question, as root or through sudo.
set -euo pipefail
root=""
if [ "$(id -u)" -ne 0 ]; then
    root=sudo
    command -v sudo >/dev/null || { echo "Please install, as root: apt-get install $*" >&2; exit 2; }
fi
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
$root apt-get install -qq -y --no-install-recommends "$@" >/dev/null
