"""Images in the functions that a dataset runs, with the names and the numbers of `tf.image`.

An image is an array of shape (height, width) or (height, width, channels), or a stack of these.
"""

from penstock.image.adjust import (
    adjust_brightness,
    adjust_contrast,
    random_brightness,
    random_contrast,
)
from penstock.image.convert import convert_image_dtype
from penstock.image.crop import random_crop
from penstock.image.flip import (
    flip_left_right,
    flip_up_down,
    random_flip_left_right,
    random_flip_up_down,
    rot90,
)
from penstock.image.random_resized_crop import random_resized_crop
from penstock.image.resize import resize

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "convert_image_dtype",
    "flip_left_right",
    "flip_up_down",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_resized_crop",
    "resize",
    "rot90",
]
