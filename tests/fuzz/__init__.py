"""Fuzzing: files, packets, messages and states that nobody would send, given to the readers and loops of elbowroom.

    python tests/fuzz --seconds 300            all targets, what `make fuzz` runs
    python tests/fuzz --list                   the targets

A target makes inputs from a seed and feeds them (target.py).  What comes back is an answer, or the library's own error;
anything else is a finding: another exception, a warning that is no ModelWarning or ModelNotice, an answer that is
wrong, a hang, a crash, a jump in memory.  Input k of a target depends on the seed, the target and k alone.
"""
