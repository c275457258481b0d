"""DDB2xx: throughput, load and the client."""
