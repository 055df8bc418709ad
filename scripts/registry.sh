#!/usr/bin/env bash
# Fetches a schema registry by Maven (Apicurio, 104 MB) into .forerun/jars/registry: the long tests of
# topics with Avro start it themselves, and stop it.
set -euo pipefail
cd "$(dirname "$0")"
version=3.0.9
home="${FORERUN_HOME:-$(cd .. && pwd)/.forerun}"
target="$home/jars/registry"
mark="$target/$version.complete"
[ -e "$mark" ] && exit 0
command -v mvn >/dev/null || ./apt.sh maven
echo "a schema registry, by Maven, into $target ..."
rm -rf "$target"
mkdir -p "$target"
mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:2.8:copy \
    -Dartifact="io.apicurio:apicurio-registry-app:$version:tar.gz:all" -DoutputDirectory="$target"
tar -xzf "$target"/*.tar.gz -C "$target"
rm "$target"/*.tar.gz
touch "$mark"
