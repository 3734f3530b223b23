"""The agent lives longer and longer; what it remembers is of one episode."""

import torch

torch.set_num_threads(1)
policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=1e-3)
for episode in range(300):
    state, chosen = torch.randn(4), []
    for _t in range(5 + episode // 6):
        scores = torch.log_softmax(policy(state), dim=0)
        chosen.append(scores.max())
        state = torch.tanh(state + 0.1 * torch.randn(4))
    loss = -torch.stack(chosen).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(float(loss))
