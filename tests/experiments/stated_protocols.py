"""What the papers state about their experiments: a second transcription, from their text.

A line of `STATED` is (experiments, dataset, method, words, settings by group): settings that the
words state. A line of `IN_CODE` is the same for the public code of the authors, where a paper is
silent. `RUNS` are the numbers of runs, and the rule with clean labels of papers that have one.
P0 Rodrigues and Pereira 2018, P1 Chen et al. 2020, P2 softmax-Crowdlayer at LeWiDi, P3 Chu, Ma and
Wang 2021, P4 Mena and Nanculef 2019.
"""

IDENTITIES = "initialize the crowd layer with identities"
NO_PENALTY = "the initialization alternative provides the best results"
SAME = "The settings of the compared methods are the same"
AS_SPC = "the other settings are the same as those in the SPC dataset"
P1_RATES = "The learning rate is 0.0001, batch-size is 64, and epoch number is 200"
ADAM = "We trained the network using the Adam optimizer"
RATES = "learning rate searched from {0.02, 0.01, 0.005}"
SELECTED = "choosing the model with the highest accuracy on the validation set"
NORM = "-norm on the difference between the common and individual noise adaptation layers"
MLP_128 = {"hidden": [128], "dropout": 0.5}
NORMALISED = {**MLP_128, "batch_norm": True}
BY_CROWD = {"validation_fraction": 0.15, "monitor": "majority", "refit": False}
OWN = {"init": "own", "warm_up": 0}
RATE_P3 = {"learning_rate": 0.01, "noise_learning_rate": 0.01}
P3_REAL = ("p3/table-1", "p3/table-2", "p3/table-3")
P4_ALL = ("p4/table-2", "p4/table-3", "p4/table-4")


def training(**settings):
    return {"training": settings}


def noise(**settings):
    return {"noise": settings}


STATED = [
    # P0, Crowd layer and Experiments
    (("p0/table-1",), "labelme", "crowd-layer-mw", IDENTITIES, training(**OWN)),
    (("p0/table-1",), "labelme", "crowd-layer-mw", NO_PENALTY, noise(prior_precision=0.0)),
    (("p0/table-1",), "labelme", "truth",
     "stochastic gradient descent (SGD) or Adam", training(optimizer="adam")),
    (("p0/table-1",), "labelme", "crowd-layer-vw",
     "one FC layer (with 128 units and ReLU activations)",
     training(network="mlp", network_settings=MLP_128)),
    (("p0/table-1",), "cifar10-cats-dogs", "crowd-layer-vw",
     "4 convolutional layers with 3x3 patches, 2x2 max pooling",
     training(network="dogs-cats-cnn")),
    (("p0/table-2",), "moviereviews", "crowd-layer-b",
     "zeros for additive parameters, ones for scalar parameters", training(**OWN)),
    (("p0/table-2",), "moviereviews", "crowd-layer-s", "and a FC layer with 32 hidden units",
     training(network_settings={"n_features": 128, "hidden": 32, "dropout": 0.0})),
    (("p0/table-2", "p0/table-3"), None, "truth",
     "using standard stochastic optimization techniques such as SGD or Adam",
     training(optimizer="adam")),
    (("p0/table-3",), "ner", "crowd-layer-mw", "5x5 convolutional layer with 512 features",
     training(network_settings={"n_features": 512, "hidden": 50, "dropout": 0.5})),
    (("p0/table-3",), "ner", "crowd-layer-mw", IDENTITIES, training(init="own", warm_up=5)),
    (("p0/table-3",), "ner", "crowd-layer-mw", NO_PENALTY, noise(prior_precision=0.0)),
    # P1, 4.1
    (("p1/table-1",), "sentiment", "speelfc", "1200 units, ReLU activations), using 50% dropout",
     training(network="mlp", network_settings={"hidden": [1200], "dropout": 0.5})),
    (("p1/table-1",), "sentiment", "speelfc", "using 50% dropout and Adam",
     training(optimizer="adam")),
    (("p1/table-1",), "sentiment", "speelfc", P1_RATES,
     training(learning_rate=1e-4, noise_learning_rate=1e-4, batch_size=64, epochs=200)),
    (("p1/table-1",), "sentiment", "two-stage-glad", SAME,
     training(network="mlp", learning_rate=1e-4, epochs=200)),
    (("p1/table-1", "p1/table-2"), None, "crowd-layer-mw", SAME, training(**OWN)),
    (("p1/table-1",), "sentiment", "speelfc", "were initially set to 1.4",
     {**noise(diagonal=0.4), **training(**OWN)}),
    (("p1/table-1",), "sentiment", "speelfc-d", "with 128 units, ReLU activations, 50% dropout",
     noise(n_hidden=128, dropout=0.5, difficulty_rate=1.0)),
    (("p1/table-1", "p1/table-2"), None, "speelfc-d", "are 0.001 and 100, respectively",
     {**noise(l1=0.001, l2=100.0, alpha=0.028), **training(**OWN)}),
    (("p1/table-2",), "music", "speelfc", "the MLP without hidden layer",
     training(network="logistic", network_settings={})),
    (("p1/table-2",), "music", "speelfc", AS_SPC, training(optimizer="adam", batch_size=64)),
    (("p1/table-2",), "music", "crowd-layer-mw", "The learning rate is 0.001",
     training(network="logistic", learning_rate=1e-3, noise_learning_rate=1e-3)),
    (("p1/table-2",), "music", "two-stage-majority", "and epoch number is 5000",
     training(epochs=5000)),
    (("p1/table-2",), "music", "speelfc", "Rodrigues and Pereira [2013] uses deep learning",
     training(scale="none")),
    (("p1/table-2",), "music", "speelfc", "were initially set to 4.7",
     {**noise(diagonal=3.7), **training(**OWN)}),
    (("p1/table-2",), "music", "speelfc-d", "the learning rate on θNN2 is 0.0001",
     noise(n_hidden=32, dropout=0.5, difficulty_rate=0.1)),
    # P2, 3.2 to 3.5
    (("p2/table-3",), "labelme-ic", "softmax-crowd-layer",
     "4 hidden layers with 128 Relu Units each",
     training(network="mlp", network_settings={"hidden": [128] * 4, "dropout": 0.2})),
    (("p2/table-3",), "labelme-ic", "softmax-crowd-layer", "optimiser made of Adam optimizer",
     training(optimizer="adam")),
    (("p2/table-3",), "labelme-ic", "softmax-crowd-layer",
     "A training epoch of 400 and batch size of 32 were used",
     training(epochs=400, batch_size=32)),
    (("p2/table-3",), "cifar10-ic", "softmax-crowd-layer", "A widening factor of 12 and",
     training(network="wide-resnet", network_settings={"depth": 16, "width": 12})),
    (("p2/table-3",), "cifar10-ic", "softmax-crowd-layer",
     "A learning rate of 0.1 with weight decay of 0.001 and momentum of 0.8",
     training(optimizer="sgd", learning_rate=0.1, weight_decay=0.001, momentum=0.8)),
    (("p2/table-3",), "cifar10-ic", "softmax-crowd-layer",
     "A training epoch of 400 and batch size of 64", training(epochs=400, batch_size=64)),
    (("p2/table-3",), "md-agreement", "two-stage-majority",
     "the fine tuning of all the Bert model was run for 1 epoch", training(epochs=1)),
    (("p2/table-3",), "md-agreement", "softmax-crowd-layer", "token embedding from the pre-trained",
     training(network="hf:encoders/minilm", network_settings={"pooling": "cls"})),
    # P3, Backbone networks & training details, twice; influence of the regularization term
    (P3_REAL, "labelme", None, "Batch normalization (Ioffe and Szegedy 2015) is performed",
     training(network="mlp", network_settings=NORMALISED)),
    (P3_REAL, "music", None, "we use the same FC layer and softmax layer as LabelMe",
     training(network="mlp", network_settings=NORMALISED)),
    ((*P3_REAL, "p3/figure-6"), None, None, RATES, training(**RATE_P3)),
    ((*P3_REAL, "p3/figure-4", "p3/figure-6"), None, None, ADAM, training(optimizer="adam")),
    ((*P3_REAL, "p3/figure-4", "p3/figure-6"), None, None, SELECTED, training(**BY_CROWD)),
    (P3_REAL, "labelme", None, "we apply a pre-trained VGG-16 network", training(scale="none")),
    ((*P3_REAL, "p3/figure-4", "p3/figure-6"), None, "conal", NORM,
     noise(strength=1e-5, prior_precision=0.0, n_dimensions=20)),
    (("p3/table-1", "p3/figure-4", "p3/figure-6"), None, "trace-reg",
     "improves DL-CL by imposing additional trace", noise(strength=0.01, prior_precision=0.0)),
    (("p3/figure-4",), None, None, "use VGG-16 as the backbone network",
     training(network="vgg16", network_settings={})),
    (("p3/figure-4",), None, None, RATES,
     training(learning_rate=0.005, noise_learning_rate=0.005)),
    (("p3/figure-4",), None, None, "32 color images from 10 classes", training(scale="auto")),
    (("p3/figure-6",), None, None, "only one fully connected (FC) layer (with 128 units and ReLU",
     training(network="mlp", network_settings=MLP_128)),
    (("p3/figure-6",), None, None, "a multivariate Gaussian distribution", training(scale="none")),
    # P4, 5
    (P4_ALL, None, "mixture", "using the Adam optimizer", training(optimizer="adam")),
    (P4_ALL, None, "mixture", "up to a maximum of 50 iterations", training(epochs=50)),
    (P4_ALL, None, "mixture", "trained until convergence (change in loss or parameters below",
     training(validation_fraction=0.0, tol=0.03)),
    (P4_ALL, None, "mixture", "Multiple restarts (20) was applied",
     {"method": {"restarts": 20}, **training(warm_up=0)}),
    (("p4/table-2", "p4/table-3"), None, "em", "Multiple restarts (20) was applied",
     {"method": {"restarts": 20}, **training(warm_up=0)}),
    (("p4/table-3", "p4/table-4"), None, "mixture", "we followed the setup of [9] on the LabelMe",
     training(network="mlp", network_settings=MLP_128, scale="none")),
]  # fmt: skip
IN_CODE = [
    (("p0/table-1",), "labelme", "crowd-layer-mw",
     "BATCH_SIZE = 64, N_EPOCHS = 50, optimizer='adam'",
     training(batch_size=64, epochs=50, learning_rate=0.001, noise_learning_rate=0.001,
              validation_fraction=0.0, scale="none")),
    (("p0/table-1",), "cifar10-cats-dogs", "crowd-layer-mw", "BATCH_SIZE = 16, N_EPOCHS = 30",
     training(batch_size=16, epochs=30, noise_learning_rate=0.001)),
    (("p0/table-2",), "moviereviews", "crowd-layer-b", "BATCH_SIZE = 128, N_EPOCHS = 100",
     training(batch_size=128, epochs=100, freeze_embeddings=True)),
    (("p0/table-3",), "ner", "truth", "epochs=20", training(epochs=20)),
    (("p0/table-3",), "ner", "two-stage-majority", "epochs=10", training(epochs=10)),
    (("p0/table-3",), "ner", "crowd-layer-vwb", "epochs=5, then epochs=30",
     training(epochs=35, warm_up=5)),
    ((*P3_REAL, "p3/figure-6"), None, "conal", "batch_size=1024, num_epochs=100",
     training(batch_size=1024, epochs=100)),
    (("p4/table-2",), "simulated/setup-1/*", "mixture", "MLP_Keras(..., 16, 1, drop=0.2)",
     training(network="mlp", network_settings={"hidden": [16], "dropout": 0.2})),
    (("p4/table-2",), "simulated/setup-1/*", "mixture", "StandardScaler, BATCH_SIZE = 64",
     training(scale="standard", batch_size=64)),
    (("p4/table-2",), "simulated/setup-2/*", "mixture", "BATCH_SIZE = 128",
     training(batch_size=128)),
    (("p4/table-3", "p4/table-4"), "labelme", "mixture", "BATCH_SIZE = 64, TOL = 3e-2",
     training(batch_size=64, tol=0.03)),
]  # fmt: skip
THIRTY, FIVE, TWENTY = "we performed 30 executions", "are repeated 5 times", "we perform 20 runs"
# Experiment, dataset, method: number of runs, rule with clean labels, words ("" if read, not said)
RUNS = [
    ("p0/table-1", "cifar10-cats-dogs", "crowd-layer-mw", 30, "", THIRTY),
    ("p0/table-1", "labelme", "truth", 30, "", ""),
    ("p0/table-2", "moviereviews", "crowd-layer-b", 30, "", "the obtained results for 30 runs"),
    ("p0/table-3", "ner", "crowd-layer-mw", 30, "", ""),
    ("p1/table-1", "sentiment", "speelfc", 10, "", ""),
    ("p1/table-2", "music", "speelfc", 10, "", ""),
    ("p2/table-3", "labelme-ic", "softmax-crowd-layer", 10, "", ""),
    ("p2/table-3", "cifar10-ic", "softmax-crowd-layer", 3, "", ""),
    ("p2/table-3", "md-agreement", "two-stage-majority", 5, "", ""),
    *((name, "labelme", None, 5, "clean", FIVE) for name in P3_REAL),
    *((name, "music", None, 5, "test", FIVE) for name in P3_REAL),
    ("p3/figure-4", None, None, 5, "", FIVE),
    ("p3/figure-6", None, None, 5, "", FIVE),
    ("p4/table-2", "simulated/setup-1/*", "mixture", 20, "", TWENTY),
    ("p4/table-2", "simulated/setup-2/*", "mixture", 3, "", TWENTY),
    ("p4/table-3", "labelme", "em", 20, "", TWENTY),
    ("p4/table-4", "labelme", "mixture", 20, "", ""),
]
