#!/usr/bin/env bash
# Fetches a broker of Kafka by Maven (45 jars, 43 MB) into .forerun/jars/kafka: tests of topics start
# it themselves, and stop it.
set -euo pipefail
cd "$(dirname "$0")"
target="${FORERUN_HOME:-$(cd .. && pwd)/.forerun}/jars/kafka"
mark="$target/$(sha256sum kafka-jars.xml | cut -c1-16).complete"
[ -e "$mark" ] && exit 0
command -v mvn >/dev/null || ./apt.sh maven
echo "the jars of Kafka's broker, by Maven, into $target ..."
rm -rf "$target"
mvn --batch-mode --quiet --file kafka-jars.xml \
    org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies \
    -DoutputDirectory="$target" -DincludeScope=runtime
touch "$mark"
