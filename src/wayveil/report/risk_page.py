"""The risk page of the internal report: what attacks reach on a release. Never part of anything published.

The public report does not import this module; the build checks it.
"""

from pathlib import Path

from wayveil.attacks.attack_findings import RiskReport
from wayveil.report.chart import environment, write_page


def write_risk_page(path: str | Path, report: RiskReport) -> Path:
    """Write the page; the file appears whole or not at all."""
    page = environment().get_template("risk.html.j2")
    return write_page(path, page.render(report=report, title="Risk of a release"))
