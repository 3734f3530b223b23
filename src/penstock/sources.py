"""Datasets over files: one forwarding function a format, with tf.data's names and arguments."""

from __future__ import annotations
