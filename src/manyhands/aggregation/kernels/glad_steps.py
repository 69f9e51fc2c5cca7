"""The M-step of GLAD: gradients of abilities, and Newton steps of easiness."""

import numpy as np

from manyhands.aggregation.kernels.coin_pass import CoinExpectation, CoinPass, log_sigmoid
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel, label_blocks, run_blocks

HALVINGS = 20


class GladPass(CoinPass):
    """The E-step of coins, and the M-step of GLAD.

    The model uses the methods that take log-easiness, which may lie in parts.
    """

    def average_items(self) -> Floats:
        """The log-easiness of items about which nothing is known."""
        return np.zeros(self.evidence.annotations.n_items)

    def sum_of_squares(self, log_ease_i: Floats) -> float:
        """The sum of squares of log-easiness."""
        return float(log_ease_i @ log_ease_i)

    def expect(self, log_prior_k: Floats, ability_a: Floats, log_ease_i: Floats) -> CoinExpectation:
        """The E-step."""
        return self(log_prior_k, ability_a, np.exp(log_ease_i))

    def slopes(
        self, expected: CoinExpectation, ability_a: Floats, log_ease_i: Floats
    ) -> tuple[Floats, Floats]:
        """`ability_slopes` under the parameters of the E-step."""
        return self.ability_slopes(expected, ability_a, np.exp(log_ease_i))

    def ability_slopes(
        self, expected: CoinExpectation, ability_a: Floats, ease_i: Floats
    ) -> tuple[Floats, Floats]:
        """Slope in each ability of the expected log-likelihood, and its tangent bound's bend."""
        ann, posterior_ik = self.evidence.annotations, expected.posterior_ik
        blocks = label_blocks(ann.item_offsets)
        slope_ba = np.zeros((len(blocks), ann.n_annotators))
        bend_ba = np.zeros((len(blocks), ann.n_annotators))

        def work(block: int) -> None:
            _slope_block(
                *blocks[block],
                ann.item_offsets,
                ann.annotator,
                ann.label,
                posterior_ik,
                ability_a,
                ease_i,
                slope_ba[block],
                bend_ba[block],
            )

        run_blocks(work, range(len(blocks)))
        return slope_ba.sum(axis=0), bend_ba.sum(axis=0)

    def improve_easiness(
        self, expected: CoinExpectation, ability_a: Floats, log_ease_i: Floats, precision: float
    ) -> Floats:
        """Each item's log-easiness after one Newton step, halved until the objective does not fall.

        `precision` is that of the normal prior of log-easiness.
        """
        ann, better_i = self.evidence.annotations, log_ease_i.copy()
        posterior_ik = expected.posterior_ik

        def work(block: tuple[int, int]) -> None:
            _climb_block(
                *block,
                ann.item_offsets,
                ann.annotator,
                ann.label,
                posterior_ik,
                ability_a,
                precision,
                better_i,
            )

        run_blocks(work, label_blocks(ann.item_offsets))
        return better_i


@kernel
def _slope_block(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    posterior: Floats,
    ability: Floats,
    ease: Floats,
    slope: Floats,
    bend: Floats,
) -> None:
    """d/d ability of the expected log-likelihood, and the bend of its tangent bound."""
    for i in range(first, last):
        for n in range(offsets[i], offsets[i + 1]):
            a = annotator[n]
            x = ability[a] * ease[i]
            half_tanh = 0.5 * np.tanh(0.5 * x)  # sigmoid(x) - 1/2
            slope[a] += ease[i] * (posterior[i, label[n]] - 0.5 - half_tanh)
            bend[a] += ease[i] * ease[i] * (half_tanh / x if abs(x) > 1e-6 else 0.25)


@kernel
def _climb_block(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    posterior: Floats,
    ability: Floats,
    precision: float,
    log_ease: Floats,
) -> None:
    for i in range(first, last):
        begin, end = offsets[i], offsets[i + 1]
        here = log_ease[i]
        ease = np.exp(here)
        value, slope, bend = -0.5 * precision * here * here, -precision * here, -precision
        for n in range(begin, end):
            x = ability[annotator[n]] * ease
            right = posterior[i, label[n]]
            value += right * x + log_sigmoid(-x)
            sigmoid = 0.5 + 0.5 * np.tanh(0.5 * x)
            slope += x * (right - sigmoid)
            bend += x * (right - sigmoid) - x * x * sigmoid * (1.0 - sigmoid)
        move = slope / max(-bend, precision)
        move = min(max(move, -1.0), 1.0)
        for _ in range(HALVINGS):
            there = here + move
            ease = np.exp(there)
            gained = -0.5 * precision * there * there
            for n in range(begin, end):
                x = ability[annotator[n]] * ease
                gained += posterior[i, label[n]] * x + log_sigmoid(-x)
            if gained >= value:
                log_ease[i] = there
                break
            move *= 0.5
