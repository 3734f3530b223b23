"""An optimizer for each stage, all of which are kept with their moments."""

# kind: growing-container
# line: 16
import torch
from torch import nn

torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 1))
stages = []


def new_stage(lr):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    stages.append((optimizer, schedule))  # <-
    return optimizer, schedule


for step in range(2400):
    if step % 8 == 0:
        optimizer, schedule = new_stage(1e-3)
    loss = net(torch.randn(32, 100)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
