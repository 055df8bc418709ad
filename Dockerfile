# Airflow, Spark and Forerun in one image; the same lock as `make setup`. Never built by a test: see
# docs/guides/operations.md.
FROM golang:1.26-bookworm AS s3-server
RUN CGO_ENABLED=0 GOBIN=/out go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

FROM debian:bookworm-slim AS versitygw
RUN useradd --create-home --uid 10001 s3 && mkdir -p /data/forerun && chown -R s3 /data
COPY --from=s3-server /out/versitygw /usr/local/bin/versitygw
USER s3
EXPOSE 7070
# ROOT_ACCESS_KEY and ROOT_SECRET_KEY come from the environment. A folder of /data is a bucket.
ENTRYPOINT ["versitygw", "--port", "0.0.0.0:7070", "--region", "us-east-1", "--quiet"]
CMD ["posix", "/data"]

FROM debian:bookworm-slim AS forerun
ARG DEBIAN_FRONTEND=noninteractive
ENV LANG=C.UTF-8 PYTHONUNBUFFERED=1
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
        bash ca-certificates make maven openjdk-17-jre-headless procps python3 python3-pip tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10000 forerun \
 && install -d -o forerun /opt/forerun /var/lib/forerun
WORKDIR /opt/forerun
USER forerun
# Packages and jars change less often than the code: layers of their own.
COPY --chown=forerun requirements.lock pyproject.toml ./
COPY --chown=forerun scripts scripts
RUN scripts/venv.sh && rm -rf /home/forerun/.cache
COPY --chown=forerun Makefile setup.py README.md LICENSE ./
COPY --chown=forerun planner planner
COPY --chown=forerun include include
COPY --chown=forerun spark_jobs spark_jobs
COPY --chown=forerun forerun forerun
COPY --chown=forerun plugins plugins
RUN make jars && rm -rf /home/forerun/.m2 /home/forerun/.cache
COPY --chown=forerun dags dags
ENV PATH=/opt/forerun/.venv/bin:$PATH \
    FORERUN_HOME=/opt/forerun/.forerun \
    FORERUN_STORE=file:///var/lib/forerun/store \
    AIRFLOW_HOME=/var/lib/forerun/airflow \
    AIRFLOW__CORE__DAGS_FOLDER=/opt/forerun/dags \
    AIRFLOW__CORE__LOAD_EXAMPLES=False \
    AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[2]"}'
VOLUME /var/lib/forerun
EXPOSE 8080
ENTRYPOINT ["tini", "--"]
CMD ["airflow", "standalone"]
