"""SGLang's HTTP routes in front of the scheduler. Only this package knows of sockets and JSON."""
