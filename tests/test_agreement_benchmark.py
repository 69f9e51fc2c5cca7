"""The benchmark of agreement on tiny tables."""

import pytest
from benchmarks import agreement, alphas
from benchmarks.processes import OK, SKIPPED


@pytest.mark.parametrize("level", agreement.Plan().levels)
def test_both_tools_get_the_same_labels(level):
    table = alphas.draw(level, 200)
    matrix = table.matrix()
    assert (~(matrix != matrix)).sum() == 200
    pytest.importorskip(alphas.PEER)
    assert alphas.ours(table, level) == pytest.approx(alphas.theirs(table, level), abs=1e-9)


def test_a_tool_that_gave_up_is_not_run_on_larger_tables(monkeypatch):
    def run(job, request, limit_s):
        fails = request["tool"] == alphas.PEER and request["n_labels"] > 100
        found = {"seconds": 0.5, "value": 0.25, "peak_bytes": 2**28, "baseline_bytes": 2**27}
        return {"status": "out of memory", "limit_s": limit_s} if fails else {"status": OK} | found

    monkeypatch.setattr(agreement, "run_job", run)
    monkeypatch.setattr(agreement, "version", lambda name: "0")
    plan = agreement.Plan(levels=("interval",), sizes=(100, 1_000, 1_000_000))
    rows = list(agreement.measure_all(plan, "python -m benchmarks.agreement"))
    assert [row["status"] for row in rows[1:]] == [OK, OK, OK, "out of memory", OK, SKIPPED]
    page = agreement.make_page(rows)
    assert "| interval | 1,000 | krippendorff | out of memory |" in page
    assert "not run: 1,000 labels were too many" in page
    assert "It holds: 0.50 s and 256 MiB." in page
    rows[5]["seconds"] = 11.0
    assert "does not hold" in agreement.make_page(rows)


def test_without_the_peer_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    def missing(name):
        raise agreement.PackageNotFoundError(name)

    monkeypatch.setattr(agreement, "version", missing)
    assert agreement.main(["--quick", "--docs", str(tmp_path)]) == 1
    assert "pip install --target peers" in capsys.readouterr().err
