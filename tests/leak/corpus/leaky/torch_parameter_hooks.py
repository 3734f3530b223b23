"""Hooks that clip gradients, put on the parameters at every step."""

# kind: torch-hooks
# line: 11
import torch
from torch import nn


def clip(net, limit):
    for parameter in net.parameters():
        parameter.register_hook(lambda gradient: gradient.clamp(-limit, limit))  # <-


def main():
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(400):
        clip(net, 1.0)
        loss = net(torch.randn(256, 64)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
