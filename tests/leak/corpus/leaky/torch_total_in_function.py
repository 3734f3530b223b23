"""A sum of losses in a function, each with its graph."""

# kind: torch-graph
# line: 25
import argparse
import torch
from torch import nn


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=1)
    return p.parse_args()


def train_epoch(model, opt, steps):
    total_loss = 0.0
    for _ in range(steps):
        x = torch.randn(32, 20)
        y = torch.randn(32, 1)
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        total_loss += loss  # <-
    return total_loss / steps


def main():
    args = parse()
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(args.epochs):
        print(epoch, float(train_epoch(model, opt, 2500)))


if __name__ == "__main__":
    main()
