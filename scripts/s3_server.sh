#!/usr/bin/env bash
# Builds VersityGW, an S3 server on a folder, into .forerun/bin where Go is installed. Without Go
# there is nothing to do: demo and tests then use moto's server, which keeps everything in memory.
set -euo pipefail
version=v1.8.0
home="${FORERUN_HOME:-$(cd "$(dirname "$0")/.." && pwd)/.forerun}"
binary="$home/bin/versitygw"
[ -x "$binary" ] && exit 0
if ! command -v go >/dev/null; then
    echo "No Go here: the local S3 server will be moto's instead of VersityGW." >&2
    exit 0
fi
mkdir -p "$home/bin"
if ! GOBIN="$home/bin" go install "github.com/versity/versitygw/cmd/versitygw@$version"; then
    echo "VersityGW could not be built: the local S3 server will be moto's." >&2
fi
