"""Variational EM for topics with any response."""

from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from manyhands.aggregation.em import EMRun, run_em
from manyhands.core.arrays import Floats
from manyhands.methods.topics.beliefs import THOROUGH, TopicBeliefs, Visits
from manyhands.methods.topics.corpus import Corpus
from manyhands.methods.topics.dirichlet import expected_log, prior_gain


class Response(Protocol):
    """What a topic model asks of a response: how topics and labels hang together."""

    def expect(
        self, corpus: Corpus, beliefs: TopicBeliefs, log_word_wt: Floats, visits: Visits
    ) -> float:
        """Bring the beliefs about every document up, in place; the sum of their bounds."""

    def maximise(self, corpus: Corpus, beliefs: TopicBeliefs) -> Self:
        """The response with parameters at least as good for these beliefs."""

    def prior_gain(self) -> float:
        """What the response's own parameters add to the bound."""


R = TypeVar("R", bound=Response)


@dataclass(frozen=True)
class TopicState(Generic[R]):
    """The topics, q(beta_t) = Dirichlet(zeta[:,t]), and the response."""

    zeta_wt: Floats
    response: R


def run_topics(
    corpus: Corpus,
    beliefs: TopicBeliefs,
    begin: TopicState[R],
    *,
    word_prior: float,
    visits: Visits,
    max_iter: int,
    tol: float,
) -> EMRun[TopicState[R]]:
    """Climb the bound; `beliefs` end as those under the last state, after thorough visits.

    ::

        E:  phi, gamma and the response's beliefs of every document, one after another
        M:  zeta[w,t] = word_prior + sum_j c_j phi[j,t] over the cells of word w; the response

    The bound of a state is that of its parameters together with the beliefs after its E-step.
    """

    def expect(state: TopicState[R], visits: Visits) -> float:
        log_word_wt = expected_log(state.zeta_wt, axis=0)
        return state.response.expect(corpus, beliefs, log_word_wt, visits)

    def step(state: TopicState[R]) -> tuple[TopicState[R], float]:
        bound = expect(state, visits) + state.response.prior_gain()
        bound += prior_gain(state.zeta_wt, word_prior, axis=0)
        zeta_wt = word_prior + beliefs.word_counts(corpus)
        return TopicState(zeta_wt, state.response.maximise(corpus, beliefs)), bound

    run = run_em(begin, step, max_iter=max_iter, tol=tol)
    expect(run.state, THOROUGH)
    return run
