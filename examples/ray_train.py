"""Two trainers of `ray.train`, each fed by a Ray actor of its own with its part of the digits.

Every trainer declares the same pipeline. `as_torch` finds out which of them it is, so that each image comes
to one of them an epoch; `distribute` makes the calls of `augment` elsewhere in the cluster.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from typing import Any

import numpy as np
import ray
import torch
from ray.train import RunConfig, ScalingConfig, get_context
from ray.train.torch import TorchTrainer, prepare_model
from sklearn.datasets import load_digits

import penstock as ps


def augment(image: Any, label: Any) -> tuple[Any, Any]:
    """Move a digit by up to a pixel, and change its light."""
    image = ps.image.random_crop(np.pad(image, ((1, 1), (1, 1), (0, 0))), (8, 8, 1))
    return ps.image.random_brightness(image, 0.1), label


def train() -> tuple[int, float]:
    """What each trainer does."""
    torch.manual_seed(0)
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype(np.float32)
    dataset = ps.Dataset.from_tensor_slices((images[:1500], digits.target[:1500]))
    dataset = dataset.shuffle(buffer_size=10_000, seed=0).repeat(10)  # ten epochs in one run, with its actors
    dataset = dataset.map(augment).distribute("ray", workers=1).batch(32).prefetch(2)
    layers = [torch.nn.Flatten(), torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)]
    model = prepare_model(torch.nn.Sequential(*layers))
    optimizer = torch.optim.Adam(model.parameters(), 0.002)
    for x, y in dataset.as_torch(remainder="drop"):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        unseen, answers = torch.from_numpy(images[1500:]), torch.from_numpy(digits.target[1500:])
        right = (model(unseen).argmax(dim=1) == answers).float().mean()
    return get_context().get_world_size(), float(right)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"ray\.")  # of its own settings
    ray.init("local", num_cpus=5, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            train, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(storage_path=folder)
        )
        trainers, right = trainer.fit().return_value
    print(f"{trainers} trainers: {right:.1%} of unseen digits are right")
    ray.shutdown()
