"""A layer of the user's inside of a model of torch's: its running mean keeps the graph of every step."""

# kind: torch-graph
# line: 17
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(n))
        self.register_buffer("mean", torch.zeros(n))

    def forward(self, x):
        now = x.mean(0)
        self.mean = 0.9 * self.mean + 0.1 * now  # <-
        return self.scale * (x - now)


model = nn.Sequential(nn.Linear(64, 64), Norm(64), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _step in range(1500):
    loss = model(torch.randn(64, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
