"""The table of methods: how each learns from a crowd, and a word on when to use it."""

from manyhands.core.registry import Registry
from manyhands.training.alternating import EM
from manyhands.training.doctors import DoctorNets
from manyhands.training.max_mig import MaxMIG
from manyhands.training.methods import About, EndToEnd, Method, OnTruth, TwoStage
from manyhands.training.mixture_em import MixtureEM
from manyhands.training.semi_lfc import SemiLFC
from manyhands.training.solved import Solved, solve_attentive, solve_personal, solve_raykar

# End to end, the best epoch differs tenfold between crowds, so it is searched for with labels kept
# aside. Annotators start from a consensus, where it has not collapsed, with a unit normal prior
# around it, and may then learn fast. The network warms up on label shares first, or it may start
# with classes interchanged. All of it was chosen by the likelihood of held-out labels on several
# crowds, never by truth.
_SEARCHED = {"epochs": 100, "hold_out": 0.15, "patience": 20, "refit": True, "warm_up": 5}
_FAST = {**_SEARCHED, "noise_learning_rate": 1e-2}
_PULL = {"pull": 1.0}
# A head per annotator learns that annotator's labels: classes cannot be interchanged.
_UNWARMED = {name: each for name, each in _SEARCHED.items() if name != "warm_up"}
_ONCE = "one aggregation, then a plain epoch"
_STEP = "a step of the regression + K x K per label"
_PSEUDO = {"prior_strength": 10.0}  # labels per class, as Dawid-Skene has
_GATHERED = "a plain epoch + K x K per label"

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
            defaults=_SEARCHED,
            about=About(
                source="Albarqouni et al. 2016 (AggNet), Rodrigues and Pereira 2018 (DL-EM)",
                equation="q_ik ~ f_k prod_n C_a[k, y_n]; C by MAP, the network on q, in turns",
                cost="a plain epoch + a pass of the network + K x K per label",
                when="a consensus and a network that help each other, step by step",
            ),
        ),
        "raykar": Solved(
            solve_raykar,
            about=About(
                source="Raykar et al. 2010",
                equation="q_ik ~ f_k prod_n C_a[k, y_n]; C and a logistic regression by maximum",
                cost=_STEP,
                when="few features, and annotators with many labels each",
            ),
        ),
        "raykar-prior": Solved(
            solve_raykar,
            _PSEUDO,
            about=About(
                source="Raykar et al. 2010, with their prior",
                equation="the same with pseudo-labels of an annotator who is right more often",
                cost=_STEP,
                when="few features, and annotators with few labels each",
            ),
        ),
        "ma-lr": Solved(
            solve_attentive,
            about=About(
                source="Rodrigues, Pereira and Ribeiro 2013",
                equation="P(y | a, x) = pi_a f_y + (1 - pi_a) / K",
                cost="a step of the regression + K per label",
                when="some label at random and the rest are good",
            ),
        ),
        "pc": Solved(
            solve_personal,
            about=About(
                source="Kajino, Tsuboi and Kashima 2012",
                equation="P(y | a, x) = softmax(x w_a), w_a ~ N(w_0, .); convex; predicts with w_0",
                cost="a pass over the labels with features x K each",
                when="people differ in how they see the features",
            ),
        ),
        "doctor-net": DoctorNets(
            defaults=_UNWARMED,
            about=About(
                source="Guan et al. 2018, DL-DN in Rodrigues and Pereira 2018",
                equation="P(y | a, x) = softmax(W_a h(x) + b_a); f = mean_a P(. | a, x)",
                cost="a plain epoch + K x h per label; a prediction takes all heads",
                when="many labels per annotator, mistakes that depend on what is to be seen",
            ),
        ),
        "weighted-doctor-net": DoctorNets(
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
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Cao et al. 2019 (Max-MIG)",
                equation="-log R_ii + R_ij, R_ij = sum_k f_k(x_i) prod_n C_a[k, y_jn] / P(y_j)",
                cost="a plain epoch + K x K per label + K per pair of items in a batch",
                when="the classes matter more than portraits of the annotators",
            ),
        ),
        "crowd-layer-vw": EndToEnd(
            "crowd-layer-vw",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Rodrigues and Pereira 2018",
                equation="P(y | a) = softmax(w_a * f)",
                cost="a plain epoch + K per label",
                when="few labels per annotator: K parameters each",
            ),
        ),
        "crowd-layer-vb": EndToEnd(
            "crowd-layer-vb",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Rodrigues and Pereira 2018",
                equation="P(y | a) = softmax(f + b_a)",
                cost="a plain epoch + K per label",
                when="annotators who favour some labels; it cannot tell skill",
            ),
        ),
        "crowd-layer-vwb": EndToEnd(
            "crowd-layer-vwb",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Rodrigues and Pereira 2018",
                equation="P(y | a) = softmax(w_a * f + b_a)",
                cost="a plain epoch + 2 K per label",
                when="skill per class and favourite labels, 2 K parameters each",
            ),
        ),
        "crowd-layer-mw": EndToEnd(
            "crowd-layer-mw",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Rodrigues and Pereira 2018",
                equation="P(y | a) = softmax(W_a f)",
                cost=_GATHERED,
                when="many labels per annotator, particular mistakes",
            ),
        ),
        "crowd-layer-over": EndToEnd(
            "crowd-layer-over",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Chu, Ma and Wang 2021, appendix C",
                equation="P(y | a) = softmax(W_a f) softmax(V_a)",
                cost="a plain epoch + 2 K x K per label",
                when="an ablation: as many matrices as CoNAL, none of them shared",
            ),
        ),
        "softmax-crowd-layer": EndToEnd(
            "softmax-crowd-layer",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="softmax-CrowdLayer with sharpness-aware minimisation, LeWiDi",
                equation="P(y | a) = softmax(W_a f), cross-entropy over the labels there are",
                cost=_GATHERED,
                when="with sam=0.05, as its authors train it",
            ),
        ),
        "speelfc": EndToEnd(
            "speelfc",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Chen et al. 2020 (SpeeLFC)",
                equation="P(y | a) = sum_k f_k C_a[k, y], C_a = row softmax",
                cost=_GATHERED,
                when="portraits that are probabilities by construction",
            ),
        ),
        "speelfc-d": EndToEnd(
            "speelfc-d",
            start="auto",
            defaults=_SEARCHED,
            about=About(
                source="Chen et al. 2020 (SpeeLFC)",
                equation="P(right) = sigmoid(alpha_a (l1 + l2 sigmoid(g(x)))), errors uniform",
                cost="a plain epoch, twice (the difficulty network)",
                when="difficulty shows in the features, and mistakes are of no particular kind",
            ),
        ),
        "trace-reg": EndToEnd(
            "trace-reg",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Tanno et al. 2019",
                equation="SpeeLFC + strength x mean_a trace(C_a)",
                cost=_GATHERED,
                when="SpeeLFC that must not explain all noise by the network",
            ),
        ),
        "geocrowdnet": EndToEnd(
            "geocrowdnet",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Ibrahim, Nguyen and Fu 2023, GeoCrowdNet(F)",
                equation="SpeeLFC - volume x log det(F'F / b), F the class probabilities",
                cost="a plain epoch + K x K per label and item",
                when="classes are about equally frequent and the network hides behind the noise",
            ),
        ),
        "conal": EndToEnd(
            "conal",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Chu, Ma and Wang 2021 (CoNAL)",
                equation="P(y | a, x) = omega softmax(W f) + (1 - omega) softmax(W_a f)",
                cost="a plain epoch + K x K and an embedding per label",
                when="people make the same mistakes: what is common is learnt once",
            ),
        ),
        "conal-groups": EndToEnd(
            "conal-groups",
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="named as future work by Chu, Ma and Wang 2021",
                equation="CoNAL with W = sum_m s_am W_m, s_a a softmax",
                cost="a plain epoch + (1 + M) K x K per label",
                when="several kinds of people who share mistakes",
            ),
        ),
        "mixture": MixtureEM(
            defaults=_SEARCHED,
            about=About(
                source="Mena and Nanculef 2019 (Crowd Mixture Model)",
                equation="q_n(m, k) ~ alpha_m beta_m[k, y_n] f_k; all in closed form but f",
                cost="a plain epoch + a pass of the network + K per label",
                when="huge crowds with a label or two each, or no names of annotators at all",
            ),
        ),
        "mixture-e2e": EndToEnd(
            "mixture-e2e",
            start="auto",
            defaults=_SEARCHED,
            about=About(
                source="likelihood of Mena and Nanculef (Crowd Mixture Model), eq. 4",
                equation="P(y | x) = sum_m alpha_m sum_k f_k beta_m[k, y]",
                cost="a plain epoch + M K x K per item",
                when="huge crowds with a label or two each, or no names of annotators at all",
            ),
        ),
        "semi-lfc": SemiLFC(
            _PULL,
            "auto",
            defaults=_FAST,
            about=About(
                source="Atarashi, Oyama and Kurihara 2018; M2 of Kingma et al. 2014",
                equation="E log [p(t, z) p(x | t, z) prod_n C_a[t, y_n] / q(z | x, t) f_t], t ~ f",
                cost="a plain epoch + K passes of an encoder and a decoder, unlabelled items too",
                when="many items nobody labelled, and classes that show in the features",
            ),
        ),
    },
)
