"""A thread a step that waits for ever."""

# kind: threads
# line: 17
import threading
import time

stop = threading.Event()


def prefetch(step):
    stop.wait()


def launch(step):
    worker = threading.Thread(target=prefetch, args=(step,), daemon=True)
    worker.start()  # <-


for step in range(180):
    launch(step)
    time.sleep(0.006)
print(threading.active_count())
stop.set()
