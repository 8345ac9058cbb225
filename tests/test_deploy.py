"""The compose file and its configuration: syntax, the services a store needs, no open secrets."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.nebula_url import parse_nebula_url

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
SERVICES = {"postgres", "etcd", "minio", "milvus", "metad", "storaged", "graphd", "nebula-hosts"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def test_every_service_has_what_compose_asks_for(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == SERVICES
    for name, service in compose["services"].items():
        # A tag is pinned, so that two machines run the same.
        assert re.fullmatch(r"[\w./-]+:[\w.-]*\d[\w.-]*", service["image"]), name
        assert service["restart"] in ("unless-stopped", "no")
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert "healthcheck" in compose["services"][other]
        for check in [service.get("healthcheck")] if name != "nebula-hosts" else []:
            assert check["test"][0] in ("CMD", "CMD-SHELL")
            assert {"interval", "timeout", "retries"} <= set(check)


def test_versions(compose: dict[str, Any]) -> None:
    images = {name: service["image"] for name, service in compose["services"].items()}
    for name in ("metad", "storaged", "graphd"):
        assert images[name] == f"vesoft/nebula-{name}:v3.8.0"
    assert images["milvus"].startswith("milvusdb/milvus:v2.6.")


def test_data_outlives_the_containers(compose: dict[str, Any]) -> None:
    mounted = [v.split(":")[0] for s in compose["services"].values() for v in s.get("volumes", [])]
    assert sorted(mounted) == sorted(compose["volumes"])


def test_nothing_is_open_to_other_machines(compose: dict[str, Any]) -> None:
    ports = [port for s in compose["services"].values() for port in s.get("ports", [])]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{(\w+):\?", text))
    given = re.findall(r"(?m)^(\w+)=", (DEPLOY / "env.example").read_text(encoding="utf-8"))
    assert used == set(given)


def test_the_configuration_names_what_the_compose_file_starts(compose: dict[str, Any]) -> None:
    path = DEPLOY / "semxpath.toml"
    config = StoreConfig.from_file(path)
    ports = {p.split(":")[-1] for s in compose["services"].values() for p in s.get("ports", [])}
    place = parse_nebula_url(config.graph)
    named = {str(place.options.addresses[0][1]), config.milvus_uri.rsplit(":", 1)[1]}
    named.add(re.search(r":(\d+)/", config.catalog_url).group(1))
    assert named == ports
    passwords = tomllib.loads(path.read_text(encoding="utf-8"))
    assert passwords["vectors"]["token"].startswith("root:change-me")
