#!/usr/bin/env bash
# Runs the tests of the Airflow side against another version of Airflow than the locked one, in an
# environment of its own: scripts/airflow_matrix.sh 3.2.2. What is not Airflow keeps the locked
# versions as far as that Airflow lets it.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?say which version of Airflow, such as 3.2.2}
uv=$(scripts/uv.sh)
if [ -n "${PIP_INDEX_URL:-}" ] && [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    export UV_DEFAULT_INDEX="$PIP_INDEX_URL"
fi
export UV_PYTHON_DOWNLOADS=never
home=$PWD/.forerun/airflow-$version
mkdir -p "$home"
# The versions that have nothing to do with Airflow, as wishes: Airflow's own packages decide the rest.
.venv/bin/python - "$version" >"$home/wanted.txt" <<'PY'
import re
import sys
import tomllib
from pathlib import Path

lock = dict(re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^\s;\\]+)", Path("requirements.lock").read_text()))
pyproject = tomllib.loads(Path("pyproject.toml").read_text())
project = pyproject["project"]
texts = [*project["dependencies"], *pyproject["dependency-groups"]["dev"]]
texts += [text for extra in project["optional-dependencies"].values() for text in extra]
for name in dict.fromkeys(re.match(r"[A-Za-z0-9._-]+", text)[0] for text in texts):
    pinned = lock.get(name.lower())
    if name == "apache-airflow":
        print(f"{name}=={sys.argv[1]}")
        if not sys.argv[1].startswith("3.3"):
            # Airflow 3.2 sets no upper bounds, and newer ones refuse its models.
            print("cadwyn<7.2", "fastapi<0.138", "pydantic<2.14", "svcs<26.2", sep="\n")
    elif name in ("sqlalchemy", "apache-airflow-providers-standard"):
        print(name)
    else:
        print(f"{name}=={pinned}" if pinned else name)
PY
grep -oE '^moto==[^ ]*' "$home/wanted.txt" | sed 's/moto/moto[server]/' >>"$home/wanted.txt"
[ -x "$home/venv/bin/python" ] || "$uv" venv --quiet --python .venv/bin/python "$home/venv"
export VIRTUAL_ENV="$home/venv"
"$uv" pip compile --quiet --no-header --no-annotate --no-emit-index-url "$home/wanted.txt" \
    --excludes <(echo pyspark-client) --output-file "$home/locked.txt"
"$uv" pip sync --quiet "$home/locked.txt"
"$uv" pip install --quiet --no-deps --no-build-isolation --editable .
PATH="$home/venv/bin:$PATH" "$home/venv/bin/python" -m pytest -q -m "not slow" tests/airflow
