#!/usr/bin/env bash
# Makes sure that there is a Java 17 or newer: the one of JAVA_HOME or of PATH, else the
# distribution's. Needs root (or sudo) only when it has to install one.
set -euo pipefail
version() { # major version of the java given, or 0
    "$1" -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p' | head -n 1 | grep . || echo 0
}
for java in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} java; do
    if [ "$(version "$java" 2>/dev/null)" -ge 17 ]; then exit 0; fi
    # Spark takes JAVA_HOME before PATH: an old one there would be used although PATH has a good one.
    if [ -n "${JAVA_HOME:-}" ]; then
        echo "JAVA_HOME=$JAVA_HOME is no Java 17 or newer; correct or unset it." >&2
        exit 2
    fi
done
if ! command -v apt-get >/dev/null; then
    echo "Forerun needs Java 17 or newer. Install it, or set JAVA_HOME." >&2
    exit 2
fi
echo "No Java 17 or newer found: installing openjdk-17-jre-headless" >&2
exec "$(dirname "$0")/apt.sh" openjdk-17-jre-headless
