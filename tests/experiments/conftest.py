"""What tests of experiments share."""

import pytest
from tiny_corpora import write_corpora


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with tiny corpora in it."""
    home = tmp_path_factory.mktemp("corpora")
    write_corpora(home)
    return str(home)
