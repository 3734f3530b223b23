"""Children that nobody waits for."""

# kind: child-processes
# line: 10
import os
import time

count = 0
for step in range(60):
    pid = os.fork()  # <-
    if pid == 0:
        os._exit(0)
    count += 1
    time.sleep(0.02)
print(count)
