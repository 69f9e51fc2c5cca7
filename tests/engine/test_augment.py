"""Laws of augmentation: what moves, what stays, and that every image has draws of its own."""

import math

import pytest
import torch

from manyhands.core.errors import DataError, SettingError
from manyhands.engine.augment import Augmentation, augmented, flip, shift, warp
from manyhands.engine.settings import AUGMENTATIONS, TrainingSettings

IMAGES = torch.rand(6, 3, 9, 12, generator=torch.Generator().manual_seed(0))


def ones(value=1.0):
    return torch.full((6,), value)


def test_a_flip_is_exact_and_its_own_inverse():
    which = torch.tensor([True, False, True, False, False, True])
    found = flip(IMAGES, which)
    assert torch.equal(found[which], IMAGES[which].flip(3))
    assert torch.equal(found[~which], IMAGES[~which])
    assert torch.equal(flip(found, which), IMAGES)


def test_a_crop_is_the_image_moved_by_pixels():
    down, right = torch.tensor([0, 1, -2, 0, 3, 0]), torch.tensor([0, 0, 1, -1, 2, 4])
    found = shift(IMAGES, down, right)
    padded = torch.nn.functional.pad(IMAGES, (5, 5, 5, 5))
    for image, (y, x) in enumerate(zip(down.tolist(), right.tolist(), strict=True)):
        crop = padded[image, :, 5 - y : 14 - y, 5 - x : 17 - x]
        assert torch.equal(found[image], crop)


def test_no_change_gives_the_image():
    found = warp(IMAGES, shear=ones(0.0), factor=ones(), angle=ones(0.0))
    torch.testing.assert_close(found, IMAGES)
    assert torch.equal(shift(IMAGES, ones(0).long(), ones(0).long()), IMAGES)
    assert torch.equal(flip(IMAGES, ones() > 2), IMAGES)


def test_a_quarter_turn_and_a_half_turn_are_rotations():
    square = IMAGES[:, :, :, :9]
    quarter = warp(square, shear=ones(0.0), factor=ones(), angle=ones(math.pi / 2))
    torch.testing.assert_close(quarter, square.rot90(1, (2, 3)), atol=1e-4, rtol=0)
    half = warp(IMAGES, shear=ones(0.0), factor=ones(), angle=ones(math.pi))
    torch.testing.assert_close(half, IMAGES.flip(2).flip(3), atol=1e-4, rtol=0)


def test_a_rescaled_image_is_larger():
    dot = torch.zeros(1, 1, 16, 16)
    dot[:, :, 6:10, 6:10] = 1.0
    one = torch.ones(1)
    double = warp(dot, shear=0 * one, factor=2 * one, angle=0 * one)
    assert double.sum() == pytest.approx(4 * 16.0, rel=0.1)
    assert double[0, 0, 5:11, 5:11].min() > 0.9


def test_a_shear_moves_rows_by_their_height():
    bar = torch.zeros(1, 1, 9, 21)
    bar[..., 10] = 1.0
    one = torch.ones(1)
    found = warp(bar, shear=one, factor=one, angle=0 * one)
    place = found[0, 0].argmax(dim=1)
    torch.testing.assert_close(found[0, 0].max(dim=1).values, torch.ones(9))
    assert (place.diff().abs() == 1).all()


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_every_image_has_draws_of_its_own(name):
    same = IMAGES[:1].expand(40, -1, -1, -1)
    torch.manual_seed(0)
    found = Augmentation(name)(same)
    assert found.shape == same.shape
    assert len(torch.unique(found.flatten(1), dim=0)) >= (2 if name == "flip" else 10)
    torch.manual_seed(0)
    assert torch.equal(Augmentation([name])(same), found)


def test_names_are_checked():
    assert augmented(None, (5,)) is None
    assert TrainingSettings(augment=["flip"]).augment == ["flip"]
    for wrong in ("flip,mirror", "", 5, ["crop", None]):
        with pytest.raises(SettingError, match="augment must be names among flip, crop"):
            TrainingSettings(augment=wrong)
    with pytest.raises(DataError, match="augment is for images"):
        augmented("flip", (5,))
