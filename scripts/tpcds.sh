#!/usr/bin/env bash
# Fetches what TPC-DS needs into .forerun/bench/tpcds: the query texts in Spark's dialect, which the
# test jar of Spark SQL has beside the recorded answers of Spark's own SQL tests, and tpcgen-cli, a
# generator of the tables. Nothing of it is in the repository. All or nothing: the folder appears
# when whole.
set -euo pipefail
cd "$(dirname "$0")/.."
spark=4.1.2
generator=4.0.0
home="${FORERUN_HOME:-$PWD/.forerun}"
target="$home/bench/tpcds"
mark="$target/$(sha256sum scripts/tpcds.sh | cut -c1-16).complete"
[ -e "$mark" ] && exit 0
command -v mvn >/dev/null || scripts/apt.sh maven
fresh="$home/bench/fetching.$$"
trap 'rm -rf "$fresh"' EXIT
mkdir -p "$fresh/jar"
mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:2.8:copy \
    -Dartifact="org.apache.spark:spark-sql_2.13:$spark:jar:tests" -DoutputDirectory="$fresh/jar"
.venv/bin/python - "$fresh/jar/spark-sql_2.13-$spark-tests.jar" "$fresh/queries" <<'PYTHON'
import sys
import zipfile
from pathlib import Path

jar, target = zipfile.ZipFile(sys.argv[1]), Path(sys.argv[2])
target.mkdir()
for folder, variant in (("tpcds", ""), ("tpcds-v2.7.0", "v27-")):
    names = [n for n in jar.namelist() if n.startswith(f"{folder}/q") and n.endswith(".sql")]
    for name in names:
        (target / f"{variant}{name.rpartition('/')[2]}").write_bytes(jar.read(name))
recorded = "sql-tests/results/"
for name in jar.namelist():
    if name.startswith(recorded) and name.endswith(".sql.out"):
        copy = target.parent / "spark-sql-tests" / name.removeprefix(recorded)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(jar.read(name))
PYTHON
rm -r "$fresh/jar"
if [ -n "${PIP_INDEX_URL:-}" ] && [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    export UV_DEFAULT_INDEX="$PIP_INDEX_URL"
fi
"$(scripts/uv.sh)" pip install --quiet --python .venv/bin/python --no-deps --only-binary :all: \
    --target "$fresh/generator" "tpcgen-cli==$generator"
touch "$fresh/$(basename "$mark")"
rm -rf "$target"
mv "$fresh" "$target"
