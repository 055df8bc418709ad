#!/usr/bin/env bash
# Runs the tests of the installed package on other versions of Airflow, Spark and Python than the
# locked ones, each cell in an environment of its own:
#   scripts/matrix.sh                  all cells
#   scripts/matrix.sh airflow-3.2 ...  these
#   scripts/matrix.sh --list           what there is
# The environments lie in matrix/ of Forerun's home, or in the folder that MATRIX_HOME names.
# What a cell does not name keeps the locked version as far as the named ones let it.
set -euo pipefail
cd "$(dirname "$0")/.."
# cell, Python, Airflow, Spark
cells='
airflow-3.2 3.11 3.2.2 4.1.4
airflow-3.3 3.11 3.3.2 4.1.4
spark-3.5   3.11 3.3.2 3.5.9
spark-4.0   3.11 3.3.2 4.0.5
spark-4.3   3.11 3.3.2 4.3.0
python-3.12 3.12 3.3.2 4.1.4
python-3.13 3.13 3.3.2 4.1.4
'
if [ "${1:-}" = --list ]; then
    echo "cell python airflow spark$cells" | column -t
    exit 0
fi
uv=$(scripts/uv.sh)
if [ -n "${PIP_INDEX_URL:-}" ] && [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    export UV_DEFAULT_INDEX="$PIP_INDEX_URL"
fi
export UV_PYTHON_DOWNLOADS=never
matrix=${MATRIX_HOME:-${FORERUN_HOME:-$PWD/.forerun}/matrix}

run_cell() {
    local name=$1 python=$2 airflow=$3 spark=$4 home=$matrix/$1
    mkdir -p "$home"
    [ -x "$home/venv/bin/python" ] || "$uv" venv --quiet --python "$python" "$home/venv"
    "$home/venv/bin/python" scripts/wishes.py "$airflow" "$spark" >"$home/wanted.txt"
    export VIRTUAL_ENV="$home/venv"
    "$uv" pip compile --quiet --no-header --no-annotate --no-emit-index-url "$home/wanted.txt" \
        --excludes <(echo pyspark-client) --output-file "$home/locked.txt"
    "$uv" pip sync --quiet "$home/locked.txt"
    [ -z "${BUILD_ONLY:-}" ] || return 0
    PATH="$home/venv/bin:$PATH" PYTHONPATH=$PWD "$home/venv/bin/python" -m pytest -q tests/package
}

status=0
for name in ${*:-$(awk '{ print $1 }' <<<"$cells")}; do
    cell=$(grep "^$name " <<<"$cells") || { echo "no cell $name; --list says which there are" >&2; exit 2; }
    echo "-- $(echo $cell)"
    # In a shell of its own that ends at the first error, also as a part of a condition.
    set +e
    (set -e; run_cell $cell)
    done=$?
    set -e
    [ $done = 0 ] || { echo "-- $name failed" >&2; status=1; }
done
exit $status
