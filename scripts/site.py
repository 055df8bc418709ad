"""Hooks of the site's generator (``mkdocs.yml``): pages of the root beside those of ``docs/``.

Pages link to one another as files of the checkout do, so that they read right there, too. In the
site ``docs/`` is the root: links are made anew, and what is no page of it (a folder of the code) is
named and not linked.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
_LINK = re.compile(
    r"(?<!!)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
)
_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?!https?:)(?P<target>[^)\s]+)\)")
_RUN = re.compile(r"^( *```\w+) run(?=\n)", re.MULTILINE)
"""A block that a test runs: that is for the test to know."""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root to the site."""
    from mkdocs.structure.files import File

    root = Path(config["config_file_path"]).parent
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, abs_src_path=str(root / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page with its links as they are in the site."""
    known = {file.src_uri for file in files}
    root = Path(config["config_file_path"]).parent
    return site_text(markdown, page.file.src_uri, known, root)


def site_text(text: str, page: str, known: set[str], root: Path) -> str:
    """Return a page's text for the site. ``page`` and ``known`` are paths in the site. A link that
    leads nowhere in the checkout is left as it is, so that the generator names it."""
    here = PurePosixPath(page if page in ROOT_PAGES else f"docs/{page}").parent
    folder = PurePosixPath(page).parent

    def there(target: str) -> tuple[str, str]:
        place = os.path.normpath(here / target)
        return place, place.removeprefix("docs/")

    def link(found: re.Match[str]) -> str:
        place, uri = there(found["target"])
        if uri in known:
            target = os.path.relpath(uri, folder)
            return f"[{found['text']}]({target}{found['anchor'] or ''})"
        return found["text"] if (root / place).exists() else found[0]

    def picture(found: re.Match[str]) -> str:
        _, uri = there(found["target"])
        return f"![{found['text']}]({os.path.relpath(uri, folder)})"

    return _RUN.sub(r"\1", _PICTURE.sub(picture, _LINK.sub(link, text)))
