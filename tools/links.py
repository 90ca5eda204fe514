"""Check every link of the built site: `python -m tools.links docs/_build/html`, the last step of `make docs`.

A link must lead to a file of the site, and its fragment to something there.
Addresses elsewhere are not visited: the site is built offline.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Links of a page, and the ids that others may link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and tag != "base":
                self.links.append(value)


def _built(site: Path) -> list[Path]:
    """Return the pages of the site; what stands under _static is the theme's own."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def broken_links(site: Path) -> Iterator[str]:
    """Name each link that leads nowhere, with its page."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in _built(site)}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            fragment = unquote(parts.fragment)
            if not target.exists() or (fragment and target in pages and fragment not in pages[target].ids):
                yield f"{path.relative_to(site.resolve())}: {link}"


def main() -> int:
    """Print what is broken, or how much was checked."""
    site = Path(sys.argv[1])
    broken = list(dict.fromkeys(broken_links(site)))
    print(*broken, f"{len(broken)} broken links in {len(_built(site))} pages", sep="\n")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
