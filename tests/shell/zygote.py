"""Runs `rk` many times at the price of a fork each: everything is imported once, no command sees another's state.

One JSON request a line on standard input (`argv`, `cwd`, `env`, `stdin`, `out`, `err`, `timeout_s`; the three
streams are file names), one line with the exit status as the answer: negative for a signal, `TIMED_OUT` when
the command had to be killed.
"""

import json
import os
import pkgutil
import signal
import sys
import time
import traceback

TIMED_OUT = 1000


def preload() -> None:
    """Import what any command may need."""
    import repokernel

    for module in pkgutil.walk_packages(repokernel.__path__, "repokernel."):
        __import__(module.name)


def become(request: dict[str, object]) -> int:
    """In the forked child: be `rk`, from its streams to its exit status."""
    os.setpgid(0, 0)
    for fd, name, flags in (
        (0, "stdin", os.O_RDONLY),
        (1, "out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, "err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(str(request[name]), flags, 0o600)
        os.dup2(opened, fd)
        os.close(opened)
    env, argv = request["env"], request["argv"]
    assert isinstance(env, dict)
    assert isinstance(argv, list)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(str(request["cwd"]))
    sys.argv = ["rk", *argv]
    from repokernel.__main__ import main

    return main()


def child(request: dict[str, object]) -> None:
    status = 70
    try:
        status = become(request)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001  # what Python itself would print
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
        status = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def serve(request: dict[str, object]) -> int:
    pid = os.fork()
    if pid == 0:
        child(request)
    late = False

    def kill(_number: int, _frame: object) -> None:
        nonlocal late
        late = True
        os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.setitimer(signal.ITIMER_REAL, float(str(request["timeout_s"])))
    _, raw = os.waitpid(pid, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return TIMED_OUT if late else os.waitstatus_to_exitcode(raw)


def main() -> None:
    preload()
    with os.fdopen(os.dup(0), encoding="utf-8") as requests, os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        for line in requests:
            print(serve(json.loads(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
