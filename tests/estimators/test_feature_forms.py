"""Features in every form they come in, and what is said of those that cannot be used."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse
from torch import nn
from torch.utils.data import Dataset, Subset, TensorDataset

from featured_crowds import QUICK, assert_same_bits, featured, fit
from manyhands.core.errors import DataError, SettingError
from manyhands.engine.features import as_inputs
from manyhands.estimators import CrowdClassifier, load
from manyhands.networks import SmallCNN

NAMES = ["a", "b", "c", "d", "e"]
SIZES = np.array([1.0, 1000.0, 1.0, 1.0, 0.01], dtype=np.float32)


class Plain(Dataset):
    """A dataset of inputs alone, in double precision."""

    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, item):
        return self.x[item].astype(np.float64)


FORMS = {
    "float64": lambda x: x.astype(np.float64),
    "list": lambda x: x.tolist(),
    "objects": lambda x: x.astype(object),
    "columns": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "tensor": torch.from_numpy,
    "tensor of doubles": lambda x: torch.from_numpy(x).double(),
    "tensor with gradient": lambda x: torch.from_numpy(x).requires_grad_(),
    "csr": sparse.csr_matrix,
    "coo": sparse.coo_array,
    "csc": lambda x: sparse.csc_array(x.astype(np.float64)),
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "polars": lambda x: pl.DataFrame(x, schema=NAMES),
    "arrow": lambda x: pa.table({name: x[:, k] for k, name in enumerate(NAMES)}),
    "dataset": Plain,
    "dataset of tuples": lambda x: TensorDataset(torch.from_numpy(x), torch.zeros(len(x))),
    "subset": lambda x: Subset(TensorDataset(torch.from_numpy(x)), range(len(x))),
}


@pytest.fixture(scope="module")
def crowd():
    return featured()


@pytest.fixture(scope="module")
def unlike(crowd):
    """Features of very different size, and away from zero."""
    return crowd.x * SIZES + np.array([0.0, 5000.0, 0.0, 0.0, 3.0], dtype=np.float32)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_trains_alike(form, crowd):
    expected = fit("speelfc", crowd, scale="none")
    found = fit("speelfc", crowd, x=FORMS[form](crowd.x), scale="none")
    assert_same_bits(found, expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", ["auto", "rms", "none"])
def test_every_form_is_predicted_alike(form, scale, crowd, unlike):
    model = fit("speelfc", crowd, x=unlike, scale=scale)
    expected = model.predict_proba(unlike)
    np.testing.assert_allclose(model.predict_proba(FORMS[form](unlike)), expected, atol=1e-5)


def test_a_model_of_sparse_features_predicts_dense_ones(crowd, unlike):
    model = fit("speelfc", crowd, x=sparse.csr_array(unlike), scale="standard")
    expected = model.predict_proba(sparse.csr_array(unlike))
    np.testing.assert_allclose(model.predict_proba(unlike), expected, atol=1e-5)


WHOLE = {
    "integers": lambda x: x.astype(np.int64),
    "small integers": lambda x: x.astype(np.int8),
    "tensor of integers": lambda x: torch.from_numpy(x.astype(np.int64)),
    "sparse integers": lambda x: sparse.csr_array(x.astype(np.int8)),
    "nullable integers": lambda x: pd.DataFrame(x).astype("Int64"),
    "polars integers": lambda x: pl.DataFrame(x.astype(np.int32)),
    "dataset of integers": lambda x: TensorDataset(torch.from_numpy(x.astype(np.int64))),
}


@pytest.mark.parametrize("form", WHOLE)
def test_whole_numbers_are_numbers(form, crowd):
    x = np.round(crowd.x * 30)
    expected = fit("conal", crowd, x=x, scale="none")
    assert_same_bits(fit("conal", crowd, x=WHOLE[form](x), scale="none"), expected)


def test_yes_and_no_are_numbers(crowd):
    yes = crowd.x > 0.5
    expected = fit("speelfc", crowd, x=yes.astype(np.float32))
    for form in (yes, torch.from_numpy(yes), pd.DataFrame(yes), sparse.csr_array(yes)):
        found = fit("speelfc", crowd, x=form)
        np.testing.assert_allclose(
            found.predict_proba(form), expected.predict_proba(yes), atol=1e-5
        )


class Words(nn.Module):
    """A network that looks codes up."""

    def __init__(self):
        super().__init__()
        self.table, self.last = nn.EmbeddingBag(10, 8), nn.Linear(8, 3)

    def forward(self, codes):
        return self.last(self.table(codes))


@pytest.mark.parametrize("method", ["speelfc", "conal", "speelfc-d", "two-stage-majority"])
def test_codes_stay_codes_for_a_network_of_ones_own(method, crowd, tmp_path):
    codes = torch.from_numpy(np.clip(np.round(crowd.x * 2 + 3), 0, 9).astype(np.int64))
    for form in (codes, TensorDataset(codes)):
        model = fit(method, crowd, x=form, network=Words())
        assert np.isfinite(model.infer(form, crowd.annotations).probabilities).all()
    model.save(tmp_path)
    found = load(tmp_path, network=Words())
    assert (found.predict_proba(codes) == model.predict_proba(codes)).all()


def test_codes_out_of_range_are_told_in_a_line(crowd):
    with pytest.raises(DataError, match=r"cannot take inputs of shape \(8, 5\)"):
        fit("speelfc", crowd, x=torch.full((60, 5), 99), network=Words())


def images():
    return np.random.default_rng(0).random((60, 1, 8, 8)).astype(np.float32)


def test_images_get_a_convolutional_network(crowd, tmp_path):
    model = fit("speelfc", crowd, x=images(), epochs=1)
    assert isinstance(model.network_, SmallCNN)
    model.save(tmp_path)
    found = load(tmp_path)
    assert (found.predict_proba(images()) == model.predict_proba(images())).all()
    bytes_of = torch.from_numpy((images() * 255).astype(np.uint8))
    assert np.isfinite(fit("conal", crowd, x=bytes_of, epochs=1).predict_proba(bytes_of)).all()
    with pytest.raises(
        DataError, match=r"shape \(64,\) per item where the model was .*\(1, 8, 8\)"
    ):
        model.predict(images().reshape(60, 64))


# --- names of columns ---


def test_columns_are_remembered(crowd, tmp_path):
    frame = pd.DataFrame(crowd.x, columns=NAMES)
    model = fit("speelfc", crowd, x=frame)
    assert model.feature_names_in_.tolist() == NAMES
    model.save(tmp_path)
    for each in (model, load(tmp_path)):
        expected = each.predict_proba(crowd.x)
        assert (each.predict_proba(frame) == expected).all()
        assert (each.predict_proba(pl.DataFrame(frame)) == expected).all()


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("scale", ["standard", "none"])
def test_columns_in_another_order_are_put_right(form, scale, crowd, unlike, tmp_path):
    order = [3, 0, 4, 2, 1]
    frame, moved = FORMS[form](unlike), pd.DataFrame(unlike, columns=NAMES).iloc[:, order]
    moved = {"pandas": lambda x: x, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}[form](
        moved
    )
    model = fit("speelfc", crowd, x=frame, scale=scale)
    model.save(tmp_path)
    for each in (model, load(tmp_path)):
        assert each.feature_names_in_.tolist() == NAMES
        assert (each.predict_proba(moved) == model.predict_proba(unlike)).all()
        one, other = (each.infer(x, crowd.annotations) for x in (moved, frame))
        assert (one.probabilities == other.probabilities).all()
        assert each.log_likelihood(moved, crowd.annotations) == each.log_likelihood(
            frame, crowd.annotations
        )


def test_whole_numbers_in_another_order_are_put_right_too(crowd):
    frame = pd.DataFrame(np.round(crowd.x * 30).astype(int), columns=NAMES)
    model = fit("speelfc", crowd, x=frame)
    assert (model.predict_proba(frame[NAMES[::-1]]) == model.predict_proba(frame)).all()


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["a", "b", "x", "d", "y"], "training; missing: 'c', 'e'; unexpected: 'x', 'y'; name them"),
        (["v", "w", "x", "y", "z"], "missing: 'a', 'b', 'c', 'd', 'e'; unexpected: 'v', 'w', 'x'"),
        (["a", "b", "c", "d"], "training; missing: 'e'; name them alike"),
        (["e", "a", "b", "c", "d", "item"], "training; unexpected: 'item'; name them alike"),
        (["A", "b", "c", "d", "e"], "missing: 'a'; unexpected: 'A'"),
    ],
)
def test_other_columns_are_refused_with_the_difference(columns, text, crowd):
    model = fit("speelfc", crowd, x=pd.DataFrame(crowd.x, columns=NAMES), epochs=1)
    other = pd.DataFrame(np.zeros((60, len(columns))), columns=columns)
    for call in (model.predict, lambda x: model.infer(x, crowd.annotations)):
        with pytest.raises(DataError, match=f"^features: the columns are not those of .*{text}"):
            call(other)


def test_two_columns_of_one_name_are_refused(crowd):
    twice = pd.DataFrame(crowd.x, columns=["a", "b", "a", "d", "e"])
    model = fit("speelfc", crowd, x=pd.DataFrame(crowd.x, columns=NAMES), epochs=1)
    for call in (model.predict, lambda x: fit("speelfc", crowd, x=x)):
        with pytest.raises(DataError, match="features: columns have the same name: 'a'; give"):
            call(twice)


def test_a_model_without_names_takes_columns_as_they_come(crowd):
    model = fit("speelfc", crowd)
    frame = pd.DataFrame(crowd.x, columns=NAMES[::-1])
    assert (model.predict_proba(frame) == model.predict_proba(crowd.x)).all()


def test_columns_may_be_numbered(crowd, tmp_path):
    frame = pd.DataFrame(crowd.x)
    model = fit("speelfc", crowd, x=frame)
    model.save(tmp_path)
    expected = model.predict_proba(crowd.x)
    assert (load(tmp_path).predict_proba(frame) == expected).all()
    assert (load(tmp_path).predict_proba(frame[[2, 0, 4, 1, 3]]) == expected).all()


def test_a_new_fit_forgets_the_old_columns(crowd):
    model = CrowdClassifier(**QUICK).fit(pd.DataFrame(crowd.x, columns=NAMES), crowd.annotations)
    model.fit(crowd.x, crowd.annotations)
    assert not hasattr(model, "feature_names_in_")
    model.predict(pd.DataFrame(crowd.x))


# --- what cannot be used ---


HOLES = {
    "array": (lambda x: x, "row 3, column 2 is NaN"),
    "tensor": (torch.from_numpy, "row 3, column 2 is NaN"),
    "sparse": (sparse.csr_matrix, "row 3, column 2 is NaN"),
    "pandas": (lambda x: pd.DataFrame(x, columns=NAMES), "row 3, column 'c' is NaN"),
    "polars": (lambda x: pl.DataFrame(x, schema=NAMES).fill_nan(None), "row 3, column 'c' is NaN"),
    "arrow": (FORMS["arrow"], "row 3, column 'c' is NaN"),
    "arrow floats": (
        lambda x: pd.DataFrame(x, columns=NAMES).astype("Float64").astype("double[pyarrow]"),
        "row 3, column 'c' is NaN",
    ),
    "masked": (np.ma.masked_invalid, "row 3, column 2 is NaN"),
    "infinite": (lambda x: np.nan_to_num(x, nan=-np.inf), "row 3, column 2 is -inf"),
    "too large": (lambda x: np.where(np.isnan(x), 1e300, x.astype(float)), "column 2 is inf"),
    "too large and sparse": (
        lambda x: sparse.csr_array(np.where(np.isnan(x), 1e300, x.astype(float))),
        "column 2 is inf",
    ),
    "nullable": (
        lambda x: pd.DataFrame(np.round(x)).convert_dtypes(), "row 3, column '?2'? is NaN",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", HOLES)
def test_values_that_are_none_are_refused_by_place(form, crowd):
    made, text = HOLES[form]
    x = crowd.x.copy()
    x[3, 2] = np.nan
    with pytest.raises(DataError, match=f"features: .*{text}; fill it or leave the item out"):
        fit("speelfc", crowd, x=made(x))
    model = fit("speelfc", crowd, epochs=1)
    with pytest.raises(DataError, match=text):
        model.predict(made(x))


def test_a_hole_in_an_image_is_named_by_all_its_axes(crowd):
    x = images()
    x[10, 0, 7, 4] = np.inf
    with pytest.raises(DataError, match=r"row 10, column \(0, 7, 4\) is inf"):
        fit("speelfc", crowd, x=x)


def test_a_hole_in_a_dataset_shows_in_the_loss(crowd):
    x = crowd.x.copy()
    x[3, 2] = np.nan
    with pytest.raises(SettingError, match="the loss is not finite after epoch 1"):
        fit("speelfc", crowd, x=TensorDataset(torch.from_numpy(x)))


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (None, "a row per item; got an array of shape"),
        (np.zeros(60), r"must have a row per item; got an array of shape \(60,\)"),
        (torch.zeros(60), r"must have a row per item; got a tensor of shape \(60,\)"),
        (np.zeros((60, 0)), r"array of shape \(60, 0\)"),
        (pd.DataFrame(index=range(60)), "the frame has no columns"),
        (np.full((60, 2), "word"), "must be numbers; got an array of <U4"),
        (np.zeros((60, 2), dtype=complex), "must be numbers; got an array of complex"),
        (sparse.csr_array(np.ones((60, 2), dtype=complex)), "must be numbers"),
        ([[1.0, 2.0]] * 59 + [[1.0]], "a row of equal length per item"),
        (pd.DataFrame({"good": range(60), "bad": "word"}), "column 'bad' holds .*, not numbers"),
        (pd.DataFrame({"day": pd.date_range("2020", periods=60)}), "column 'day' holds Datetime"),
        (np.zeros((59, 2)), "59 rows of features for 60 items.*give X_items"),
        (np.zeros((0, 2)), "0 rows of features for 60 items"),
        (Subset(TensorDataset(torch.zeros(5, 2)), []), "a Dataset must have a length above 0"),
    ],
)
def test_features_that_are_none_are_named(x, text, crowd):
    with pytest.raises(DataError, match=text):
        CrowdClassifier(**QUICK).fit(x, crowd.annotations)


def test_features_of_another_width_are_refused(crowd):
    model = fit("speelfc", crowd)
    text = r"X has 4 features, but model is expecting 5 features"
    for call in (model.predict, lambda x: model.infer(x, crowd.annotations)):
        with pytest.raises(DataError, match=text):
            call(crowd.x[:, :4])


def test_no_rows_and_one_row_are_predicted(crowd):
    model = fit("speelfc", crowd)
    assert model.predict(crowd.x[:0]).shape == (0,)
    assert model.predict_proba(crowd.x[:0]).shape == (0, 3)
    assert model.predict_proba(crowd.x[:1]).shape == (1, 3)


def test_many_rows_are_predicted_as_few(crowd):
    model = fit("speelfc", crowd)
    many = model.predict_proba(np.tile(crowd.x, (40, 1)))
    np.testing.assert_allclose(many, np.tile(model.predict_proba(crowd.x), (40, 1)), atol=1e-6)


# --- scale ---


def test_the_size_of_features_does_not_matter(crowd):
    expected = fit("speelfc", crowd).predict_proba(crowd.x)
    for size in (1e-30, 1e-12, 1e12, 1e30):
        x = crowd.x.astype(np.float64) * size
        found = fit("speelfc", crowd, x=x).predict_proba(x)
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_features_of_different_kinds_are_standardised(crowd, unlike):
    found = fit("speelfc", crowd, x=unlike)
    expected = fit("speelfc", crowd, x=unlike, scale="standard")
    assert_same_bits(found, expected)
    scaled = found.encoder_.scaling(torch.from_numpy(unlike))
    torch.testing.assert_close(scaled.mean(dim=0), torch.zeros(5), atol=1e-3, rtol=0.0)
    torch.testing.assert_close(scaled.std(dim=0, correction=0), torch.ones(5), atol=1e-3, rtol=0.0)


def test_a_constant_feature_does_not_blow_up(crowd):
    x = np.concatenate([crowd.x, np.full((60, 1), 0.1, dtype=np.float32)], axis=1)
    model = fit("speelfc", crowd, x=x, scale="standard")
    other = x.copy()
    other[:, 5] += 1e-6
    np.testing.assert_allclose(model.predict_proba(other), model.predict_proba(x), atol=1e-3)


def test_features_for_a_network_of_ones_own_stay_as_they_are(crowd, unlike):
    assert fit("speelfc", crowd, x=unlike, network=nn.Linear(5, 3)).encoder_.scaling is None
    assert fit("speelfc", crowd, x=unlike, network=nn.Linear(5, 3), scale="rms").encoder_.scaling


def test_inputs_pass_through():
    inputs = as_inputs(np.zeros((3, 2)))
    assert as_inputs(inputs) is inputs
