"""A step as a trace for Perfetto or Chrome: JSON with complete events, times in microseconds."""

from cdma.offload.schemes.registry import Result

_TRACKS = {"compute": 1, "down": 2, "up": 3}
_NAMES = {"compute": "compute", "down": "device to host", "up": "host to device"}


def events(result: Result, process: int) -> list[dict]:
    """Events of one system, as a process with three threads."""
    about = {"pid": process, "ph": "M"}
    found = [{**about, "name": "process_name", "args": {"name": result.scheme.title}}]
    for track, thread in _TRACKS.items():
        name = {"name": "thread_name", "args": {"name": _NAMES[track]}}
        found.append({**about, "tid": thread, **name})
    for event in result.step.events:
        found.append(
            {
                "name": event.name,
                "cat": event.track,
                "ph": "X",
                "pid": process,
                "tid": _TRACKS[event.track],
                "ts": 1e6 * event.start,
                "dur": 1e6 * (event.end - event.start),
            }
        )
    return found


def trace(results: list[Result]) -> dict:
    """Trace of several systems side by side."""
    found = [event for k, result in enumerate(results, 1) for event in events(result, k)]
    return {"traceEvents": found, "displayTimeUnit": "ms"}
