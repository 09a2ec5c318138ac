"""Constants on a device: each array is there once, however many programs read it."""

from __future__ import annotations

import numpy as np

from compiler.constants.digests import digest_of
from compiler.constants.file_arrays import is_large
from profiler.measure.cuda.device import Device
from profiler.measure.cuda.memory import Allocation


class Weights:
    """Arrays that were copied to a device: large ones are known by where they lie on the host, others by content."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._stream = device.stream()
        self._placed: dict[tuple[object, ...], tuple[np.ndarray, Allocation]] = {}

    def place(self, array: np.ndarray, label: str) -> int:
        """The address of an array's elements on the device; copied there the first time."""
        # Compilations hand large arrays on as they are, and may copy others.
        address = (array.__array_interface__["data"][0], array.strides)
        key = (array.dtype.str, array.shape, address if is_large(array) else digest_of(array))
        if key not in self._placed:
            made = self._device.pool.allocate(array.nbytes, label)
            self._device.transfers.to_device(made.pointer, array, label, self._stream)
            self._placed[key] = array, made  # with the array, so that its place on the host stays its own
        return self._placed[key][1].pointer

    def close(self) -> None:
        """Give their memory back."""
        for _, made in self._placed.values():
            self._device.pool.free(made)
        self._placed = {}
