#!/usr/bin/env bash
# Makes .venv hold exactly what requirements.lock says (hashes checked, byte code compiled), plus the
# project itself in place, so that `forerun` is a command. Safe to run again at any time.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-}
fits='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'
# The distribution's Python comes first: it is built with profile-guided optimization, which one that
# was compiled by hand often is not, and planning is a tenth faster with it.
for candidate in ${python:-/usr/bin/python3 python3 python3.11 python3.12 python3.13}; do
    if "$candidate" -c "$fits" 2>/dev/null; then
        python=$("$candidate" -c 'import sys; print(sys.executable)')
        break
    fi
done
if ! "${python:-false}" -c "$fits" 2>/dev/null; then
    echo "Forerun needs Python 3.11, 3.12 or 3.13. Install one and run: make setup PYTHON=python3.11" >&2
    exit 2
fi
uv=$(PYTHON="$python" scripts/uv.sh)
# uv has its own names for pip's settings: whoever set up pip for an index means that one.
if [ -n "${PIP_INDEX_URL:-}" ] && [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    export UV_DEFAULT_INDEX="$PIP_INDEX_URL"
fi
export UV_PYTHON_DOWNLOADS=never
.venv/bin/python -c "$fits" 2>/dev/null || "$uv" venv --quiet --clear --python "$python" .venv
export VIRTUAL_ENV="$PWD/.venv"
"$uv" pip sync --quiet --require-hashes --compile-bytecode requirements.lock
# The provider for Spark asks for pyspark-client, whose files overwrite those of pyspark. The lock
# leaves it out; if somebody installed it by hand, pyspark is broken and stays broken without it.
if ! .venv/bin/python -c 'import pyspark, pyspark.sql, pyspark.core' 2>/dev/null ||
    [ ! -x .venv/lib/python3.*/site-packages/pyspark/bin/spark-submit ]; then
    "$uv" pip install --quiet --reinstall-package pyspark --require-hashes --no-deps \
        --compile-bytecode --requirements requirements.lock
fi
# In an image the packages are a layer of their own, installed before the code is there.
[ -d forerun ] || exit 0
"$uv" pip install --quiet --no-deps --no-build-isolation --editable .
.venv/bin/python -c 'import forerun.planner, forerun.include, forerun.spark_jobs'
