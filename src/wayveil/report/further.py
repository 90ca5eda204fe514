"""Sections that other rooms hand to an internal report: the report knows how to place them, not what they say."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

COMPARISON = "#comparison"  # where a report shows other mechanisms and budgets


class FurtherSection(Protocol):
    """A ready section: its word in the navigation, where that leads, its text, and the files beside the page."""

    @property
    def title(self) -> str: ...

    @property
    def target(self) -> str: ...

    def html(self, data: str | None) -> str:
        """The section; `data` is the folder beside the page that has its files, if there is one."""
        ...

    def save(self, folder: Path) -> list[Path]:
        """Write pictures and their numbers."""
        ...


@dataclass(frozen=True)
class LinkedPage:
    """A page beside the report, of which the report has only the link."""

    title: str
    target: str

    def html(self, data: str | None) -> str:
        """Nothing: the page stands by itself."""
        return ""

    def save(self, folder: Path) -> list[Path]:
        """Nothing: the page is written already."""
        return []
