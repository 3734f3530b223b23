"""Each member of a population keeps all the parameters that it has had."""

# kind: jax-arrays
# line: 34
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp


@dataclass
class Member:
    params: dict
    rate: float
    past: list = field(default_factory=list)


def first(key):
    inner, outer = jax.random.split(key)
    return {"in": jax.random.normal(inner, (64, 128)) * 0.1, "out": jax.random.normal(outer, (128, 1)) * 0.1}


@jax.jit
def train(params, rate, x):
    def loss(p):
        return jnp.mean((jax.nn.relu(x @ p["in"]) @ p["out"] - x.mean(1, keepdims=True)) ** 2)

    value, slopes = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, s: p - rate * s, params, slopes), value


def one_round(population, key):
    for i, member in enumerate(population):
        member.past.append(member.params)  # <-
        x = jax.random.normal(jax.random.fold_in(key, i), (32, 64))
        member.params, value = train(member.params, member.rate, x)
    return float(value)


def main():
    population = [Member(first(jax.random.PRNGKey(i)), 0.001 * (i + 1)) for i in range(4)]
    key = jax.random.PRNGKey(99)
    for number in range(600):
        one_round(population, jax.random.fold_in(key, number))


main()
