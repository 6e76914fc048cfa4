"""What goes between this process and its workers."""

from __future__ import annotations

import socket
import struct
from typing import Optional

# a request: what, environment, steps, bytes that follow; an answer: environment, status, steps taken, bytes that follow
HEAD = struct.Struct("=4i")
# a longer text is cut
TEXT_LIMIT = 60000
# what must be the same for all environments
SIZES = ("n_obs", "n_dof", "n_action", "n_steps", "n_metrics")


def read(connection: socket.socket, size: int) -> Optional[bytes]:
    """So many bytes; None when the connection has ended."""
    data = b""
    while len(data) < size:
        try:
            piece = connection.recv(size - len(data))
        except OSError:
            return None
        if not piece:
            return None
        data += piece
    return data
