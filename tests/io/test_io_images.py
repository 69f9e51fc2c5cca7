"""Images of files: what is decoded, how items are named, and what is refused in one line."""

import io
import os
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.io.pixels import pixels, upright_rgb, upright_size

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 256, (10, 14, 3), dtype=np.uint8)


def noise(height=10, width=14):
    return Image.fromarray(RGB).resize((width, height))


def saved(image, path, **settings):
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **settings)
    return path


def as_array(path):
    return np.asarray(upright_rgb(str(path)))


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tiff", ".gif", ".webp", ".jpg"])
def test_every_format_is_read(tmp_path, suffix):
    settings = {"lossless": True} if suffix == ".webp" else {}
    path = saved(Image.fromarray(RGB), tmp_path / f"a{suffix}", **settings)
    found = as_array(path)
    assert found.shape == RGB.shape
    if suffix not in (".gif", ".jpg"):
        np.testing.assert_array_equal(found, RGB)
    assert upright_size(str(path)) == (10, 14)


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "YCbCr"])
def test_modes_are_converted(tmp_path, mode):
    image = Image.fromarray(RGB).convert(mode)
    suffix = ".tiff" if mode in ("CMYK", "YCbCr") else ".png"
    path = saved(image, tmp_path / f"a{suffix}")
    np.testing.assert_array_equal(as_array(path), np.asarray(image.convert("RGB")))


def test_a_cmyk_jpeg_has_its_colours(tmp_path):
    red = Image.new("RGB", (16, 16), (230, 20, 30))
    path = saved(red.convert("CMYK"), tmp_path / "a.jpg", quality=95)
    assert np.abs(as_array(path).astype(int) - [230, 20, 30]).max() < 12


def test_sixteen_bits_keep_their_range(tmp_path):
    grey = np.linspace(0, 65535, 60).round().astype(np.uint16).reshape(6, 10)
    for suffix in (".png", ".tiff"):
        found = as_array(saved(Image.fromarray(grey), tmp_path / f"a{suffix}"))
        np.testing.assert_array_equal(found[:, :, 0], np.round(grey / 257))


def test_colours_of_sixteen_bits_keep_their_range(tmp_path):
    def chunk(kind, content):
        whole = kind + content
        return len(content).to_bytes(4, "big") + whole + zlib.crc32(whole).to_bytes(4, "big")

    colours = np.array([[[0, 65535, 32896]]], dtype=">u2")  # one pixel, which Pillow cannot write
    head = (1).to_bytes(4, "big") * 2 + bytes([16, 2, 0, 0, 0])
    body = zlib.compress(b"\0" + colours.tobytes())
    content = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )
    (tmp_path / "a.png").write_bytes(content)
    assert as_array(tmp_path / "a.png")[0, 0].tolist() == [0, 255, 128]


def test_what_is_transparent_is_white(tmp_path):
    clear = np.zeros((4, 4, 4), dtype=np.uint8)
    clear[0, 0] = (10, 20, 30, 255)
    found = as_array(saved(Image.fromarray(clear), tmp_path / "a.png"))
    assert found[0, 0].tolist() == [10, 20, 30]
    assert (found[1:] == 255).all()
    palette = Image.fromarray(clear).convert("LA").convert("P")
    palette.info["transparency"] = palette.getpixel((1, 1))
    found = as_array(saved(palette, tmp_path / "p.gif"))
    assert (found[1:] == 255).all()


@pytest.mark.parametrize("suffix", [".tiff", ".png", ".webp", ".jpg"])
@pytest.mark.parametrize("turn", range(1, 9))
def test_exif_rotation_is_applied(tmp_path, turn, suffix):
    exif = Image.Exif()
    exif[274] = turn
    settings = {".webp": {"lossless": True}, ".jpg": {"quality": 100, "subsampling": 0}}
    path = tmp_path / f"a{suffix}"
    saved(Image.fromarray(RGB), path, exif=exif, **settings.get(suffix, {}))
    ways = {
        1: RGB, 2: RGB[:, ::-1], 3: RGB[::-1, ::-1], 4: RGB[::-1],
        5: RGB.transpose(1, 0, 2), 6: RGB[::-1].transpose(1, 0, 2),
        7: RGB[::-1, ::-1].transpose(1, 0, 2), 8: RGB[:, ::-1].transpose(1, 0, 2),
    }  # fmt: skip
    gap = np.abs(as_array(path).astype(int) - ways[turn])
    assert gap.max() <= (8 if suffix == ".jpg" else 0)
    assert upright_size(str(path)) == ways[turn].shape[:2]


def test_the_first_frame_is_read(tmp_path):
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    path = saved(frames[0], tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert as_array(path)[0, 0].tolist() == [255, 0, 0]


def test_the_shorter_side_is_resized_and_the_longer_one_cropped(tmp_path):
    wide = np.zeros((10, 40, 3), dtype=np.uint8)
    wide[:, 15:25] = 200  # the square in the middle
    found = pixels(str(saved(Image.fromarray(wide), tmp_path / "a.png")), (10, 10))
    assert found.shape == (3, 10, 10)
    assert (found == 200).all()
    small = pixels(str(tmp_path / "a.png"), (5, 5))
    assert (small[:, :, 1:4] == 200).all()


def test_a_large_jpeg_is_decoded_small_and_looks_the_same(tmp_path):
    down = np.linspace(0, 255, 400)[:, None, None] * np.ones((1, 600, 3))
    path = saved(Image.fromarray(down.astype(np.uint8)), tmp_path / "a.jpg", quality=95)
    whole = Image.fromarray(as_array(path)).resize((20, 20), Image.Resampling.BILINEAR,
                                                   box=(100, 0, 500, 400))  # fmt: skip
    found = pixels(str(path), (20, 20)).astype(int)
    assert np.abs(found - np.asarray(whole).transpose(2, 0, 1)).max() <= 3


def test_images_in_memory_stay_as_they_are(tmp_path):
    path = saved(noise(300, 400), tmp_path / "a.jpg")
    with Image.open(path) as image:
        assert mh.io.Images.from_list([image]).pixels((8, 8)).shape == (1, 3, 8, 8)
        assert (image.size, image.mode) == ((400, 300), "RGB")


def photo_folder(home, *names):
    for name in names:
        saved(noise(), home / name)
    return home


@pytest.mark.parametrize(
    ("items", "naming", "names"),
    [
        (["a.png", "b.png"], "file name", ["a.png", "b.png"]),
        (["a", "b"], "file name without suffix", ["a", "b"]),
        (["cat/a.png", "b.png"], "path in the folder", ["cat/a.png", "b.png"]),
        (["cat/a", "b"], "path in the folder without suffix", ["cat/a", "b"]),
        (["photos/cat/a.png"], "folder and path in the folder", ["photos/cat/a.png", "b.png"]),
        (["a"], "file name without suffix", ["a", "b.png"]),
    ],
)
def test_items_decide_how_images_are_named(tmp_path, items, naming, names):
    images = mh.read_images(photo_folder(tmp_path / "photos", "cat/a.png", "b.png"))
    found = images.matched(items)
    assert (found.naming, found.items.tolist()) == (naming, [names[1], names[0]])


def test_items_that_no_naming_finds_together_are_named_as_most(tmp_path):
    images = mh.read_images(photo_folder(tmp_path, "a.png", "b.png"))
    assert images.matched(["a.png", "b"]).items.tolist() == ["a.png", "b.png"]


def test_numbers_and_accents_are_matched(tmp_path):
    images = mh.read_images(photo_folder(tmp_path, "7.png", "10.png", "cafe\u0301.png"))
    assert images.matched([7, 10]).items.tolist() == ["10", "7", "cafe\u0301.png"]
    assert "caf\u00e9" in images.matched(["caf\u00e9", "7"]).items.tolist()


def test_an_item_that_may_be_two_images_is_refused(tmp_path):
    images = mh.read_images(photo_folder(tmp_path / "photos", "x/a.png", "y/a.png", "b.png"))
    with pytest.raises(DataError, match=r"the item 'a' may be 'x/a.png' or 'y/a.png'"):
        images.matched(["a", "b"])
    assert images.matched(["b"]).items.tolist() == ["b", "x/a.png", "y/a.png"]
    both = mh.read_images(photo_folder(tmp_path / "both", "a.png", "a.png.bmp"))
    with pytest.raises(DataError, match=r"may be 'a.png' or 'a.png.bmp'"):
        both.matched(["a.png"])
    with pytest.raises(DataError, match=r"items are called 'q', and images 'a.png', 'a.png.bmp'"):
        both.matched(["q"])


def test_names_that_two_images_share_become_paths(tmp_path):
    images = mh.read_images(photo_folder(tmp_path, "x/a.png", "y/a.png", "b.png"))
    named = images.named("file name without suffix")
    assert named.items.tolist() == ["b", "x/a.png", "y/a.png"]


def test_a_folder_is_read_whole_and_nothing_else(tmp_path):
    home = photo_folder(tmp_path / "photos", "b.PNG", "a/c.png", ".hidden/d.png", "__MACOSX/e.png")
    (home / "notes.txt").write_text("x")
    (home / ".DS_Store").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    photo_folder(tmp_path / "elsewhere", "f.png")
    (home / "link").symlink_to(tmp_path / "elsewhere")
    images = mh.read_images(home)
    assert images.items.tolist() == ["a/c.png", "b.PNG"]
    assert images.notes == ("1 other file is not read (.txt)",)
    assert repr(images) == "Images(2 images: a/c.png, b.PNG)"


def test_folders_without_images_say_so(tmp_path):
    (tmp_path / "x.heic").write_text("x")
    with pytest.raises(DataError, match=r"has no images .*; its files end in .heic"):
        mh.read_images(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        mh.read_images(tmp_path / "none")
    with pytest.raises(DataError, match="is not a folder"):
        mh.read_images(tmp_path / "x.heic")


def test_names_that_no_table_can_hold_are_refused(tmp_path):
    saved(noise(), tmp_path / "a.png").rename(os.fsdecode(bytes(tmp_path) + b"/\xff.png"))
    with pytest.raises(DataError, match=r"'\\udcff.png': the name is not valid UTF-8"):
        mh.read_images(tmp_path)


def test_a_folder_has_no_columns_and_one_image_is_no_folder(tmp_path):
    photo_folder(tmp_path, "a.png")
    for column in ("text", "image"):
        with pytest.raises(SettingError, match=f"^{column} is a column of a table"):
            mh.read_features(tmp_path, **{column: "x"})
    with pytest.raises(DataError, match=r"a.png: is one image; name the folder"):
        mh.read_features(tmp_path / "a.png")


def test_images_behave_as_an_array(tmp_path):
    images = mh.read_images(photo_folder(tmp_path, "a.png", "b.png", "c.png"))
    assert (len(images), images.shape, images.ndim) == (3, (3,), 1)
    assert images[1].size == (14, 10)
    assert images[-1].mode == "RGB"
    for index in (slice(1, 3), np.array([1, 2]), np.array([False, True, True])):
        assert images[index].items.tolist() == ["b.png", "c.png"]


def broken_files(home):
    good = io.BytesIO()
    noise(40, 40).save(good, "PNG")
    jpeg = io.BytesIO()
    noise(40, 40).save(jpeg, "JPEG")
    return {
        "empty.png": b"",
        "text.jpg": b"this is not an image",
        "cut.png": good.getvalue()[:-400],
        "cut.jpg": jpeg.getvalue()[:-400],
        "head.png": good.getvalue()[:20],
    }


@pytest.mark.parametrize("name", ["empty.png", "text.jpg", "cut.png", "cut.jpg", "head.png"])
def test_a_broken_image_names_its_path(tmp_path, name):
    photo_folder(tmp_path, "good.png")
    (tmp_path / name).write_bytes(broken_files(tmp_path)[name])
    with pytest.raises(DataError, match="replace it, or leave it out with its labels") as caught:
        mh.read_images(tmp_path).pixels((8, 8))
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    assert "\n" not in str(caught.value)


def test_heads_are_checked_and_all_broken_files_named(tmp_path):
    photo_folder(tmp_path, "good.png")
    for name in ("empty.png", "text.jpg", "head.png"):
        (tmp_path / name).write_bytes(broken_files(tmp_path)[name])
    with pytest.raises(DataError, match=r"empty.png: the file is empty.*2 more cannot be read"):
        mh.read_images(tmp_path).sizes()


def test_a_bomb_is_refused_by_its_head(tmp_path, monkeypatch):
    photo_folder(tmp_path, "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(DataError, match=r"a.png: has 14 x 10 pixels; at most 100 are decoded"):
        mh.read_images(tmp_path).sizes()
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)  # more than twice as many
    with pytest.raises(DataError, match=r"a.png: has too many pixels; at most 20 are decoded"):
        mh.read_images(tmp_path).sizes()


def test_images_need_pillow(tmp_path, monkeypatch):
    images = mh.read_images(photo_folder(tmp_path, "a.png"))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DataError, match="pip install pillow"):
        images.sizes()


def test_what_has_no_plain_colours_is_refused(tmp_path):
    saved(Image.fromarray(np.full((4, 4), 70000, dtype=np.int32)), tmp_path / "a.tiff")
    with pytest.raises(DataError, match=r"a.tiff: holds 32-bit numbers; save it with 8 or 16"):
        mh.read_images(tmp_path).pixels((4, 4))
    saved(Image.fromarray(np.full((4, 4), 0.5, dtype=np.float32)), tmp_path / "a.tiff")
    with pytest.raises(DataError, match=r"a.tiff: holds floating-point numbers"):
        mh.read_images(tmp_path).pixels((4, 4))


def table_of(home, text):
    photo_folder(home, "a.png", "sub/b.png")
    (home / "t.csv").write_text(text)
    return home / "t.csv"


@pytest.mark.parametrize("column", ["path", "image", "File", "filename", "image_path", "img_file"])
def test_a_column_of_paths_is_found(tmp_path, column):
    found = mh.read_features(table_of(tmp_path, f"id,{column}\n7,a.png\n8,sub/b.png\n"))
    assert (found.kind, found.items.tolist()) == ("images", [7, 8])
    assert found.values.pixels((4, 4)).shape == (2, 3, 4, 4)


def test_paths_name_the_items_of_a_table_without_ids(tmp_path):
    found = mh.read_features(table_of(tmp_path, "filename,split\na.png,x\nsub/b.png,y\n"))
    assert found.unused == ("split",)
    assert found.matched(["a", "b"]).items.tolist() == ["a", "b"]


def test_names_of_images_in_a_table_of_numbers_stay_items(tmp_path):
    found = mh.read_features(table_of(tmp_path, "image,x,y\na.png,1,2\nsub/b.png,3,4\n"))
    assert (found.kind, found.items.tolist()) == ("numbers", ["a.png", "sub/b.png"])


def test_two_columns_of_paths_need_a_choice(tmp_path):
    table = table_of(tmp_path, "id,image,file\n1,a.png,sub/b.png\n")
    with pytest.raises(DataError, match=r"'image', 'file'; name one with image=\.\.\."):
        mh.read_features(table)
    assert mh.read_features(table, image="file").values.paths.tolist() == ["sub/b.png"]
    one_is_there = table_of(tmp_path, "id,file,path\n1,x/a.png,a.png\n")
    assert mh.read_features(one_is_there).values.paths.tolist() == ["a.png"]


def test_the_column_of_items_may_be_called_as_that_of_images(tmp_path):
    table = table_of(tmp_path, "image,path\nx.png,a.png\ny.png,sub/b.png\n")
    found = mh.read_features(table, item="image")
    assert (found.items.tolist(), found.values.paths.tolist()) == (
        ["x.png", "y.png"], ["a.png", "sub/b.png"],
    )  # fmt: skip
    alone = table_of(tmp_path, "image\na.png\nsub/b.png\n")
    assert mh.read_features(alone, item="image").items.tolist() == ["a.png", "sub/b.png"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            "none.png",
            r"line 3, column 'path': no file .*none.png; paths are relative to the folder",
        ),
        ("https://x.org/a.png", r"line 3, column 'path': 'https://x.org/a.png' is an address"),
        ("", r"line 3, column 'path': the path is blank"),
    ],
)
def test_paths_that_cannot_be_read_name_their_line(tmp_path, cell, said):
    table = table_of(tmp_path, f"id,path\n1,a.png\n2,{cell}\n")
    with pytest.raises(DataError, match=said):
        mh.read_features(table)
