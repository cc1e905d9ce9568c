"""The commands `moorage`, `kubectl moorage` and `python -m moorage`: answer to Ctrl-C first, import the rest second.

Python turns SIGINT into a KeyboardInterrupt wherever it happens to be, and prints a traceback when that is an import
before any `try`, or loses it when that is a weakref callback, a finalizer or the initialisation of a C extension. From
the first line here on SIGINT ends the process with exit code 130 and no output. Commands with something to put away
(`up`, `demo`) replace the handler. What Python runs before this module, such as `site`, is out of reach.
"""

# Not `signal`: that module imports enum first, a millisecond in which Ctrl-C would still be a traceback.
import _signal  # type: ignore[import-not-found]
import os
import sys

_INTERRUPTED = 130
_PROGRAMS = ("moorage", "kubectl-moorage")  # kubectl runs the latter for `kubectl moorage`
_CLEAR_LINE = b"\r\x1b[K"  # a progress bar, and the ^C that the terminal echoes


def _end_quietly(number: int, frame: object) -> None:
    if os.isatty(2):
        os.write(2, _CLEAR_LINE)
    os._exit(_INTERRUPTED)


def answer_to_interrupts() -> None:
    """End on SIGINT at once and without output, unless the parent process had it ignored."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end_quietly)


def main() -> None:
    """Run the command line, and exit."""
    answer_to_interrupts()
    import atexit
    import gc

    from moorage.cli.main import main as run

    try:
        run()
    except SystemExit as ended:
        if gc.isenabled() or not isinstance(ended.code, int):
            raise
        atexit._run_exitfuncs()
        os._exit(ended.code)  # all is flushed; a million objects, for which the gc was disabled, take a while to free


def complete_for_kubectl() -> None:
    """Print what completes a line of `kubectl moorage`. kubectl runs it as `kubectl_complete-moorage`."""
    sys.argv[1:] = ["__complete", "kubectl", *(sys.argv[1:] or [""])]
    main()


if __name__ == "__main__" or os.path.basename(sys.argv[0]) in _PROGRAMS:  # noqa: PTH119 (pathlib is slow to import)
    answer_to_interrupts()
if __name__ == "__main__":
    main()
