"""A layer is added for every task, and the optimizer keeps twice as much of it."""

# kind: growing-container
# line: 29
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(256, 256)
        self.added = nn.ModuleList()

    def forward(self, x):
        x = torch.relu(self.base(x))
        for layer in self.added[-2:]:
            x = x + layer(x)
        return x


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(900):
        if step % 6 == 0:
            layer = nn.Sequential(nn.Linear(256, 64, bias=False), nn.Linear(64, 256, bias=False))
            net.added.append(layer)  # <-
            optimizer.add_param_group({"params": layer.parameters()})
        x = torch.randn(32, 256)
        loss = (net(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
