"""A window of a JPEG, without the pixels around it: the bits of libjpeg-turbo, which decodes all of them.

Of what lies before the window in the file only the code is read. Blocks of the window are put side by
side, sixteen in a group, so that vectors compute as many at once. Nothing here is written for damaged
files: whatever is not as it should be stops the work, and the library says what it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from penstock.kernels.compiled.crc32c import BYTES, load64
from penstock.kernels.compiled.jpeg_vectors import GROUP, LANES, big_word, colour, smooth, transform, weigh
from penstock.kernels.compiled.memory import put_number

LOOK = 12
"""So many bits of the code are looked up at once."""
SPARE = 4096
"""Bytes after the code, whatever they are: a unit that is read behind its end stays within."""
LAST = 0xD9
"""The marker of an image's end."""
END = 128
"""How far the end of a block leads: beyond all of its places, and beyond what a run can lead to."""
ENOUGH = 32
"""Bits that the longest code, and the number after it, take at most."""

_INT = types.int64
_FLAT = types.uint8[::1]
_NUMBERS, _TABLE = types.int64[::1], types.int64[:, ::1]
TABLES = types.Tuple(  # type: ignore[no-untyped-call]
    (
        *(_INT, _TABLE, types.uint16[::1], types.int32[::1], types.int32[::1]),
        *(_TABLE, types.uint8[:, ::1], _NUMBERS, _NUMBERS),
    )
)
"""Whether chromas have half as many rows and columns; the two codes of each component; of all codes what
`build` fills: `coded`, `direct`, `skips`, `bounds`, `symbols`; what the numbers of each component are
multiplied by; and where in a group they belong."""


@njit(
    types.boolean(BYTES, _INT, types.uint16[::1], types.int32[::1], types.int32[::1], _NUMBERS, _FLAT),
    nogil=True,
    cache=True,
)
def build(table: Any, at: Any, coded: Any, direct: Any, skips: Any, bounds: Any, symbols: Any) -> Any:
    """Fill what is looked up of the code whose table is at `at`; whether it is one.

    `coded` has for the next bits the symbol and the length of its code. `direct` has the number that
    follows too, where all of it is among them: the number, how far it leads in the block, and the bits.
    `skips` has all numbers that are among them, one after another: whether they end the block, how far they
    lead, and the bits.
    `bounds` has for each length where longer codes begin, and what leads from a code to its symbol.
    """
    coded[:] = 0
    code = place = 0
    first = at + 16
    for length in range(1, 17):
        bounds[length + 17] = place - code
        for _ in range(table[at + length - 1]):
            symbol = table[first + place]
            symbols[place] = symbol
            if length <= LOOK:
                shift = LOOK - length
                for i in range(code << shift, (code + 1) << shift):
                    coded[i] = (np.int64(symbol) << 8) | length
            place += 1
            code += 1
            if code >> length:  # all ones are no code
                return False
        bounds[length] = code << (16 - length)
        code <<= 1
    for i in range(1 << LOOK):
        look: Any = np.int64(coded[i])
        length, symbol = look & 255, look >> 8
        run, size = symbol >> 4, symbol & 15
        entry: Any = np.int64(0)
        if length and not size:
            entry = ((16 if run == 15 else END) << 8) | length
        elif length and length + size <= LOOK:
            value = (np.int64(i) >> (LOOK - length - size)) & ((1 << size) - 1)
            if value < 1 << (size - 1):
                value += 1 - (1 << size)
            entry = (value << 16) | ((run + 1) << 8) | (length + size)
        direct[i] = entry
    for i in range(1 << LOOK):
        bits = far = ends = 0
        while not ends:
            entry = np.int64(direct[(i << bits) & ((1 << LOOK) - 1)])
            length, step = entry & 255, (entry >> 8) & 255
            if not length or bits + length > LOOK or far + step > 255:
                break
            bits += length
            if step == END:
                ends = 1
            else:
                far += step
        skips[i] = (ends << 16) | (far << 8) | bits
    return True


@njit(_INT(BYTES, _INT, _FLAT), nogil=True, cache=True)
def plain(data: Any, start: Any, out: Any) -> Any:
    """The code from `start` on up to the image's end, without the zeros that follow bytes of ones.

    Its length; -1 where it does not end with the image.
    """
    ones, highs = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
    target = out.ctypes.data
    i, j, stop = start, np.int64(0), np.int64(len(data))
    while i < stop:
        if i + 8 <= stop:
            word = load64(data, i)
            if not ((~word - ones) & word & highs):
                put_number(target + j, np.int64(word))
                i += 8
                j += 8
                continue
        for _ in range(min(8, stop - i)):
            byte = data[i]
            out[j] = byte
            i += 1
            j += 1
            if byte == 255:
                if i >= stop or data[i] != 0:
                    return j - 1 if i < stop and data[i] == LAST else np.int64(-1)
                i += 1
            if i >= stop:
                break
    return np.int64(-1)


@njit(inline="always")
def _longer(held: Any, bounds: Any, symbols: Any, code: Any) -> Any:
    """What `coded` would have for the next bits if more of them were looked up; 0 where they are no code."""
    bits = np.int64(held >> np.uint64(48))
    length = LOOK + 1
    while length <= 16 and bits >= bounds[code, length]:
        length += 1
    if length > 16:
        return np.int64(0)
    symbol = np.int64(symbols[code, (bits >> (16 - length)) + bounds[code, length + 17]])
    return (symbol << 8) | length


@njit(
    types.boolean(_FLAT, _INT, TABLES, _TABLE, _NUMBERS, types.int16[::1], _FLAT),
    nogil=True,
    cache=True,
)
def walk(code: Any, size: Any, tables: Any, parts: Any, window: Any, groups: Any, planes: Any) -> Any:
    """Read the code of a scan down to the last unit of the window, and make samples of the window's units.

    A row of `parts` is a block of a unit: its component, its two codes, where its groups begin, how many
    blocks a unit has side by side and which of them it is, where its samples go, and how many bytes a line of
    them and a unit's lines have. `window` has the units of a row, and the first and the last that are wanted,
    down and across. Whether all went well.
    """
    _, _, coded, direct, skips, bounds, symbols, scales, orders = tables
    across, top, bottom, left, right = window[0], window[1], window[2], window[3], window[4]
    base = code.ctypes.data
    at = np.int64(base)
    held = np.uint64(0)
    count = np.int64(0)
    before = np.zeros(4, np.int64)
    waste = np.uint64(len(groups) - GROUP)
    for down in range(bottom + 1):
        for unit in range(across):
            wanted = down >= top and left <= unit <= right
            for p in range(len(parts)):
                component, dc, ac = parts[p, 0], parts[p, 1], parts[p, 2]
                into = waste
                if wanted:
                    block = (unit - left) * parts[p, 4] + parts[p, 5]
                    into = np.uint64(parts[p, 3] + (block >> 4) * GROUP + (block & 15))
                if count < ENOUGH:
                    held |= big_word(at) >> np.uint64(count)
                    more = (63 - count) >> 3
                    at += more
                    count += more << 3
                look: Any = np.int64(coded[np.uint64(dc << LOOK) + (held >> np.uint64(64 - LOOK))])
                if not look:
                    look = _longer(held, bounds, symbols, dc)
                    if not look:
                        return False
                length, symbol = look & 255, look >> 8
                held <<= np.uint64(length)
                count -= length
                if symbol:
                    if symbol > 11:
                        return False
                    value = np.int64(held >> np.uint64(64 - symbol))
                    held <<= np.uint64(symbol)
                    count -= symbol
                    if value < 1 << (symbol - 1):
                        value += 1 - (1 << symbol)
                    before[component] += value
                groups[into] = np.int16(before[component] * scales[component * 64])
                k = np.int64(0)
                of_ac, scale = np.uint64(ac << LOOK), np.uint64(component * 64)
                while k < 63:
                    if count < ENOUGH:
                        held |= big_word(at) >> np.uint64(count)
                        more = (63 - count) >> 3
                        at += more
                        count += more << 3
                    if not wanted:
                        entry = np.int64(skips[of_ac + (held >> np.uint64(64 - LOOK))])
                        length = entry & 255
                        far = k + ((entry >> 8) & 255)
                        if length and far < 63:  # what follows the last place of a block is another block
                            held <<= np.uint64(length)
                            count -= length
                            k = far
                            if entry >> 16:
                                break
                            continue
                    entry = np.int64(direct[of_ac + (held >> np.uint64(64 - LOOK))])
                    length = entry & 255
                    if length:
                        held <<= np.uint64(length)
                        count -= length
                        k += (entry >> 8) & 255
                        if k > 63:
                            if k >= END:
                                break
                            return False
                        value = entry >> 16
                    else:
                        look = np.int64(coded[of_ac + (held >> np.uint64(64 - LOOK))])
                        if not look:
                            look = _longer(held, bounds, symbols, ac)
                            if not look:
                                return False
                        length, symbol = look & 255, look >> 8
                        held <<= np.uint64(length)
                        count -= length
                        run, digits = symbol >> 4, symbol & 15
                        if not digits:
                            if run != 15:
                                break
                            k += 16
                            if k > 63:
                                return False
                            continue
                        k += run + 1
                        if k > 63:
                            return False
                        value = np.int64(held >> np.uint64(64 - digits))
                        held <<= np.uint64(digits)
                        count -= digits
                        if value < 1 << (digits - 1):
                            value += 1 - (1 << digits)
                    step = np.uint64(k)
                    groups[into + np.uint64(orders[step])] = np.int16(value * scales[scale + step])
            if ((at - base) << 3) - count > size << 3:
                return False
        if down >= top:
            for p in range(len(parts)):
                if parts[p, 5] == 0:  # the first of the blocks that lie side by side
                    stride = parts[p, 7]
                    start = planes.ctypes.data + parts[p, 6] + (down - top) * parts[p, 8]
                    blocks = (right - left + 1) * parts[p, 4]
                    for group in range((blocks + LANES - 1) // LANES):
                        source = groups.ctypes.data + 2 * (parts[p, 3] + group * GROUP)
                        transform(source, start + group * 8 * LANES, stride)
    return True


@njit(inline="always")
def _double(near: Any, far: Any, count: Any, sums: Any, room: Any, out: Any) -> None:
    """A line of samples at twice the width, smooth, between two lines."""
    for i in range(0, count, LANES):
        weigh(near + i, far + i, room + 2 * (i + 1))
    for byte in range(2):
        sums[byte] = sums[2 + byte]
        sums[2 * (count + 1) + byte] = sums[2 * count + byte]
    for i in range(0, count, LANES):
        smooth(room + 2 * i, out + 2 * i)


@njit(types.void(_FLAT, _NUMBERS, _FLAT, _FLAT), nogil=True, cache=True)
def paint(planes: Any, window: Any, sums: Any, out: Any) -> None:
    """The pixels of the window, of its samples.

    `window` has the rows and the columns that are wanted, those of them that lie before it in the planes,
    where the three planes begin and the bytes of their lines, whether chromas are halved, and if so the first
    row and column of theirs in the planes, and how many there are in the image. `sums` is room for lines.
    """
    rows, columns, above, beside = window[0], window[1], window[2], window[3]
    samples = planes.ctypes.data
    luma, blue, red = samples + window[4], samples + window[5], samples + window[6]
    wide, narrow, halved = window[7], window[8], window[9]
    pixels = out.ctypes.data
    room = sums.ctypes.data
    for y in range(rows):
        line = luma + (above + y) * wide + beside
        blues, reds = blue + (above + y) * narrow + beside, red + (above + y) * narrow + beside
        if halved:
            first_row, first_column, height, width = window[10], window[11], window[12], window[13]
            row = first_row * 2 + above + y
            near = row >> 1
            far = near + 1 if row & 1 else near - 1
            far = min(max(far, 0), height - 1) - first_row
            near -= first_row
            count = min(narrow, width - first_column)
            for plane in range(2):
                start = blue if plane == 0 else red
                upper = room + plane * 4 * narrow + 4 * narrow + 512
                _double(start + near * narrow, start + far * narrow, count, sums, room, upper)
            blues, reds = room + 4 * narrow + 512 + beside, room + 8 * narrow + 512 + beside
        target = pixels + y * columns * 3
        for x in range(0, columns, LANES):
            colour(line + x, blues + x, reds + x, target + 3 * x)
