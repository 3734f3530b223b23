"""Calls that are put off, and come soon."""

import asyncio

import numpy as np


async def main():
    loop = asyncio.get_running_loop()
    for _ in range(1500):
        loop.call_later(0.05, np.random.rand(3000).sum)
        await asyncio.sleep(0.001)


asyncio.run(main())
