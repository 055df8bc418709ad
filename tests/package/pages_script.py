"""Run in the installed environment: prints which pages of Airflow's API server answer, and how."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

from airflow.api_fastapi.app import create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

client = TestClient(create_app(apps="core"), raise_server_exceptions=False)
passwords = Path(os.environ["AIRFLOW_HOME"], "simple_auth_manager_passwords.json.generated")
login = {"username": "admin", "password": json.loads(passwords.read_text())["admin"]}
token = client.post("/auth/token", json=login).json()["access_token"]
visitor = {"Authorization": f"Bearer {token}"}
plugins = client.get("/api/v2/plugins", headers=visitor).json()["plugins"]
found = {
    path: (answer.status_code, answer.text)
    for path in sys.argv[1:]
    for answer in [client.get(path, headers=visitor)]
}
nobody = client.get(sys.argv[1], follow_redirects=False)
views = [view["name"] for plugin in plugins for view in plugin.get("external_views", ())]
print(json.dumps({"pages": found, "nobody": nobody.status_code, "views": views}))
