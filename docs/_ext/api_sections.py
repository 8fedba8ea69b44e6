"""The sidebar of the API reference: the sections of the page api, each with the pages of its names."""

from typing import Any, NamedTuple

from docutils import nodes
from sphinx import addnodes

PAGE, FOLDER = "api", "gallery/api/"


class Section(NamedTuple):
    """A heading of the API page, and what stands under it as (name, page)."""

    title: str
    anchor: str
    names: list[tuple[str, str]]
    current: bool = False


def sections(contents: nodes.Node) -> list[Section]:
    """Read off the table of contents that Sphinx keeps of a page."""
    found = []
    for item in contents.findall(nodes.list_item):
        heading = next(item.findall(nodes.reference))
        if not heading["anchorname"]:
            continue  # the page itself, around its sections
        pages = [page for tree in item.findall(addnodes.toctree) for page in tree["includefiles"]]
        names = [(page.rsplit(".", 1)[-1], page) for page in pages]
        found.append(Section(heading.astext(), heading["anchorname"], names))
    return found


def add(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the sections to the template, the one of this page marked."""
    if pagename == PAGE or pagename.startswith(FOLDER):
        found = sections(app.env.tocs[PAGE])
        here = [section._replace(current=pagename in (page for _, page in section.names)) for section in found]
        context["api_sections"] = here


def setup(app: Any) -> dict[str, Any]:
    """Register it."""
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
