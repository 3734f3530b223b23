"""Workers of a DataLoader keep every image in a cache of their own."""

# kind: child-memory
# line: 24
import argparse
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

CACHE = {}


class Images(Dataset):
    def __init__(self, n):
        self.n = n
        self.served = 0

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.served += 1
        img = np.random.default_rng(i).random((64, 64, 3))
        CACHE[self.served] = img  # <-
        return torch.from_numpy(img).float()


def main(epochs):
    model = torch.nn.Linear(64 * 64 * 3, 8)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = DataLoader(Images(400), batch_size=8, num_workers=2, persistent_workers=True)
    for epoch in range(epochs):
        for x in loader:
            loss = model(x.flatten(1)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    main(p.parse_args().epochs)
