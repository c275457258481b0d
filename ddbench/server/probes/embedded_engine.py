"""What the embedded engine computes with: it runs in ddbench's own interpreter."""

from importlib import metadata

from ddbench.server.probes.probe import NotKnown, Subject


def packages(_: Subject) -> dict[str, str]:
    try:
        return {"torch.version": metadata.version("torch")}
    except metadata.PackageNotFoundError as cause:
        raise NotKnown("torch is not installed beside ddbench") from cause
