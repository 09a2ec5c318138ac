"""A child that speaks as `cuda_child` does, and is in a kernel that never ends."""

import os
import sys
import time

from profiler.measure.cpu.child import end_with_parent
from profiler.measure.cuda.wire import read_frame, write_frame

end_with_parent()
answers = os.fdopen(os.dup(1), "wb")
found = read_frame(sys.stdin.buffer)
assert found is not None
header, _ = found
for call in range(1, 4):
    for step in header["steps"]:
        write_frame(answers, {"kind": "running", "kernel": step["kernel"], "call": call})
time.sleep(600)
