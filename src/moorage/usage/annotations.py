"""Read the annotations that say what is used: of a pod, a load that the pods of a workload share, and given metrics.

    simulate.moorage.dev/usage: cpu=200m; memory=300Mi; sidecar/cpu=10m       on a pod (template) or node
    simulate.moorage.dev/load: cpu=pulse(2, 4, 10m, 20m); requests=200        on a workload
    simulate.moorage.dev/metrics: requests-per-second=steps(0s=10, 5m=200)    on any object

A name that is neither cpu nor memory is a custom metric of the pods. `simulate.moorage.dev/since` is when times begin,
in place of the start of the pod or the creation of the object.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from moorage.model.go.times import seconds_of
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.types.meta import ObjectMeta
from moorage.usage.courses import Course, CourseError, read_course

USAGE, LOAD = "simulate.moorage.dev/usage", "simulate.moorage.dev/load"
METRICS, SINCE = "simulate.moorage.dev/metrics", "simulate.moorage.dev/since"
#: The label of ConfigMaps that have external metrics.
EXTERNAL = "simulate.moorage.dev/external-metrics"
CPU, MEMORY = "cpu", "memory"
RESOURCES = (CPU, MEMORY)
#: Characters of an annotation, and names in it.
_MAX_TEXT, _MAX_NAMES = 16 * 1024, 64
_is_name = whole(r"[A-Za-z0-9]([A-Za-z0-9_.:-]{0,251}[A-Za-z0-9])?")


class Measured(NamedTuple):
    """What is measured: a name, of one container or, without it, of the first one or of the pod."""

    container: str
    name: str


Courses = Mapping[Measured, Course]
_NOTHING: Courses = {}


@reads_text("cpu=", "1", ";", "a/", "steps(0s=1", ",", ")", "\n", raises=CourseError, longest=_MAX_TEXT)
@lru_cache(maxsize=4096)
def read_courses(text: str) -> Courses:
    """Parse names and their courses, separated by semicolons or lines. Raises CourseError."""
    if len(text) > _MAX_TEXT:
        raise CourseError(f"it has {len(text):,} characters; {_MAX_TEXT:,} are read")
    courses: dict[Measured, Course] = {}
    for entry in text.replace("\n", ";").split(";"):
        if not entry.strip():
            continue
        name, equals, course = entry.partition("=")
        container, slash, rest = name.strip().rpartition("/")
        if not equals or not _is_name(rest) or (slash and not _is_name(container)):
            raise CourseError("it is written NAME=AMOUNT; NAME=AMOUNT, such as cpu=200m; memory=300Mi")
        measured = Measured(container, rest)
        if measured in courses:
            raise CourseError(f"{name.strip()} is there twice")
        if len(courses) == _MAX_NAMES:
            raise CourseError(f"it has more than {_MAX_NAMES} names")
        try:
            courses[measured] = read_course(course)
        except CourseError as error:
            raise CourseError(f"{name.strip()}: {error}") from None
    return courses


def courses_of(metadata: ObjectMeta, annotation: str) -> Courses:
    """Return what an annotation says; nothing if it is absent or cannot be read."""
    text = metadata.annotations.get(annotation)
    if not text:
        return _NOTHING
    try:
        return read_courses(text)
    except CourseError:
        return _NOTHING


def since(metadata: ObjectMeta, otherwise: float) -> float:
    """Return when the times of an object's courses begin."""
    text = metadata.annotations.get(SINCE)
    given = seconds_of(text) if text else None
    return otherwise if given is None else given


def problems(metadata: ObjectMeta) -> Iterator[tuple[str, str]]:
    """Yield each annotation that cannot be read, and why."""
    for annotation in (USAGE, LOAD, METRICS):
        if text := metadata.annotations.get(annotation):
            try:
                read_courses(text)
            except CourseError as error:
                yield annotation, str(error)
    if (text := metadata.annotations.get(SINCE)) and seconds_of(text) is None:
        yield SINCE, "it is no time such as 2026-01-01T10:00:00Z"


class Series(NamedTuple):
    """One external metric: its name, labels and course."""

    name: str
    labels: Mapping[str, str]
    course: Course


@reads_text('a{b="c"} ', "1", "\n", "{", "}", ",", '"', "=", "#", raises=CourseError, longest=_MAX_TEXT)
@lru_cache(maxsize=256)
def read_series(text: str) -> tuple[Series, ...]:
    """Parse external metrics, a line each: `name{label="value"} COURSE`. Raises CourseError."""
    if len(text) > _MAX_TEXT:
        raise CourseError(f"it has {len(text):,} characters; {_MAX_TEXT:,} are read")
    return tuple(
        _series(line, number)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def _series(line: str, number: int) -> Series:
    head, bracket, rest = line.strip().partition("{")
    labels: dict[str, str] = {}
    if bracket and not any(blank in head for blank in " \t"):
        listed, closing, course = rest.partition("}")
        for label in listed.split(",") if listed.strip() else ():
            key, _, value = (part.strip() for part in label.partition("="))
            if not _is_name(key) or len(value) < 2 or value[0] != '"' or value[-1] != '"':
                raise CourseError(f'line {number}: labels are written {{queue="tasks"}}')
            labels[key] = value[1:-1]
        if not closing:
            raise CourseError(f'line {number}: labels are written {{queue="tasks"}}')
    else:
        head, _, course = line.strip().partition(" ")
    if not _is_name(head) or not course.strip():
        raise CourseError(f'line {number} is not written NAME{{LABEL="VALUE"}} AMOUNT')
    try:
        return Series(head, labels, read_course(course.strip()))
    except CourseError as error:
        raise CourseError(f"line {number}: {error}") from None
