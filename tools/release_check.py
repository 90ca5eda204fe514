"""Say whether the tree is ready for a tag: `make release-check`.

    python -m tools.release_check --out dist            everything but the installation
    python -m tools.release_check --out dist --install  also install the wheel alone and run `wayveil demo` from it

Each check prints a line; the exit code is 1 if one fails.
"""

import argparse
import csv
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import yaml

import wayveil
from tools.dependencies import bill_of_materials, dependencies

ROOT = Path(__file__).parents[1]


def project() -> dict:
    """Return the project table of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def dated_versions() -> list[tuple[str, str]]:
    """Return version and date of each section of the changelog, newest first."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", text, re.MULTILINE)


def unreleased() -> str:
    """Return what stands in the changelog above the newest version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(r"^## Unreleased\n(.*?)^## \d", text, re.MULTILINE | re.DOTALL)
    return found.group(1).strip() if found else ""


def version_problems() -> Iterator[str]:
    """Name each place that states another version or date than the package and its changelog."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    newest, day = dated_versions()[0] if dated_versions() else ("none", "none")
    for place, said in (
        ("the newest dated section of CHANGELOG.md", newest),
        ("CITATION.cff", str(cited["version"])),
        ("conda/recipe.yaml", str(recipe["context"]["version"])),
    ):
        if said != wayveil.__version__:
            yield f"{place} says {said}, the package {wayveil.__version__}"
    if str(cited["date-released"]) != day:
        yield f"CITATION.cff is dated {cited['date-released']}, CHANGELOG.md {day}"
    if unreleased():
        yield "CHANGELOG.md has entries under Unreleased: move them into the version"


def metadata_problems() -> Iterator[str]:
    """Name what the metadata of the package lacks."""
    said, yml = project(), (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    pythons = {each.rsplit(" ", 1)[-1] for each in said["classifiers"] if re.search(r"Python :: 3\.\d", each)}
    tested = set(re.findall(r'"(3\.\d+)"', yml.split("matrix:")[1].split("runs-on")[0]))
    if pythons != tested:
        yield f"classifiers name {sorted(pythons)}, continuous integration runs {sorted(tested)}"
    extras = said["optional-dependencies"]
    everything = set(re.findall(r"\w+", extras["all"][0])) - {"wayveil"}
    if everything != set(extras) - {"all", "dev", "docs"}:
        yield f"the extra `all` has {sorted(everything)}, not every extra"
    recipe = (
        (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8").replace("matplotlib-base", "matplotlib")
    )
    for wanted in said["dependencies"]:
        if f"- {wanted.replace('>=', ' >=')}\n" not in recipe:
            yield f"conda/recipe.yaml lacks {wanted}"


def run(*words: str | Path) -> Iterator[str]:
    """Run a command; yield the end of its output if it fails."""
    done = subprocess.run(
        [str(word) for word in words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        yield f"{' '.join(map(str, words[:4]))}: {(done.stdout + done.stderr).strip()[-800:]}"


def build_problems(out: Path) -> Iterator[str]:
    """Build wheel and sdist and have three independent tools look at them."""
    for old in [*out.glob("wayveil-*.whl"), *out.glob("wayveil-*.tar.gz")]:
        old.unlink()
    yield from run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out)
    made = [*out.glob("wayveil-*.whl"), *out.glob("wayveil-*.tar.gz")]
    if len(made) != 2:
        yield f"expected a wheel and an sdist in {out}, found {len(made)} files"
        return
    yield from run(sys.executable, "-m", "twine", "check", "--strict", *made)
    yield from run(sys.executable, "-m", "check_wheel_contents", made[0])
    yield from run(sys.executable, "-m", "validate_pyproject", ROOT / "pyproject.toml")


def licence_problems(out: Path) -> Iterator[str]:
    """Write the licence of every dependency and the bill of materials; name licences that are not allowed."""
    said = project()
    extras = {
        name: part for name, part in said["optional-dependencies"].items() if name not in ("dev", "docs")
    }
    parts, missing = dependencies({"": said["dependencies"], **extras})
    out.mkdir(parents=True, exist_ok=True)
    with (out / "licences.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "version", "licence", "extra", "verdict"])
        rows.writerows((part.name, part.version, part.licence, part.extra, part.verdict) for part in parts)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    bill = out / f"wayveil-{wayveil.__version__}.cdx.json"
    bill.write_text(bill_of_materials(wayveil.__version__, parts, when), encoding="utf-8")
    yield from (f"{part.name}: {part.licence}" for part in parts if part.verdict == "not allowed")
    yield from (f"{name} is not installed here, so its licence was not read" for name in missing)


def install_problems(out: Path, python: str) -> Iterator[str]:
    """Install the wheel without extras into an environment of its own and run the demo from it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        yield from run(python, "-m", "venv", home / "venv")
        yield from run(home / "venv/bin/python", "-m", "pip", "install", "-q", next(out.glob("*.whl")))
        wayveil_alone = ("env", f"WAYVEIL_HOME={home / 'keys'}", home / "venv/bin/wayveil")
        yield from run(*wayveil_alone, "demo", "--riders", "2000", "--out", home / "demo", "-q")
        yield from run(*wayveil_alone, "ask", home / "demo" / "release", "boardings", "-q")


def main() -> int:
    """Run the checks and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--install", action="store_true", help="install the wheel alone and run the demo")
    parser.add_argument("--python", action="append", default=[], help="--install: another Python; repeatable")
    given = parser.parse_args()
    out = given.out.resolve()
    checks = {
        "version and changelog": version_problems(),
        "metadata": metadata_problems(),
        "licence of every dependency, bill of materials": licence_problems(out),
        "wheel and sdist (twine, check-wheel-contents, validate-pyproject)": build_problems(out),
    }
    for python in [sys.executable, *given.python] if given.install else ():
        checks[f"installs alone and runs the demo ({python})"] = install_problems(out, python)
    failed = False
    for name, problems in checks.items():
        found = list(problems)
        failed |= bool(found)
        print(f"{'FAIL' if found else 'ok'}  {name}", *found, sep="\n      ", flush=True)
    if any(".example/" in url for url in project()["urls"].values()):
        print(
            "note  [project.urls] still has reserved addresses (wayveil.example): set them before an upload"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
