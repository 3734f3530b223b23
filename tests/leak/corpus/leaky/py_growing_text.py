"""A log that is one text, and gets longer."""

# kind: growing-buffer
# line: 13
import hashlib


class Run:
    def __init__(self):
        self.log = ""

    def note(self, step, digest):
        self.log += f"step {step:08d} digest {digest} " + "=" * 900 + "\n"  # <-


run = Run()
for step in range(3000):
    digest = hashlib.sha256(str(step).encode() * 300).hexdigest()
    run.note(step, digest)
print(len(run.log))
