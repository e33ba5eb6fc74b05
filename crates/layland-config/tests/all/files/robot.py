import time

def pump():
    time.sleep(1)
