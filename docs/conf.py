"""Settings of the documentation: pages in MyST, numpydoc docstrings, and the examples as a gallery."""

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import didact  # noqa: E402

project = "didact"
author = "the didact developers"
copyright = "the didact developers, BSD-3-Clause"
version = release = didact.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_sections",
    "docstrings",
    "mathml",
]
exclude_patterns = ["_build", "images", "gallery/**/*.ipynb", "gallery/**/*.zip"]
templates_path = ["_templates"]
default_role = "py:obj"
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}  # a role in docstrings of scikit-learn
suppress_warnings = ["ref.term", "ref.ref"]  # its glossary and labels, in what is re-exported; our pages have none

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery/examples",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("didact",),
    "inspect_global_variables": False,  # an example belongs to the names that it imports, not to their base classes
    "reset_modules": ("matplotlib", "picture_style.use"),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
}
if tags.has("quick"):  # noqa: F821  # a name that Sphinx gives; pages alone: no example runs, so there are no pictures
    sphinx_gallery_conf["plot_gallery"] = False
    suppress_warnings.append("image.not_readable")

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-output):not(.sphx-glr-script-out) > div.highlight > pre"

html_theme = "pydata_sphinx_theme"
html_title = "didact"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_use_index = html_domain_indices = False  # the search and the API page find names
html_context = {
    "version_name": next(
        entry["name"]
        for entry in json.loads((HERE / "_static" / "switcher.json").read_text(encoding="utf-8"))
        if entry["version"] == release
    ),
}
html_theme_options = {
    "logo": {"text": "didact"},
    "switcher": {"json_url": "_static/switcher.json", "version_match": release},
    "navbar_end": ["version-switcher", "theme-switcher"],
    "navbar_align": "left",
    "search_bar_text": "Search",
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "collapse_navigation": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "primary_sidebar_end": [],
}
html_sidebars = {
    "index": [],
    "api": ["api-sections"],
    "gallery/api/*": ["api-sections"],
}
