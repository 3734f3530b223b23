"""A plain training loop, with losses kept as numbers."""

import torch

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
losses = []
for step in range(900):
    loss = (model(torch.randn(32, 64)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 300 == 299:
        with torch.no_grad():
            outputs = [model(torch.randn(512, 64)) for _ in range(20)]
        print(float(torch.cat(outputs).mean()))
        del outputs
