// Owner of the precompiled header.
