"""A hidden state that is cut from its history every few steps."""

import torch

torch.set_num_threads(1)
cell = torch.nn.GRUCell(16, 32)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
hidden = torch.zeros(8, 32)
loss = torch.zeros(())
for step in range(1000):
    hidden = cell(torch.randn(8, 16), hidden)
    loss = loss + hidden.mean()
    if step % 10 == 9:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hidden = hidden.detach()
        loss = torch.zeros(())
print(float(hidden.sum().detach()))
