"""Statements for a privacy officer's file: a draft impact assessment (GDPR), a de-identification statement (CCPA).

They repeat what the datasheet says in the order in which a regulator asks; blanks are for what only people decide.
"""

from pathlib import Path
from typing import Any

from wayveil.accuracy.judged import JudgedRelease
from wayveil.errors import InputError
from wayveil.released.officer import officer_lines
from wayveil.world.timebins import TimeBins

BLANK = "______________________________"
# The tests of recital 26, as the Article 29 working party names them, and the line of `wayveil risk` about each.
TESTS = {
    "Singling out": "Can one person's record be told from all others?",
    "Linkage": "Can two records of the same person be linked?",
    "Inference": "Can something about a person be deduced that the attacker did not know?",
}
CUSTOMARY = ("10 or more", "k-anonymity, k = 10", "This release")
UNMEASURED = (
    "not measured: `wayveil risk RELEASE --raw FILE --holdout FILE > risk.txt`; give `--with risk=risk.txt`"
)


def write_dpia(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """Write a draft data protection impact assessment of the release, as Markdown."""
    sheet = release.datasheet
    lines = [
        f"# Data protection impact assessment: {sheet['deployment']['basic']['name']}",
        "",
        "A draft from the datasheet of the release. Internal. Blanks are for people to fill.",
        "",
        "## 1. The processing",
        "",
        *_table(release),
        "",
        "## 2. Necessity and proportion",
        "",
        f"- Legal basis: {BLANK}",
        f"- Why raw or merely thinned-out data would not do: {BLANK}",
        f"- What is left out: {'; '.join(sheet['not_protected'])} (public, so not protected).",
        "",
        "## 3. Is anybody identifiable? (GDPR, recital 26)",
        "",
        "| test | question | measured on this release |",
        "|---|---|---|",
        *(f"| {name} | {question} | {_measured(sheet, name)} |" for name, question in TESTS.items()),
        "",
        f"The guarantee itself does not rest on these attacks: {sheet['guarantee']['sentence']}",
        "",
        "## 4. Compared with customary rules on the same data",
        "",
        "Somebody asks to be taken out, a second table is published, and the two are compared:",
        "",
        *(f"- {name}: {_measured(sheet, name)}" for name in CUSTOMARY),
        "",
        "## 5. Remaining risks",
        "",
        *(f"- {each}" for each in sheet["limitations"]),
        f"- Other risks seen by the officer: {BLANK}",
        "",
        *_signatures(),
    ]
    return _written(out, lines)


def write_ccpa(release: JudgedRelease, out: Path, bins: TimeBins) -> list[Path]:
    """Write a de-identification statement (Cal. Civ. Code 1798.140(m)) of the release, as Markdown."""
    basic = release.datasheet["deployment"]["basic"]
    who = basic["data_curators"][0]["data_curator_name"]
    lines = [
        f"# De-identification statement: {basic['name']}",
        "",
        f"{who} publishes this information as de-identified (California Civil Code 1798.140(m)).",
        "",
        *_table(release),
        "",
        "1. **It cannot reasonably be linked to a person.** " + release.datasheet["guarantee"]["sentence"],
        f"2. **Public commitment.** {who} keeps and uses it de-identified, and does not attempt to re-identify it.",
        f"3. **Those who receive it** are bound by contract to the same: {BLANK}",
        "",
        *_signatures(),
    ]
    return _written(out, lines)


def _table(release: JudgedRelease) -> list[str]:
    return [
        "| | |",
        "|---|---|",
        *(f"| {title} | {text} |" for title, text in officer_lines(release.datasheet, release.usefulness)),
    ]


def _measured(sheet: dict[str, Any], name: str) -> str:
    """Return the sentence of `wayveil risk` about a test, from the file that was named."""
    if "risk" not in sheet:
        return UNMEASURED
    try:
        lines = Path(str(sheet["risk"])).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"cannot be read ({error})", file=Path(str(sheet["risk"]))) from error
    found = [line for line in lines if line.startswith(f"{name}:")]
    return found[0].partition(": ")[2] if found else UNMEASURED


def _signatures() -> list[str]:
    return [f"Name: {BLANK}", "", f"Date: {BLANK}", "", f"Signature: {BLANK}", ""]


def _written(out: Path, lines: list[str]) -> list[Path]:
    out.write_text("\n".join(lines), encoding="utf-8")
    return [out]
