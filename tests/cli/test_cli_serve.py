"""manyhands serve: what is refused before a page is there."""

from command_line import assert_refused, call


def test_a_file_that_is_missing_is_refused_at_once(tmp_path):
    outcome = call("serve", tmp_path / "labels.csv", "--no-browser")
    assert_refused(outcome)
    assert outcome.err.endswith("labels.csv: no such file\n")
