"""Compressed images to test with: JPEGs of several kinds, and PNGs and BMPs made here, byte by byte."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import simplejpeg
from numpy.typing import NDArray

import penstock as ps
from penstock.kernels import loading

ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}


def photo(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    """A picture with slopes, edges and some noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    slopes = np.stack([x * 3 + seed, y * 4, (x + y) * 2], axis=-1) % 256
    edges = ((x // 7 + y // 5 + seed) % 2 * 60)[..., None]
    noise = rng.integers(-12, 13, (height, width, 3))
    return np.clip(slopes + edges + noise, 0, 255).astype(np.uint8)


def jpeg(height: int, width: int, seed: int = 0, quality: int = 85, sampling: str = "420") -> bytes:
    """A picture as a JPEG."""
    picture = photo(height, width, seed)
    return bytes(simplejpeg.encode_jpeg(picture, quality=quality, colorsubsampling=sampling))


def by_numpy(image: Any, size: Any, **how: Any) -> Any:
    """What NumPy makes of `ps.image.resize`: a pass an axis, no kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "earned", lambda nbytes: False)
        return ps.image.resize(image, size, **how)


def with_size(contents: bytes, height: int, width: int) -> bytes:
    """A JPEG whose header says another size."""
    at = contents.index(b"\xff\xc0") + 5
    return contents[:at] + struct.pack(">HH", height, width) + contents[at + 4 :]


def turned(contents: bytes) -> bytes:
    """A JPEG in which a camera noted that it was held on its side."""
    noted = b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06" + bytes(6)
    return contents[:2] + b"\xff\xe1" + struct.pack(">H", len(noted) + 2) + noted + contents[2:]


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG, with its length and its checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    samples: Any,
    depth: int = 8,
    colour: int = 2,
    *,
    palette: bytes = b"",
    transparent: bytes = b"",
    interlaced: bool = False,
    pieces: int = 1,
    filters: Any = None,
) -> bytes:
    """A PNG of these samples, of shape (height, width, samples a pixel)."""
    height, width, each = samples.shape
    coded = b""
    for top, left, down, across in ADAM7 if interlaced else ((0, 0, 1, 1),):
        part = samples[top::down, left::across]
        if part.size:
            coded += filtered(
                [packed(row.ravel(), depth) for row in part], max(1, depth * each // 8), filters
            )
    pixels = zlib.compress(coded)
    step = -(-len(pixels) // pieces)
    size = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size),
            chunk(b"PLTE", palette) if palette else b"",
            chunk(b"tEXt", b"Comment\x00made here"),
            chunk(b"tRNS", transparent) if transparent else b"",
            *[chunk(b"IDAT", pixels[at : at + step]) for at in range(0, len(pixels), step)],
            chunk(b"IEND", b""),
        ]
    )


def packed(samples: Any, depth: int) -> bytes:
    """A row of samples as it is stored."""
    if depth >= 8:
        return bytes(samples.astype(">u2" if depth == 16 else np.uint8).tobytes())
    bits = (samples[:, None] >> np.arange(depth - 1, -1, -1)) & 1
    return bytes(np.packbits(bits.astype(np.uint8).ravel()).tobytes())


def filtered(lines: list[bytes], pixel: int, filters: Any) -> bytes:
    """Rows as PNG filters them, each with a random filter where `filters` draws them."""
    coded, above = bytearray(), bytes(len(lines[0]))
    for line in lines:
        kind = 0 if filters is None else int(filters.integers(0, 5))
        coded.append(kind)
        for i, byte in enumerate(line):
            left, corner = (line[i - pixel], above[i - pixel]) if i >= pixel else (0, 0)
            guess = left + above[i] - corner
            paeth = min((left, above[i], corner), key=lambda near: abs(guess - near))
            coded.append((byte - (0, left, above[i], (left + above[i]) // 2, paeth)[kind]) % 256)
        above = line
    return bytes(coded)


def pngs() -> Iterator[tuple[str, bytes]]:
    """PNGs of every kind and several sizes, by name."""
    rng = np.random.default_rng(5)
    for colour, depths in DEPTHS.items():
        for depth in depths:
            for interlaced in (False, True):
                for transparent in (False, True) if colour < 4 else (False,):
                    for height, width in ((7, 9), (1, 1), (3, 2), (16, 13)):
                        samples = rng.integers(0, 1 << depth, (height, width, SAMPLES[colour]))
                        palette = rng.bytes(3 << depth) if colour == 3 else b""
                        hidden = (
                            rng.bytes(1 << depth >> 1)
                            if colour == 3
                            else samples[0, 0].astype(">u2").tobytes()
                        )
                        name = f"type {colour}, {depth} bits, {height} x {width}"
                        name += ", interlaced" * interlaced + ", transparent" * transparent
                        yield (
                            name,
                            png(
                                samples,
                                depth,
                                colour,
                                palette=palette,
                                transparent=hidden if transparent else b"",
                                interlaced=interlaced,
                                pieces=int(rng.integers(1, 4)),
                                filters=rng,
                            ),
                        )


def bmp(image: Any, *, from_above: bool = False) -> bytes:
    """A BMP of an image in grey, colour, or colour and alpha."""
    height, width, each = image.shape
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[each]
    lines = image[..., order].reshape(height, -1) if from_above else image[::-1, :, order].reshape(height, -1)
    pixels = np.pad(lines, ((0, 0), (0, -lines.shape[1] % 4))).tobytes()
    greys = b"".join(bytes((i, i, i, 0)) for i in range(256)) if each == 1 else b""
    start = 54 + len(greys)
    head = struct.pack("<2sIHHI", b"BM", start + len(pixels), 0, 0, start)
    rows = -height if from_above else height
    head += struct.pack("<IiiHHIIiiII", 40, width, rows, 1, 8 * each, 0, len(pixels), 0, 0, 0, 0)
    return head + greys + pixels


# One picture of 40 x 52 pixels, in several ways.
BASELINE = base64.b64decode(
    """
    /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAx
    NDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy
    MjIyMjIyMjL/wAARCAAoADQDASIAAhEBAxEB/8QAGAABAQEBAQAAAAAAAAAAAAAABAAFBgf/xAAfEAABBQEBAAMBAAAAAAAAAAAB
    AAMEESESAjEyQXH/xAAZAQEBAAMBAAAAAAAAAAAAAAAFAwACBwH/xAAjEQABAwMEAgMAAAAAAAAAAAABAAIEAxEhEjFBUWGhIjNS
    /9oADAMBAAIRAxEAPwDx1qGRRpMbj9YAmtRvX6M/iY3FA+Bqxj8fHZe0JKC1F50hLbi9VQTmoxP2GJjcWq5Cq14t49pqhJQWo3OE
    JbcTrQE5qKD9hqW3GI+BiqH4zt7TUeSgeY4HmqKls+YvnnRqlUPfwQkhJwuWbj3lJbcTnU5uN5/Bv8S2opHyMRAf3nz0uMx5KE3G
    6yqS24vP5dpzca/qNS2otfYKgfm/PfCaoSUFuL1tUmNx+cpObi39RiW1GAqxqq1+bjB7TVCSs/zDsWpbPmL6rBiltqb+SkhJxuuX
    biAbSU1H6whSkY46XADYrj0eo5Mbi86AmNRevkKUqj7NHCaj1HWS243OAJjUTrSFKVGG7y07JqhUdZJEcgVQUpS1NV4NrpMPNl//
    2Q==
    """
)
PROGRESSIVE = base64.b64decode(
    """
    /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAx
    NDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy
    MjIyMjIyMjL/wgARCAAoADQDASIAAhEBAxEB/8QAGAABAQEBAQAAAAAAAAAAAAAAAwAEBQb/xAAYAQEBAAMAAAAAAAAAAAAAAAAE
    AgABBv/aAAwDAQACEAMQAAAB8czNmAztTQV2tue21J5TOpOMFXamgzrTc9ttp5a0bj2aqarVTVq0n//EABcQAAMBAAAAAAAAAAAA
    AAAAAAABAhL/2gAIAQEAAQUCUCkUikUikyKRSKRSKRSZFIpFIpFIpMCkUikUikUmRSKRSKRSKTJ//8QAGREAAwEBAQAAAAAAAAAA
    AAAAAAIDARMR/9oACAEDAQE/AUoJQnQ6E6CUEodCbaTbRG09P//EABsRAAMAAgMAAAAAAAAAAAAAAAABERJRITFC/9oACAECAQE/
    AU9CZSspRMq0PhnqC7hkz//EABQQAQAAAAAAAAAAAAAAAAAAAFD/2gAIAQEABj8CD//EABkQAAMBAQEAAAAAAAAAAAAAAAABERBR
    If/aAAgBAQABPyEKESpAqLwMx6HE64JZhEoRKkBBGPA6nHBPjQiVIFcf/9oADAMBAAIAAwAAABA2NnOVkfMAL4P/xAAaEQACAwEB
    AAAAAAAAAAAAAAAAARARISAx/9oACAEDAQE/EJ9WeH1n2BQKgno//8QAHREAAgICAwEAAAAAAAAAAAAAAAERITFRQWGhgf/aAAgB
    AgEBPxCvQTHXoq3j0XG0Le+9CvPO+C2VT2dgaBLDF8R5dsDW4k//xAAbEAADAQEBAQEAAAAAAAAAAAAAARExIUFxUf/aAAgBAQAB
    PxByjhgSNjRwRGZo1JCFEZ7lz4IWLo944QkCnjo1YuGgulOQ1GKQ/BaaJDBCip4l34OWrhXHSWCmOC1KukHFwSuwyNGhI9iMSRua
    EyUiP//Z
    """
)
RESTARTS = base64.b64decode(
    """
    /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAx
    NDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy
    MjIyMjIyMjL/wAARCAAoADQDASIAAhEBAxEB/8QAGQABAQEAAwAAAAAAAAAAAAAABAAFAwYH/8QAHxAAAQUBAQADAQAAAAAAAAAA
    AQADBBEhEgIxMkFx/8QAGgEBAQACAwAAAAAAAAAAAAAABQMAAgEEBv/EACMRAAEDAwQCAwAAAAAAAAAAAAEAAgQDESESMUFRYaEi
    M1L/3QAEAAT/2gAMAwEAAhEDEQA/APHWoZFGkxuP1gCa1G9foz+JjcUD4GrGPx8dlzQkoLUXnSEtuL1VBOajE/YYmNxarkKrXi3j
    2mqElBajc4QltxOtATmooP2GpbcYj4GKofjO3tNR5KB5jgeaoqWz5i+edGqVQ9/BCSEnC//Q6g3HvKS24nOpzcbz+Df4ltRSPkYu
    uH9589ICPJQm43WVSW3F5/LtObjX9RqW1Fr7BUD83574TVCSgtxetqkxuPzlJzcW/qMS2owFWNVWvzcYPaaoSVn+Ydi1LZ8xfVYM
    UttTfyUkJON1/9HkbiAbSU1H6whSke46XADYrwseo5Mbi86AmNRevkKUqj7NHCaj1HWS243OAJjUTrSFKVGG7y07JqhUdZJEcgVQ
    UpS1NV4NrpMPNl//2Q==
    """
)
CMYK = base64.b64decode(
    """
    /9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAIBgYHBgUIBwcHCQkICgwUDQwLCwwZEhMPFB0aHx4dGhwcICQuJyAiLCMcHCg3KSwwMTQ0
    NB8nOT04MjwuMzQy/8AAFAgAKAA0BEMRAE0RAFkRAEsRAP/EABoAAQEBAQEBAQAAAAAAAAAAAAAGBQQHCAP/xAAvEAAABAUDAwMD
    BAMAAAAAAAAAAQIDBBESFGETIUExUXEFFSIyM8EjJEKBJYKR/9oADgRDAE0AWQBLAAA/APIYPgeNWGB47D+kPQ60vLUg0tnWZEZz
    kW/Ye/igg+AsMDWS63HNnDNJUS19DUW22/4AUEHwFhgdsHBq9MXrPSUlRUESNzn158AKCD4CwwNHR90p0Cp0+te3XxPsAoIPgLDA
    0YMk+mI0XiNSlHWRo3KXTnwAoIPgLDA7E+nORzhxLRpJC+hK67bfgBttfbILDA1GotmHbSytCzU2VBmRFKZbdwHyJB8CosMDyqHv
    lrSl5K9Izkubcip53lsAoIPgLDA1kwsM02a4Ok3y+mlVR528TAUEHwFhgdsG26+umPIyaIplWVBVedsgKCD4CwwNHR0KfbynV9dH
    z8d5cgKCD4CwwNGDh2n0VR8idI5FWdB0+NsgKCD4CwwOxKYlpw0QZKNgvppTUWd/MwG219sgsMDUag4FbaVPGjVMprmuR1c7T2Af
    IkHwKiwwPLmYy4/Q0adT4VVTlPbsAoIPgLDA0GfTbD91XqUfxplOe3X+wFBB8BYYGgz/AJT9CnSp+dU6sY7gKCD4CwwNBln2njV1
    f9ZS/wC9wFBB8BYYGgzB+6frz0qfhTKrOO4Cgg+AsMDQZesP2unqUfynKc9+n9gNtr7ZBYYHcn0e4Tr6tOp86aZynv3AfIkHwKmw
    wPNW7FaDSylGqZSRJuR1cby2AUEHwFhgdMLCxLTiVxlRsF9VSqixt5kAoIPgLDA1CbafQSYAiJ0jmdBUHT52wAoIPgLDA74NnQn7
    gU6vor+fnvLgBQQfAWGB3lDuvrJUBMmiKR0HQVXjbACgg+AsMDUhUwzTaURhJN8vqqTUeN/EgG219sgsMD97OOWZqZNekZzRJcip
    42nsA+RIPgVFhgect+kMw6DeQpZqbKsiMylMt+wCgg+AsMDphXXI5xMM6lJIX1NJb7b/AIAUEHwFhgahQafTEE8zNSlHQZL3KXXj
    wAoIPgLDA74Nn3SeuVOn0o26+Z9gFBB8BYYHeRK9MWTLJEpKirM17nPpx4AUEHwFhgakL6c3HNpiXTUS19ST022/ADba+2QWGB+9
    29DmbKEINLZ0EZkc5Ft3Af/Z
    """
)
