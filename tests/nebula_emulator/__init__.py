"""A wire-level emulator of NebulaGraph for tests: the statement forms we emit, and no others.

It speaks the server's Thrift protocol on a loopback socket, so the client is the real one. What it
does not know it refuses; what it does know is held to NebulaGraph's own published cases (``tck``).
"""
