"""A real Lightning `Trainer` takes a feed as it is, and a DataLoader of it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

pytest.importorskip("torch")
pytest.importorskip("lightning")

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning and torch warn of each other


def trained(tmp_path: Path, train: Any, val: Any) -> tuple[list[list[int]], list[int]]:
    """The rows of each epoch of training, and those of the last validation."""
    import lightning
    import torch

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)
            self.epochs: list[list[int]] = []
            self.checked: list[int] = []

        def on_train_epoch_start(self) -> None:
            self.epochs.append([])

        def training_step(self, batch: Any, _: int) -> Any:
            x, n = batch
            self.epochs[-1] += n.tolist()
            return self.layer(x).pow(2).mean()

        def on_validation_start(self) -> None:
            self.checked = []

        def validation_step(self, batch: Any, _: int) -> None:
            self.checked += batch[1].tolist()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    model = Model()
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=str(tmp_path),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(model, train, val)
    return model.epochs, model.checked


@pytest.mark.parametrize("wrapped", [False, True])
def test_given_a_feed_then_every_epoch_has_every_row_once_in_another_order(
    tmp_path: Path, wrapped: bool
) -> None:
    from torch.utils.data import DataLoader

    rows = (np.ones((30, 2), np.float32), np.arange(30))
    train: Any = ps.Dataset.from_tensor_slices(rows).shuffle(30, seed=1).batch(4).as_torch()
    val: Any = ps.Dataset.from_tensor_slices(rows).take(7).batch(4).as_torch()
    if wrapped:
        train, val = DataLoader(train, batch_size=None), DataLoader(val, batch_size=None)
    epochs, checked = trained(tmp_path, train, val)
    assert [sorted(epoch) for epoch in epochs] == [[*range(30)]] * 2
    assert epochs[0] != epochs[1]
    assert checked == [*range(7)]
