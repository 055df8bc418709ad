#!/usr/bin/env bash
# Fetches the slim S3A jar set (scripts/s3a-jars.xml, Maven coordinates) into .forerun/jars/s3a.
# 36 jars, 13 MB: the whole AWS SDK would be 616 MB. All or nothing: the folder appears when whole.
set -euo pipefail
cd "$(dirname "$0")/.."
home="${FORERUN_HOME:-$PWD/.forerun}"
target="$home/jars/s3a"
mark="$target/$(sha256sum scripts/s3a-jars.xml scripts/jars.sh | sha256sum | cut -c1-16).complete"
[ -e "$mark" ] && exit 0
command -v mvn >/dev/null || scripts/apt.sh maven
fresh="$home/jars/fetching.$$"
trap 'rm -rf "$fresh"' EXIT
mkdir -p "$fresh"
mvn --batch-mode --quiet --file scripts/s3a-jars.xml \
    org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies \
    -DoutputDirectory="$fresh" -DincludeScope=runtime
# Spark has newer ones of these; two versions on one class path end in NoSuchMethodError.
for jar in "$fresh"/*.jar; do
    case "$(basename "$jar")" in
        netty-nio-client-*) ;;
        netty-* | slf4j-api-* | commons-codec-* | commons-logging-* | httpclient-4* | httpcore-4*) rm "$jar" ;;
    esac
done
touch "$fresh/$(basename "$mark")"
rm -rf "$target"
mv "$fresh" "$target"
