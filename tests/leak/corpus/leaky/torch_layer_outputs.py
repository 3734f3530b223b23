"""A layer inside of a model that keeps what it computed, with its graph."""

# kind: torch-graph
# line: 17
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))
        self.maps = []

    def forward(self, x):
        weights = (self.query(x) @ self.key(x).transpose(-1, -2)).softmax(-1)
        self.maps.append(weights)  # <-
        return weights @ self.value(x)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = Attention(dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(x + self.attention(x))


def main():
    torch.set_num_threads(1)
    net = nn.Sequential(Block(32), Block(32))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    for _ in range(600):
        x = torch.randn(16, 24, 32)
        loss = (net(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
