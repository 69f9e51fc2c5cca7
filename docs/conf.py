"""Settings of the documentation."""

import os
import subprocess
import sys
from importlib.metadata import version as installed_version

from docutils import nodes
from docutils.parsers.rst import Directive

project = "manyhands"
author = "the manyhands team"
release = installed_version("manyhands")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "manyhands"
html_static_path = ["_static"]
html_css_files = ["results.css"]
exclude_patterns = ["_build", "**/records", "**/_*"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
default_role = "code"  # `name` in a docstring
napoleon_custom_sections = ["Settings"]
napoleon_google_docstring = False
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True}


class CommandHelp(Directive):
    """The text that `manyhands COMMAND --help` prints."""

    required_arguments = 1

    def run(self):
        command = [sys.executable, "-m", "manyhands", *self.arguments, "--help"]
        plain = {"TERMINAL_WIDTH": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", check=True, env=os.environ | plain
        )
        text = "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())
        return [nodes.literal_block(text, text, language="none")]


def drop_docs_of_type(app, what, name, obj, options, lines):
    """A constant without a docstring has that of its type, such as tuple: leave it out."""
    of_type = str(type(obj).__doc__ or "").strip().splitlines()
    if what == "data" and lines and of_type and lines[0].strip() == of_type[0].strip():
        lines.clear()


def setup(app):
    """Add the directive that shows the help of a command."""
    app.add_directive("command-help", CommandHelp)
    app.connect("autodoc-process-docstring", drop_docs_of_type)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
