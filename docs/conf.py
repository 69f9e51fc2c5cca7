"""Settings of the documentation."""

from importlib.metadata import version as installed_version

project = "manyhands"
author = "the manyhands team"
release = installed_version("manyhands")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "manyhands"
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
napoleon_custom_sections = ["Settings"]
napoleon_google_docstring = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
