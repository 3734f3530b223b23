"""`ps.ImageFolderDataset`."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from penstock.io.formats.image_folder import class_names
from penstock.sources import ImageFolderDataset

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-images-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

NAMES = [
    *[f"cat/{i:02}.jpg" for i in range(12)],
    "cat/more/a.PNG",
    "cat/more/b.png",
    "cat/zoo/a.png",
    *[f"dog/{i:02}.jpeg" for i in range(20)],
    "fish/ä.jpg",
]
"""Pictures, in the order in which they come."""
OTHERS = ["cat/notes.txt", "top.jpg", ".hidden/x.jpg", "dog/jpg"]
HIDDEN = ["cat/._00.jpg", "cat/.ipynb_checkpoints/00-checkpoint.jpg", "dog/.DS_Store"]


def content(name: str) -> bytes:
    return name.encode() * 40


def folder() -> Path:
    made = FOLDER / "pictures"
    if not made.exists():
        for name in [*NAMES, *OTHERS, *HIDDEN]:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_bytes(content(name))
        (made / "empty").mkdir()
    return made


CLASSES = ["cat", "dog", "empty", "fish"]


class TestImageFolder(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "all": lambda: ImageFolderDataset(folder()),
            "shuffled": lambda: ImageFolderDataset(folder()).shuffle(),
            "shuffled a little": lambda: ImageFolderDataset(str(folder())).shuffle(5),
            "classes": lambda: ImageFolderDataset(folder(), class_names=["fish", "dog"]),
            "extensions": lambda: ImageFolderDataset(folder(), extensions=[".png"]),
        }

    def test_given_a_folder_then_pictures_come_class_by_class_with_their_number(self) -> None:
        expected = [
            {"image": content(name), "label": np.int64(CLASSES.index(name.split("/")[0]))} for name in NAMES
        ]
        assert same(drain(ImageFolderDataset(folder())), expected)
        assert class_names(folder()) == CLASSES

    def test_given_class_names_then_their_order_decides_the_labels(self) -> None:
        got = [int(one["label"]) for one in ImageFolderDataset(folder(), class_names=["fish", "dog"])]
        assert got == [0] + [1] * 20

    def test_given_a_shuffle_then_it_keeps_numbers_and_gives_each_picture_once(self) -> None:
        ds = ImageFolderDataset(folder()).shuffle(seed=1)
        assert "reorders row numbers of ImageFolderDataset" in str(ds.explain())
        got = drain(ds)
        assert same(got, drain(ds.with_options(ps.Options(optimize=False))))
        assert sorted(one["image"] for one in got) == sorted(map(content, NAMES))
        for one in got:
            assert CLASSES[one["label"]] == one["image"].split(b"/")[0].decode()

    def test_given_other_files_then_the_report_says_that_they_were_left_out(self) -> None:
        with ImageFolderDataset(folder()).iterate() as it:
            list(it)
            said = str(it.report())
        assert "left out 2 files whose names end in none of .bmp, .gif, .jpeg, .jpg, .png, .webp: " in said
        assert "cat/notes.txt' and others" in said
        with ImageFolderDataset(folder(), class_names=["dog"]).iterate() as it:
            list(it)
            assert "left out 1 file whose name ends in none of .bmp, " in str(it.report())
        with ImageFolderDataset(folder(), class_names=["fish"]).iterate() as it:
            list(it)
            assert "left out" not in str(it.report())

    def test_given_large_pictures_then_a_block_stops_at_its_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        for i in range(40):
            (tmp_path / "a" / f"{i:02}.png").write_bytes(bytes([i]) * 100_000)
        with ImageFolderDataset(tmp_path).batch(20).iterate(memory="8MiB") as it:
            got = [image[0] for batch in it for image in batch["image"]]
            assert it._run.ledger.peak <= 8 << 20
        assert got == list(range(40))

    def test_given_nothing_to_read_then_the_error_says_what_was_looked_for(self, tmp_path: Path) -> None:
        with pytest.raises(ps.errors.StoreError, match=r"nowhere: No such file"):
            list(ImageFolderDataset(tmp_path / "nowhere"))
        with pytest.raises(ps.errors.StoreError, match=r"expected folders of classes.*no folder at all"):
            list(ImageFolderDataset(tmp_path))
        with pytest.raises(ps.errors.StoreError, match=r"end in \.tiff, got none in \['cat', 'dog'"):
            list(ImageFolderDataset(folder(), extensions=[".tiff"]))
        with pytest.raises(ps.errors.StoreError, match=r"bird: No such file"):
            list(ImageFolderDataset(folder(), class_names=["bird"]))

    def test_given_a_list_of_files_beyond_the_budget_then_the_error_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        for i in range(5000):
            (tmp_path / "a" / f"{i:0200}.png").touch()
        with (
            ImageFolderDataset(tmp_path).iterate(memory="512KiB") as it,
            pytest.raises(ps.errors.BudgetError, match=r"list of files"),
        ):
            next(it)

    def test_given_wrong_arguments_then_declaring_fails_and_names_the_line(self) -> None:
        here = r"at .*test_image_folder\.py:\d+"
        with pytest.raises(TypeError, match=rf"ImageFolderDataset\(folder=\) {here}.*got 3"):
            ImageFolderDataset(3)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=rf"{here}.*folder of this machine.*ps\.WebDataset"):
            ImageFolderDataset("s3://bucket/pictures")
        with pytest.raises(ValueError, match=rf"extensions=\) {here}.*such as '\.jpg'"):
            ImageFolderDataset(folder(), extensions=["jpg"])
        with pytest.raises(TypeError, match=rf"class_names=\) {here}.*list of names"):
            ImageFolderDataset(folder(), class_names="cat")
        assert ImageFolderDataset("/nowhere/at/all").cardinality() == ps.UNKNOWN
