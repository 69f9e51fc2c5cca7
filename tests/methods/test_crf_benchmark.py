"""The benchmark of chains on a few tokens: all tools find the same, and all have a row."""

import numpy as np
import pytest

pytest.importorskip("torchcrf")
pytest.importorskip("TorchCRF")

from benchmarks import chains


def test_all_tools_find_the_same_marginals():
    case = chains.random_chains(200, 4)
    assert case.offsets[-1] == 200
    ours = chains.time_ours(case, repeats=1)
    theirs = list(chains.time_torch(case, repeats=1))
    assert len(theirs) == 2 * len(chains.BATCHES)
    for each in theirs:
        np.testing.assert_allclose(each.marginal_tk, ours.marginal_tk, atol=1e-4)
    assert {each.tool.split(",")[0] for each in chains.best_of_each(theirs)} == {
        "pytorch-crf",
        "TorchCRF",
    }


def test_the_table_has_a_row_for_every_tool(tmp_path):
    words = ["--tokens", "100", "--tags", "3", "--repeats", "1", "--docs", str(tmp_path)]
    chains.main(words)
    text = (tmp_path / "sequence-speed.md").read_text()
    assert "100 tokens, 3 tags" in text
    for tool in ("manyhands", "pytorch-crf", "TorchCRF"):
        assert f"| {tool}" in text
