#!/usr/bin/env bash
# Makes sure that there is a PostgreSQL server: the one of PATH, else the distribution's. `make up`
# starts one of its own from these programs; none is left running here, and none begins with the
# machine. Needs root (or sudo) only when it has to install one.
set -euo pipefail
if command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "Forerun needs PostgreSQL's server for this. Install it, so that initdb is on PATH." >&2
    exit 2
fi
echo "No PostgreSQL found: installing postgresql" >&2
# Debian would make a server that starts with the machine. This is its own switch for that; what is
# installed later by others is not ours to decide about.
apt="$(dirname "$0")/apt.sh"
"$apt" postgresql-common
root=$([ "$(id -u)" -eq 0 ] || echo sudo)
settings=/etc/postgresql-common/createcluster.conf
kept=$(mktemp)
cp "$settings" "$kept"
trap '$root cp "$kept" "$settings"; rm -f "$kept"' EXIT
$root sed -i -E 's/^#? *create_main_cluster *=.*/create_main_cluster = false/' "$settings"
"$apt" postgresql
