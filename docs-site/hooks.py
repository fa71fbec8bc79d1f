# SPDX-License-Identifier: Apache-2.0
"""What of the repository is on the site beside docs/: the README as its first page, the changelog, and files that pages link to."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
REPOSITORY = "repository"
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds them, and all files of the repository that they and docs/ link to."""
    to_do = [("README.md", "index.md"), ("CHANGELOG.md", "changelog.md")]
    to_do += [(target, _placed(target)) for page in Path(config.docs_dir).glob("*.md") for target in _targets(page)]
    while to_do:
        source, place = to_do.pop()
        if files.get_file_from_path(place) or source.startswith("docs/"):
            continue
        path = ROOT / source
        if path.suffix == ".md":
            files.append(File.generated(config, place, content=_moved(path.read_text(), source, place)))
            to_do += [(target, _placed(target)) for target in _targets(path)]
        else:
            files.append(File.generated(config, place, content=_listed(path) if path.is_dir() else path.read_bytes()))
    return files


def on_page_markdown(markdown: str, page, **_) -> str:
    """Links of docs/ that lead out of it lead to the copies."""
    if page.file.generated_by:
        return markdown
    return _moved(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)


def _target(source: str, link: str) -> str | None:
    """The file or directory of the repository that a link of one leads to, None if it leads elsewhere."""
    if re.match(r"[a-z]+:|#|/", link):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link.partition("#")[0]))
    return target if (ROOT / target).exists() else None


def _targets(page: Path) -> list[str]:
    source = page.relative_to(ROOT).as_posix()
    return [target for _, link, _ in LINK.findall(page.read_text()) if (target := _target(source, link)) is not None]


def _placed(target: str) -> str:
    """Where it is on the site."""
    if target in PAGES:
        return PAGES[target]
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return f"{REPOSITORY}/{target}" + (".txt" if (ROOT / target).is_dir() else "")


def _moved(markdown: str, source: str, place: str) -> str:
    """With links that are right from its place on the site."""

    def link(match: re.Match) -> str:
        target = _target(source, match[2])
        if target is None:
            return match[0]
        anchor = match[2].partition("#")[2]
        moved = posixpath.relpath(_placed(target), posixpath.dirname(place) or ".")
        return match[1] + moved + (f"#{anchor}" if anchor else "") + match[3]

    return LINK.sub(link, markdown)


def _listed(directory: Path) -> str:
    """Its files, a line each."""
    return "".join(
        f"{path.relative_to(ROOT)}\n"
        for path in sorted(directory.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    )
