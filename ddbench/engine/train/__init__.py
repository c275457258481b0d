"""Train the model pair: python -m ddbench.engine.train. Nothing of it runs in the server."""
