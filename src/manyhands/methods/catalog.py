"""The table of methods: how each learns from a crowd, and a word on when to use it."""

from manyhands.core.registry import Registry
from manyhands.methods import linear
from manyhands.methods.base import About, Method, OnTruth, TwoStage
from manyhands.methods.crf import crf_ma
from manyhands.methods.doctor_net import DoctorNet
from manyhands.methods.em import EM, CommonNoiseEM
from manyhands.methods.end_to_end_rows import END_TO_END_ROWS, FAST, PULL, SEARCHED
from manyhands.methods.max_mig import MaxMIG
from manyhands.methods.mixture import MixtureEM
from manyhands.methods.regression_rows import REGRESSION_ROWS
from manyhands.methods.semi_lfc import SemiLFC
from manyhands.methods.topics import classification

# A head per annotator learns that annotator's labels: classes cannot be interchanged.
_UNWARMED = {name: each for name, each in SEARCHED.items() if name != "warm_up"}
_ONCE = "one aggregation, then a plain epoch"

METHODS: Registry[Method] = Registry(
    "method",
    {
        "two-stage-majority": TwoStage(
            "majority",
            hard=True,
            about=About(
                source="DL-MV in Rodrigues and Pereira 2018",
                equation="cross-entropy of f(x) against the majority label",
                cost=_ONCE,
                when="the baseline: many labels per item and people of equal skill",
            ),
        ),
        "two-stage-soft-majority": TwoStage(
            "majority",
            about=About(
                source="softMV in Mena and Nanculef (Crowd Mixture Model)",
                equation="cross-entropy of f(x) against the shares of the labels",
                cost=_ONCE,
                when="doubt in the labels is to show in the network's probabilities",
            ),
        ),
        "two-stage-dawid-skene": TwoStage(
            "dawid-skene",
            about=About(
                source="DL-DS in Rodrigues and Pereira 2018",
                equation="cross-entropy of f(x) against the Dawid-Skene posterior",
                cost=_ONCE,
                when="three labels per item or more, people of different skill",
            ),
        ),
        "two-stage-glad": TwoStage(
            "glad",
            about=About(
                source="DL-GLAD in Chu, Ma and Wang 2021; GLAD in Whitehill et al. 2009",
                equation="cross-entropy of f(x) against the GLAD posterior",
                cost=_ONCE,
                when="items differ in difficulty, people in skill, not in which mistakes they make",
            ),
        ),
        "two-stage-worker-clustering": TwoStage(
            "worker-clustering",
            about=About(
                source="DL-WC in Chu, Ma and Wang 2021; Imamura et al. 2018",
                equation="cross-entropy of f(x) against the posterior of clustered annotators",
                cost=_ONCE,
                when="many annotators with few labels each, of a few kinds",
            ),
        ),
        "truth": OnTruth(
            about=About(
                source="DL-TRUE in Rodrigues and Pereira 2018",
                equation="cross-entropy of f(x) against the truth",
                cost="a plain epoch",
                when="an upper bound for comparison: it is told the truth",
            ),
        ),
        "em": EM(
            defaults=SEARCHED,
            about=About(
                source="Albarqouni et al. 2016 (AggNet), Rodrigues and Pereira 2018 (DL-EM)",
                equation="q_ik ~ f_k prod_n C_a[k, y_n]; C by MAP, the network on q, in turns",
                cost="a plain epoch + a pass of the network + K x K per label",
                when="a consensus and a network that help each other, step by step",
            ),
        ),
        "conal-em": CommonNoiseEM(
            defaults=SEARCHED,
            about=About(
                source="Chu, Ma and Wang 2021, appendix B",
                equation="q_ik ~ f_k prod_n (omega_n G[k, y_n] + (1 - omega_n) C_a[k, y_n])",
                cost="a plain epoch + a pass of the network + K per label",
                when="as em, where people make the same mistakes",
            ),
        ),
        **linear.ROWS,
        "doctor-net": DoctorNet(
            defaults=_UNWARMED,
            about=About(
                source="Guan et al. 2018, DL-DN in Rodrigues and Pereira 2018",
                equation="P(y | a, x) = softmax(W_a h(x) + b_a); f = mean_a P(. | a, x)",
                cost="a plain epoch + K x h per label; a prediction takes all heads",
                when="many labels per annotator, mistakes that depend on what is to be seen",
            ),
        ),
        "weighted-doctor-net": DoctorNet(
            weighted=True,
            defaults=_UNWARMED,
            about=About(
                source="Guan et al. 2018, DL-WDN in Rodrigues and Pereira 2018",
                equation="doctor-net with f = sum_a w_a P(. | a, x), heads fixed, then w by EM",
                cost="doctor-net + up to 30 passes of all heads at the end",
                when="as doctor-net, where some people are not to be listened to",
            ),
        ),
        "max-mig": MaxMIG(
            PULL,
            "auto",
            defaults=FAST,
            about=About(
                source="Cao et al. 2019 (Max-MIG)",
                equation="-log R_ii + R_ij, R_ij = sum_k f_k(x_i) prod_n C_a[k, y_jn] / P(y_j)",
                cost="a plain epoch + K x K per label + K per pair of items in a batch",
                when="the classes matter more than portraits of the annotators",
            ),
        ),
        **classification.ROWS,
        **END_TO_END_ROWS,
        "mixture": MixtureEM(
            defaults=SEARCHED,
            about=About(
                source="Mena and Nanculef 2019 (Crowd Mixture Model)",
                equation="q_n(m, k) ~ alpha_m beta_m[k, y_n] f_k; all in closed form but f",
                cost="a plain epoch + a pass of the network + K per label",
                when="huge crowds with a label or two each, or no names of annotators at all",
            ),
        ),
        "semi-lfc": SemiLFC(
            PULL,
            "auto",
            defaults=FAST,
            about=About(
                source="Atarashi, Oyama and Kurihara 2018; M2 of Kingma et al. 2014",
                equation="E log [p(t, z) p(x | t, z) prod_n C_a[t, y_n] / q(z | x, t) f_t], t ~ f",
                cost="a plain epoch + K passes of an encoder and a decoder, unlabelled items too",
                when="many items nobody labelled, and classes that show in the features",
            ),
        ),
        **crf_ma.ROWS,
        **REGRESSION_ROWS,
    },
)
