"""Launches on the hosts of a Ray cluster: one lane a host, one launch at a time on each.

    driver: executor -> lane (a thread a host) -> RemoteServer     the one writer is the main thread
    host:   Worker (an actor a launch) -> ddbench.executors.launch, as on this machine

Ray is imported here only, and only when it is asked for.
"""
