"""Remedies for PyTorch."""

from __future__ import annotations

from penstock.doctor.remedies import Remedy

REMEDIES = [
    Remedy(
        "torch-graph",
        "Tensors are kept with the graph that made them",
        "A tensor that needs a gradient refers to every tensor it was computed from. Adding up "
        "losses, or keeping "
        "hidden states, makes that graph longer at every step.",
        "Keep a number with `.item()`, or cut the graph with `.detach()`.",
        "losses.append(loss.item())  # was: losses.append(loss)\nhidden = hidden.detach()",
    ),
    Remedy(
        "torch-tensors",
        "Tensors are kept",
        "Each tensor that is kept keeps its memory.",
        "Keep a number with `.item()`, copy what is small, or write it to a file.",
        "outputs.append(out.mean().item())  # was: outputs.append(out)",
    ),
    Remedy(
        "torch-hooks",
        "A hook is registered at every step",
        "Each hook stays on its module until it is removed, is called at every step, and keeps what "
        "it refers to.",
        "Register it once, or remove it when done.",
        "handle = layer.register_forward_hook(hook)  # once\n...\nhandle.remove()",
    ),
    Remedy(
        "torch-compile",
        "torch.compile compiles again and again",
        "Each shape or Python number that is new gives a graph of its own, and each is kept.",
        "Pad to few shapes, pass numbers as tensors, or `dynamic=True`.",
        "step = torch.compile(step, dynamic=True)",
    ),
    Remedy(
        "torch-cuda",
        "Memory of the device, or pinned memory, grows",
        "Tensors on the device, or in pinned memory, are kept.",
        "Keep numbers, move what is kept to the host, and use pinned buffers again.",
        "kept.append(out.cpu().mean().item())",
    ),
]
