"""The project's own files agree with each other and with the package: what `make release-check` needs no build for."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from tools import release_check
from tools.dependencies import bill_of_materials, dependencies

ROOT = Path(__file__).parents[1]


def test_every_file_states_the_same_version_and_metadata():
    problems = [*release_check.version_problems(), *release_check.metadata_problems()]
    assert [each for each in problems if "Unreleased" not in each] == []


def test_another_version_in_one_place_is_noticed(monkeypatch):
    monkeypatch.setattr(release_check.wayveil, "__version__", "9.9.9")
    assert len(list(release_check.version_problems())) >= 3


def test_what_everybody_installs_has_a_permissive_licence_and_is_in_the_bill_of_materials():
    parts, missing = dependencies({"": release_check.project()["dependencies"]})
    assert missing == []
    assert {part.name for part in parts} >= {"polars", "numpy", "numba", "llvmlite", "cryptography"}
    assert {part.verdict for part in parts} == {"permissive"}
    bill = json.loads(bill_of_materials("0.1.0", parts, "2026-01-01T00:00:00+00:00"))
    assert {each["name"] for each in bill["components"]} == {part.name for part in parts}


def test_the_facts_at_the_head_of_the_readme_are_those_of_the_package():
    said, head = release_check.project(), (ROOT / "README.md").read_text().split("## Install")[0]
    pythons = [each.rsplit(" ", 1)[-1] for each in said["classifiers"] if "Python :: 3." in each]
    assert f"Version {release_check.wayveil.__version__} · Python {pythons[0]} to {pythons[-1]}" in head
    assert said["license"] in head
    assert "Typing :: Typed" in said["classifiers"]


def test_every_claim_names_a_test_or_a_target_that_exists():
    page = (ROOT / "docs" / "claims.md").read_text()
    assert len(re.findall(r"^\| \d+\. ", page, re.MULTILINE)) == 40
    assert [path for path in re.findall(r"tests/[\w/.]+", page) if not (ROOT / path).exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", page)) <= targets


def claimed_tests():
    """Paths and words of `-k` of each pytest command on the page of claims."""
    page = (ROOT / "docs" / "claims.md").read_text()
    for paths, words in re.findall(r"`pytest ((?:tests/[\w/.]+ ?)+)(?:-k (\w+|\"[^\"]+\"))?[^`]*`", page):
        yield paths.split(), re.split(r" or ", words.strip('"'))


def test_every_claim_selects_a_test():
    """A name that changed would leave a command that runs nothing and passes nothing."""
    for paths, words in claimed_tests():
        files = [
            file
            for path in paths
            for file in ([ROOT / path] if path.endswith(".py") else (ROOT / path).rglob("test_*.py"))
        ]
        names = [
            f"{file.stem} {name}"
            for file in files
            for name in re.findall(r"def (test_\w+)", file.read_text())
        ]
        for word in words:
            assert any(word in name for name in names), f"{paths} -k {word}"


def test_the_container_does_not_run_as_root():
    users = re.findall(r"^USER (\S+)", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert users
    assert users[-1] not in ("root", "0")


@pytest.mark.parametrize("path", ["CITATION.cff", ".pre-commit-config.yaml", ".github/workflows/ci.yml"])
def test_yaml_files_can_be_read(path):
    assert isinstance(yaml.safe_load((ROOT / path).read_text()), dict)


def test_hooks_are_local_and_no_file_of_the_project_names_a_package_index():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert {repo["repo"] for repo in hooks["repos"]} == {"local"}
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    named = re.compile(r"pypi\.org|pythonhosted|index-url|conda\.anaconda|find-links [^/]*://")
    small = [
        ROOT / path for path in tracked if Path(path).suffix in (".toml", ".yaml", ".yml", ".cff", "", ".md")
    ]
    assert [path for path in small if path.is_file() and named.search(path.read_text(errors="ignore"))] == []
