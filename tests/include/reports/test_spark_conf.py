"""A report's own Spark settings: none can put a secret on a command line that is logged."""

from __future__ import annotations

import random
import re
import string

import pytest

from forerun.include.reports.spark.spark_conf import SETTINGS, check_spark_conf
from forerun.include.reports.spec import SpecError

SECRET = "hunter2-Xk9/+=="
BEARING = (
    "spark.executorEnv.AWS_SECRET_ACCESS_KEY",
    "spark.executorEnv.TOKEN",
    "spark.yarn.appMasterEnv.PASSWORD",
    "spark.kubernetes.driverEnv.DB_PASSWORD",
    "spark.kubernetes.executorEnv.DB_PASSWORD",
    "spark.authenticate.secret",
    "spark.authenticate.secret.file",
    "spark.io.encryption.keygen.algorithm",
    "spark.network.crypto.keyFactoryAlgorithm",
    "spark.ssl.keyPassword",
    "spark.ssl.keyStorePassword",
    "spark.ssl.historyServer.trustStorePassword",
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.s3a.secret.key",
    "spark.hadoop.fs.s3a.session.token",
    "spark.hadoop.fs.s3a.bucket.sales.secret.key",
    "spark.hadoop.fs.s3a.encryption.key",
    "spark.hadoop.fs.s3a.server-side-encryption.key",
    "spark.hadoop.fs.s3a.aws.credentials.provider",
    "spark.hadoop.fs.s3a.proxy.password",
    "spark.hadoop.fs.s3a.endpoint",
    "spark.hadoop.fs.azure.account.key.acme.blob.core.windows.net",
    "spark.hadoop.fs.azure.account.oauth2.client.secret",
    "spark.hadoop.fs.azure.sas.box.acme.blob.core.windows.net",
    "spark.hadoop.google.cloud.auth.service.account.private.key",
    "spark.hadoop.hadoop.security.credential.provider.path",
    "spark.hadoop.parquet.encryption.key.list",
    "spark.hadoop.javax.jdo.option.ConnectionPassword",
    "spark.sql.catalog.jdbc.password",
    "spark.sql.catalog.rest.token",
    "spark.kubernetes.authenticate.oauthToken",
    "spark.kubernetes.authenticate.submission.oauthToken",
    "spark.kubernetes.authenticate.driver.clientKeyFile",
    "spark.driver.extraJavaOptions",
    "spark.driver.defaultJavaOptions",
    "spark.executor.extraJavaOptions",
    "spark.yarn.am.extraJavaOptions",
    "spark.driver.extraClassPath",
    "spark.jars",
    "spark.jars.packages",
    "spark.jars.repositories",
    "spark.submit.pyFiles",
    "spark.files",
    "spark.archives",
    "spark.ui.filters",
    "spark.acme.ui.filter.param.signing.secret",
    "spark.kerberos.keytab",
    "spark.redaction.regex",
    "spark.databricks.token",
    "spark.app.name",
    "spark.master",
    "spark.eventLog.dir",
    "SPARK.EXECUTOR.MEMORY",
    "hunter2",
)
ORDINARY = {
    "spark.executor.memory": "2g",
    "spark.executor.cores": "4",
    "spark.driver.memoryOverheadFactor": "0.25",
    "spark.driver.maxResultSize": "0",
    "spark.cores.max": "16",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.maxExecutors": "infinity",
    "spark.dynamicAllocation.executorIdleTimeout": "60s",
    "spark.sql.shuffle.partitions": "64",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.files.maxPartitionBytes": "128MB",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.shuffle.service.enabled": "true",
    "spark.locality.wait": "3s",
    "spark.scheduler.mode": "FAIR",
    "spark.yarn.queue": "root.night",
    "spark.kubernetes.namespace": "reports",
    "spark.kubernetes.executor.request.cores": "500m",
    "spark.kubernetes.container.image": "registry.example.com:5000/data/spark:4.1.4-py311",
    "spark.kubernetes.node.selector.disk": "ssd",
    "spark.kubernetes.driver.secrets.keys": "/etc/keys",
    "spark.kubernetes.driver.secretKeyRef.AWS_SECRET_ACCESS_KEY": "store:secret",
    "spark.hadoop.fs.s3a.connection.maximum": "200",
    "spark.hadoop.fs.s3a.multipart.size": "64M",
}


def test_ordinary_settings_are_taken() -> None:
    assert check_spark_conf(ORDINARY) == ORDINARY


@pytest.mark.parametrize("name", BEARING)
@pytest.mark.parametrize("value", [SECRET, "12345", "true"])
def test_settings_that_may_hold_secrets_are_refused(name: str, value: str) -> None:
    """Whatever the value looks like: a password may be a number."""
    with pytest.raises(SpecError, match="command line that is logged") as caught:
        check_spark_conf({"spark.executor.cores": "1", name: value})
    assert "spark-defaults.conf" in caught.value.hint
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", sorted(ORDINARY))
@pytest.mark.parametrize(
    "value",
    ["{{ conn.store.password }}", "-Dkey=hunter2", "https://p@host/x", "a b", "x\n", "", SECRET],
)
def test_values_are_what_they_may_be(name: str, value: str) -> None:
    with pytest.raises(SpecError, match=re.escape(name)) as caught:
        check_spark_conf({name: value})
    assert not value.strip() or value not in caught.value.message


def test_values_are_texts() -> None:
    with pytest.raises(SpecError, match=r"spark\.executor\.cores"):
        check_spark_conf({"spark.executor.cores": 4})


def test_no_setting_but_names_takes_what_a_key_looks_like() -> None:
    rng = random.Random(7)
    signs = string.ascii_letters + string.digits + "/+="
    keys = ["".join(rng.choices(signs, k=40)) for _ in range(200)]
    for setting in SETTINGS:
        if setting.said != "a name":
            taken = [key for key in keys if any(v.fullmatch(key) for v in setting.values)]
            assert taken == [], setting.name.pattern
