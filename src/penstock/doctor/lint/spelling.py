"""One spelling for things that frameworks offer under several names."""

from __future__ import annotations

PREFIXES = (
    ("tensorflow.compat.v2.", "tf."),
    ("tensorflow.compat.v1.data.", "tf.data."),
    ("tensorflow.compat.v1.keras.", "keras."),
    ("tensorflow.compat.v1.", "tf1."),
    ("tensorflow.python.keras.", "keras."),
    ("tensorflow.keras.", "keras."),
    ("tensorflow.v1.", "tf1."),
    ("tensorflow.", "tf."),
    ("tf_keras.", "keras."),
    ("keras.src.", "keras."),
    ("keras.api.", "keras."),
    ("tf.compat.v1.data.", "tf.data."),
    ("tf.compat.v1.keras.", "keras."),
    ("tf.compat.v1.", "tf1."),
    ("tf.compat.v2.", "tf."),
    ("tf.keras.", "keras."),
    ("tf1.keras.", "keras."),
    ("tf1.data.", "tf.data."),
    ("torch.utils.data.dataloader.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.autograd.grad_mode.", "torch."),
    ("jax.api.", "jax."),
    ("lightning.pytorch.", "lightning."),
    ("pytorch_lightning.", "lightning."),
    ("numpy.", "np."),
)


def spelled(name: str) -> str:
    """The one spelling of a full name.

    >>> spelled("tensorflow.compat.v1.data.Dataset.range"), spelled("tensorflow.keras.Model")
    ('tf.data.Dataset.range', 'keras.Model')
    """
    name += "."
    changed = True
    while changed:
        changed = False
        for long, short in PREFIXES:
            if name.startswith(long):
                name, changed = short + name[len(long) :], True
    return name[:-1]
