"""A hook of mkdocs: links to files that are no pages of the site lead to the repository on its hosting site.

A page names a file of the repository by its path relative to the page. The hosting site's own view follows such a link as it is.
The site does not contain the file, so the hook puts the address of the file there. A link to a file that does not exist is a
warning, and `mkdocs build --strict` fails because of it.
"""

from __future__ import annotations

import logging
import os.path
import re
from pathlib import Path
from typing import Any

_RELATIVE = re.compile(r"(?<=\]\()(?!\w+:)[^)#\s]+")
_log = logging.getLogger("mkdocs.hooks.docs_links")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """The page with the addresses of files in place of the paths that lead to no page."""
    docs = Path(config.docs_dir)

    def address(link: re.Match[str]) -> str:
        path = Path(os.path.normpath(docs / os.path.dirname(page.file.src_uri) / link[0]))
        if path.is_relative_to(docs) and (path.suffix == ".md" or not path.exists()):
            return link[0]  # mkdocs looks after these
        if not path.exists():
            _log.warning("%s has a link to %s, which does not exist", page.file.src_uri, link[0])
        kind = "tree" if path.is_dir() else "blob"
        return f"{config.repo_url.rstrip('/')}/{kind}/main/{path.relative_to(docs.parent).as_posix()}"

    return _RELATIVE.sub(address, markdown)
