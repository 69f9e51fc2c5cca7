"""The command line as a process: exit codes, closed pipes, full disks, kills."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import SMALL, assert_refused, start, start_changed

import manyhands as mh

N_ITEMS = 30_000
FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Labels of so many items that a consensus takes more than a pipe or a small disk holds."""
    path = tmp_path_factory.mktemp("many") / "labels.csv"
    rows = "".join(f"{item},{item % 7},{item % 3}\n" for item in range(N_ITEMS))
    path.write_text("item,annotator,label\n" + rows)
    return path


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(SMALL)
    return path


def test_a_good_request_is_exit_code_0(labels):
    outcome = start("aggregate", labels, "--method", "majority")
    assert outcome.code == 0
    assert pd.read_csv(io.StringIO(outcome.out))["item"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "words",
    [["aggregate", "nothing.csv"], ["aggregate", "labels.csv", "--methd", "x"], ["simulate"]],
    ids=" ".join,
)
def test_a_wrong_request_is_exit_code_2_and_one_line(words, labels):
    assert_refused(start(*words, cwd=labels.parent))


def test_help_and_version_are_no_errors():
    helped, bare = start("--help"), start()
    assert helped.code == bare.code == 0
    assert "aggregate" in helped.out
    assert "aggregate" in bare.out
    assert start("--version") == (0, f"manyhands {mh.__version__}\n", "")


@pytest.mark.slow
def test_a_disk_that_fills_leaves_the_old_file_and_nothing_else(many, tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))"
    for suffix in ("csv", "jsonl"):
        out = tmp_path / f"out.{suffix}"
        out.write_bytes(b"old\n")
        outcome = start_changed(limit, "aggregate", many, "--method", "majority", "--out", out)
        assert_refused(outcome, code=1)
        assert outcome.err.startswith(f"manyhands: {out}: File too large")
        assert out.read_bytes() == b"old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.jsonl"]


def test_a_kill_at_the_last_moment_leaves_the_old_file_whole(many, tmp_path):
    out = tmp_path / "out.csv"
    out.write_bytes(b"old\n")
    kill = "import os; os.fsync = lambda file: os.kill(os.getpid(), 9)"
    outcome = start_changed(kill, "aggregate", many, "--method", "majority", "--out", out)
    assert outcome.code == -9
    assert out.read_bytes() == b"old\n"


def test_an_interrupt_is_one_line_and_leaves_no_file(many, tmp_path):
    stop = "import os, signal; os.fsync = lambda file: os.kill(os.getpid(), signal.SIGINT)"
    out = tmp_path / "out.csv"
    outcome = start_changed(stop, "aggregate", many, "--method", "majority", "--out", out)
    assert_refused(outcome, code=1)
    assert "interrupted" in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--json"]], ids=["table", "json"])
def test_a_reader_that_leaves_early_sees_no_traceback(many, words):
    command = [sys.executable, "-m", "manyhands", "aggregate", many, "--method", "majority"]
    process = subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        first = process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert first.strip()
    assert "Traceback" not in said
    assert "Exception" not in said
    assert process.returncode in {0, 1}


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_one_line():
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "manyhands", "--help"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "standard output: No space left on device" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_closed_streams_are_no_traceback_and_files_are_whole(labels):
    program = f"{sys.executable} -m manyhands aggregate {labels} --method majority"
    done = subprocess.run(
        ["sh", "-c", f"{program} >&-"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("manyhands: standard output: ")
    assert done.stderr.count("\n") == 1
    out = labels.parent / "out.csv"
    done = subprocess.run(
        ["sh", "-c", f"{program} --out {out} >&- 2>&-"], capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert out.read_text().count("\n") == 4


@pytest.mark.slow
def test_a_terminal_that_knows_no_unicode_is_no_error(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\né,ü,日本\n", encoding="utf-8")
    plain = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    outcome = start("aggregate", path, "--method", "majority", "--json", env=plain)
    assert outcome.code == 0
    outcome = start("aggregate", path, "--classes", "é", env=plain)
    assert_refused(outcome)


@pytest.mark.slow
def test_a_million_annotators_fit_in_little_memory(tmp_path):
    path, people = tmp_path / "labels.csv", tmp_path / "people.parquet"
    n = 1_200_000
    rows = "".join(f"{k // 4},{k % 1_000_000},{(k // 4 + (k % 9 == 0)) % 2}\n" for k in range(n))
    path.write_text("item,annotator,label\n" + rows)
    measure = (
        "import atexit, resource\n"
        "most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "atexit.register(lambda: sys.stderr.write(str(most())))\n"
    )
    out = tmp_path / "out.parquet"
    outcome = start_changed(measure, "aggregate", path, "--out", out, "--annotators", people)
    assert outcome.code == 0, outcome.err
    assert int(outcome.err) * (1 if sys.platform == "darwin" else 1024) < 2 << 30
    table = pd.read_parquet(out)
    assert len(table) == n // 4
    assert len(pd.read_parquet(people)) == 1_000_000
    assert (table["label"] == table["item"] % 2).mean() > 0.95
