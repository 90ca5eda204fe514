"""The site: `make docs`. Everything is local; warnings are errors."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from jupyter_client.connect import ConnectionFileMixin  # noqa: E402
from tools import reference  # noqa: E402

import wayveil  # noqa: E402

project = "Wayveil"
author = "The Wayveil authors"
release = version = wayveil.__version__
extensions = ["myst_nb"]
exclude_patterns = ["_build", "figures"]
root_doc = "index"
suppress_warnings = ["misc.highlighting_failure"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
# Kernels listen on files of this user only, not on ports of the machine, and say no word about it.
ConnectionFileMixin.transport.default_value = "ipc"

html_theme = "pydata_sphinx_theme"
html_title = f"Wayveil {release}"
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_center": [],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": ["globaltoc.html"]}  # all sections on every page, by their captions
copyright = "The Wayveil authors, Apache-2.0"



def setup(app):
    """Work where the notebooks are: the files that kernels listen on have names relative to that folder."""
    app.connect("env-before-read-docs", lambda *given: os.chdir(HERE / "notebooks"))


(HERE / "reference").mkdir(exist_ok=True)
(HERE / "reference" / "api.md").write_text(reference.api_page(), encoding="utf-8")
(HERE / "reference" / "commands.md").write_text(reference.cli_page(), encoding="utf-8")
