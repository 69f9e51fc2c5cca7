"""The page on the speed on sequences, made from the recorded rows of two benchmarks."""

from benchmarks.benchmark import Row, commands_of
from benchmarks.numbers import NOTHING, count, number
from manyhands.experiments import code_block, markdown_table

PAGE = "sequence-speed.md"


def make_page(chains: list[Row], tagging: list[Row]) -> str:
    """The page as Markdown, from the rows of `chains` and of `tagging`."""
    parts = [_INTRODUCTION, *([_chains(chains)] if chains else []),
             *([_tagging(tagging)] if tagging else []), *_heads(tagging), _END]  # fmt: skip
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """# Speed on sequences

Each table is from one run, on two cores of a shared machine. Times depend on the machine, ratios
much less. The numbers are recorded in `docs/results/records`."""
_END = """Both commands exit with 1 if we are slower than another package, if a method takes more
than 1.3 times as long as single tags, or if a CRF head takes more than 1.5 times as long as the
tagger without it."""


def _chains(rows: list[Row]) -> str:
    run = next(row for row in rows if row["kind"] == "run")
    head = ["tool", "ms", "times ours", "largest difference of a marginal"]
    body = []
    for row in rows:
        if row["kind"] == "time":
            gap = f"{row['difference']:.0e}" if "difference" in row else NOTHING
            times = number(row["ratio"]) if "difference" in row else "1"
            body.append([row["tool"], number(1e3 * row["seconds"]), times, gap])
    return f"""## Sums over all tag sequences

Log-partition and marginals of a linear chain, which every step of `crf-ma` needs, beside two torch
packages. Sentences are sorted by length and cut into batches of 32, 256 and 2,048 for torch;
padding is not timed, and the fastest size counts. The torch packages compute them from the
log-likelihood and its gradient in 32 bits, ours in 64 bits.

{code_block(commands_of(rows))}

Forward-backward of {count(run["n_tokens"])} tokens, {run["n_tags"]} tags,
{count(run["n_sentences"])} sentences, {run["threads"]} threads:

{markdown_table(head, body, left=1)}

`crf-ma` on the 3,078 crowd-tagged sentences of CoNLL-2003 (41,910 tokens, 207,303 tags of 47
annotators) takes 24 s to converge."""


def _tagging(rows: list[Row]) -> str:
    run = next(row for row in rows if row["kind"] == "run")
    head = ["method", "s per epoch", "tokens per s", "to single labels"]
    body = [
        [
            row["method"],
            number(row["seconds"]),
            count(row["tokens_per_second"]),
            f"{row['ratio']:.2f}",
        ]
        for row in rows
        if row["kind"] == "epoch"
    ]
    return f"""## A tagger from a crowd

The same network (words, convolution, GRU) on the same sentences, trained on one tag per token
(`truth`) and on the labels of a crowd. The fits take turns, and the fastest epoch counts, in
processor seconds.

{code_block(commands_of(rows))}

{count(run["n_tokens"])} tokens, {run["n_tags"]} tags, {run["per_sentence"]} of
{run["n_annotators"]} annotators for each sentence, one thread:

{markdown_table(head, body, left=1)}"""


def _heads(rows: list[Row]) -> list[str]:
    """What transitions between tags cost, if it was measured."""
    body = [
        [row["method"], number(row["seconds"]), count(row["tokens_per_second"]),
         f"{row['head_ratio']:.2f}"]
        for row in rows
        if row["kind"] == "head"
    ]  # fmt: skip
    if not body:
        return []
    head = ["method", "s per epoch", "tokens per s", "to the same without a head"]
    return [
        f"""The same with a CRF head on the network (`transitions="learned-bio"`):

{markdown_table(head, body, left=1)}"""
    ]
