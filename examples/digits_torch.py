"""Digits, augmented inside the pipeline, for a model of torch.

The augmentation is a function of the seed, the epoch and the element's number: the same however the work is
divided, another one in every epoch. Tensors have the memory of Penstock's arrays, without a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from _memory import held
from sklearn.datasets import load_digits

import penstock as ps


def augment(image: Any, label: Any) -> tuple[Any, Any]:
    """Move a digit by up to a pixel, and change its light."""
    image = ps.image.random_crop(np.pad(image, ((1, 1), (1, 1), (0, 0))), (8, 8, 1))
    return ps.image.random_brightness(image, 0.1), label


if __name__ == "__main__":
    torch.manual_seed(0)
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype(np.float32)
    dataset = ps.Dataset.from_tensor_slices((images[:1500], digits.target[:1500]))
    dataset = dataset.shuffle(buffer_size=10_000, seed=0).map(augment).batch(32).prefetch(2)
    unseen, answers = torch.from_numpy(images[1500:]), torch.from_numpy(digits.target[1500:])

    model = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), 0.002)
    batches = dataset.as_torch()
    for epoch in range(10):
        for x, y in batches:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            right = (model(unseen).argmax(dim=1) == answers).float().mean()
        print(f"epoch {epoch + 1:2}: {100 * right:.1f} % of unseen digits are right, {held()}", flush=True)
