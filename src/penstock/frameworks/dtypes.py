"""Dtypes that NumPy and the frameworks share."""

from __future__ import annotations

PLAIN = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
"""Those that NumPy itself has."""
VIEWED = {
    "bfloat16": "uint16",
    "float8_e4m3fn": "uint8",
    "float8_e4m3fnuz": "uint8",
    "float8_e5m2": "uint8",
    "float8_e5m2fnuz": "uint8",
    "float8_e8m0fnu": "uint8",
}
"""Those of ml_dtypes that torch has too, and as what NumPy and torch pass them on."""
EXTENDED = ("bfloat16", "float8_", "float4_", "float6_", "int2", "int4", "uint2", "uint4")
"""How the names of those of ml_dtypes begin, all of which JAX has."""
