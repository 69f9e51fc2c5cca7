"""The part of the table of methods that trains through a noise model, end to end."""

from manyhands.methods.base import About, EndToEnd, Method

# End to end, the best epoch differs tenfold between crowds, so it is searched for with labels kept
# aside. Annotators start from a consensus, where it has not collapsed, with a unit normal prior
# around it, and may then learn fast. The network warms up on label shares first, or it may start
# with classes interchanged. All of it was chosen by the likelihood of held-out labels on several
# crowds, never by truth.
SEARCHED = {"epochs": 100, "validation_fraction": 0.15, "patience": 20, "refit": True, "warm_up": 5}
FAST = {**SEARCHED, "noise_learning_rate": 1e-2}
PULL = {"prior_precision": 1.0}
_GATHERED = "a plain epoch + K x K per label"

END_TO_END_ROWS: dict[str, Method] = {
    "crowd-layer-vw": EndToEnd(
        "crowd-layer-vw",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Rodrigues and Pereira 2018",
            equation="P(y | a) = softmax(w_a * f)",
            cost="a plain epoch + K per label",
            when="few labels per annotator: K parameters each",
        ),
    ),
    "crowd-layer-vb": EndToEnd(
        "crowd-layer-vb",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Rodrigues and Pereira 2018",
            equation="P(y | a) = softmax(f + b_a)",
            cost="a plain epoch + K per label",
            when="annotators who favour some labels; it cannot tell skill",
        ),
    ),
    "crowd-layer-vwb": EndToEnd(
        "crowd-layer-vwb",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Rodrigues and Pereira 2018",
            equation="P(y | a) = softmax(w_a * f + b_a)",
            cost="a plain epoch + 2 K per label",
            when="skill per class and favourite labels, 2 K parameters each",
        ),
    ),
    "crowd-layer-mw": EndToEnd(
        "crowd-layer-mw",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Rodrigues and Pereira 2018",
            equation="P(y | a) = softmax(W_a f)",
            cost=_GATHERED,
            when="many labels per annotator, particular mistakes",
        ),
    ),
    "crowd-layer-over": EndToEnd(
        "crowd-layer-over",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Chu, Ma and Wang 2021, appendix C",
            equation="P(y | a) = softmax(W_a f) softmax(V_a)",
            cost="a plain epoch + 2 K x K per label",
            when="an ablation: as many matrices as CoNAL, none of them shared",
        ),
    ),
    "softmax-crowd-layer": EndToEnd(
        "softmax-crowd-layer",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="softmax-CrowdLayer with sharpness-aware minimisation, LeWiDi",
            equation="P(y | a) = softmax(W_a f), cross-entropy over the labels there are",
            cost=_GATHERED,
            when="with sam_rho=0.05, as its authors train it",
        ),
    ),
    "speelfc": EndToEnd(
        "speelfc",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Chen et al. 2020 (SpeeLFC)",
            equation="P(y | a) = sum_k f_k C_a[k, y], C_a = row softmax",
            cost=_GATHERED,
            when="portraits that are probabilities by construction",
        ),
    ),
    "speelfc-d": EndToEnd(
        "speelfc-d",
        init="auto",
        defaults=SEARCHED,
        about=About(
            source="Chen et al. 2020 (SpeeLFC)",
            equation="P(right) = sigmoid(alpha_a (l1 + l2 sigmoid(g(x)))), errors uniform",
            cost="a plain epoch, twice (the difficulty network)",
            when="difficulty shows in the features, and mistakes are of no particular kind",
        ),
    ),
    "trace-reg": EndToEnd(
        "trace-reg",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Tanno et al. 2019",
            equation="SpeeLFC + strength x mean_a trace(C_a)",
            cost=_GATHERED,
            when="SpeeLFC that must not explain all noise by the network",
        ),
    ),
    "geocrowdnet": EndToEnd(
        "geocrowdnet",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Ibrahim, Nguyen and Fu 2023, GeoCrowdNet(F)",
            equation="SpeeLFC - volume x log det(F'F / b), F the class probabilities",
            cost="a plain epoch + K x K per label and item",
            when="classes are about equally frequent and the network hides behind the noise",
        ),
    ),
    "conal": EndToEnd(
        "conal",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="Chu, Ma and Wang 2021 (CoNAL)",
            equation="P(y | a, x) = omega softmax(W f) + (1 - omega) softmax(W_a f)",
            cost="a plain epoch + K x K and an embedding per label",
            when="people make the same mistakes: what is common is learnt once",
        ),
    ),
    "conal-groups": EndToEnd(
        "conal-groups",
        PULL,
        "auto",
        defaults=FAST,
        about=About(
            source="named as future work by Chu, Ma and Wang 2021",
            equation="CoNAL with W = sum_m s_am W_m, s_a a softmax",
            cost="a plain epoch + (1 + M) K x K per label",
            when="several kinds of people who share mistakes",
        ),
    ),
    "mixture-e2e": EndToEnd(
        "mixture-e2e",
        init="auto",
        defaults=SEARCHED,
        about=About(
            source="likelihood of Mena and Nanculef (Crowd Mixture Model), eq. 4",
            equation="P(y | x) = sum_m alpha_m sum_k f_k beta_m[k, y]",
            cost="a plain epoch + M K x K per item",
            when="huge crowds with a label or two each, or no names of annotators at all",
        ),
    ),
}
