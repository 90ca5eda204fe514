"""The risk page of the internal report: what attacks reach on a release. Never part of anything published.

The public report does not import this module; the build checks it.
"""

from pathlib import Path

from wayveil.attacks.attack_findings import RiskReport
from wayveil.report.chart import environment, write_page


def risk_html(report: RiskReport, title: str = "Risk of a release") -> str:
    """The page as text."""
    return environment().get_template("risk.html.j2").render(report=report, title=title)


def write_risk_page(path: str | Path, report: RiskReport, title: str = "Risk of a release") -> Path:
    """Write the page; the file appears whole or not at all."""
    return write_page(path, risk_html(report, title))
