"""What feeds ResNet-50: Penstock, DataLoader, and a batch that is on the GPU already.

All give uint8 images, 224x224, randomly cropped and flipped, and labels, on the GPU; endlessly.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SIDE = 224


def synthetic(_: Path, batch: int, __: int) -> Iterator[tuple[Any, Any]]:
    """The same batch again and again: what the GPU could do."""
    import torch

    images = torch.randint(0, 256, (batch, SIDE, SIDE, 3), dtype=torch.uint8, device="cuda")
    labels = torch.randint(0, 10, (batch,), device="cuda")
    while True:
        yield images, labels


def penstock(folder: Path, batch: int, _: int) -> Iterator[tuple[Any, Any]]:
    """TFRecords through Penstock, as its guide writes it."""
    import penstock as ps

    features = {"image": ps.io.FixedLenFeature([], "bytes"), "label": ps.io.FixedLenFeature([], "int64")}

    def prepare(record: Any) -> Any:
        example = ps.io.parse_single_example(record, features)
        image = ps.image.random_resized_crop(example["image"], (SIDE, SIDE))
        image = ps.image.random_flip_left_right(image)
        return (image + np.float32(0.5)).astype(np.uint8), example["label"]

    paths = sorted(map(str, (folder / "records").glob("*.tfrecord")))
    rows = ps.TFRecordDataset(paths).shuffle().repeat().map(prepare, num_parallel_calls=ps.AUTOTUNE)
    return iter(rows.batch(batch, drop_remainder=True).prefetch(ps.AUTOTUNE).as_torch(device="cuda"))


def dataloader(folder: Path, batch: int, workers: int) -> Iterator[tuple[Any, Any]]:
    """A folder of JPEGs through torchvision and DataLoader, with worker processes and pinned memory."""
    from torch.utils.data import DataLoader
    from torchvision import datasets, transforms

    prepare = transforms.Compose(
        [transforms.RandomResizedCrop(SIDE), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    )
    loader = DataLoader(
        datasets.ImageFolder(folder / "files", prepare),
        batch,
        shuffle=True,
        num_workers=workers,
        pin_memory=True,
        drop_last=True,
        persistent_workers=workers > 0,
    )
    while True:
        for images, labels in loader:
            to_gpu = images.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
            yield to_gpu[0].permute(0, 2, 3, 1), to_gpu[1]


FEEDS: dict[str, Callable[[Path, int, int], Iterator[tuple[Any, Any]]]] = {
    "synthetic": synthetic,
    "penstock": penstock,
    "dataloader": dataloader,
}
