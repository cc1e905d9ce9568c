"""The colours of the page: each is written once, in theme.css, and text can be read on what it stands on."""

import re
from collections import Counter
from itertools import chain, combinations
from math import dist
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[3] / "src" / "moorage" / "dashboard" / "web"
THEME = "styles/theme.css"
#: icon.svg is an image of its own: no style sheet of the page reaches it.
FILES = sorted(path.relative_to(WEB).as_posix() for path in WEB.rglob("*") if path.suffix in {".js", ".css", ".html"})
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_HEX = re.compile(r"#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b", re.IGNORECASE)
#: A private method or field of a class, or an address: `this.#add`, `#add() {`, "#/map".
_PRIVATE = re.compile(r"(?:this|\w)\.#\w+|^\s+(?:static )?#\w+\b", re.MULTILINE)
_FUNCTION = re.compile(r"\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\((?!\$)[^)]*\d", re.IGNORECASE)
#: Three bytes in a list are a colour, too.
_BYTES = re.compile(r"\[\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\]")
_NAMES = (
    "aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood "
    "cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod "
    "darkgray darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon "
    "darkseagreen darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray "
    "dimgrey dodgerblue firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green "
    "greenyellow grey honeydew hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon "
    "lightblue lightcoral lightcyan lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon "
    "lightseagreen lightskyblue lightslategray lightslategrey lightsteelblue lightyellow lime limegreen linen "
    "magenta maroon mediumaquamarine mediumblue mediumorchid mediumpurple mediumseagreen mediumslateblue "
    "mediumspringgreen mediumturquoise mediumvioletred midnightblue mintcream mistyrose moccasin navajowhite navy "
    "oldlace olive olivedrab orange orangered orchid palegoldenrod palegreen paleturquoise palevioletred papayawhip "
    "peachpuff peru pink plum powderblue purple rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown "
    "seagreen seashell sienna silver skyblue slateblue slategray slategrey snow springgreen steelblue tan teal "
    "thistle tomato turquoise violet wheat white whitesmoke yellow yellowgreen"
).replace(" ", "|")
_NAMED_IN_STYLES = re.compile(rf"(?<![\w-])(?:{_NAMES})(?![\w-])", re.IGNORECASE)
#: In scripts names of colours are words as well: only what is set as a colour counts.
_NAMED_IN_SCRIPTS = re.compile(
    rf"(?:[cC]olou?r|fill|stroke|background|fillStyle|strokeStyle)\"?\s*[:=]\s*[\"'](?:{_NAMES})[\"']"
)
_VARIABLE = re.compile(r"^\s*--(?P<name>[\w-]+): (?P<value>[^;]+);", re.MULTILINE)
_PAIR = re.compile(r"light-dark\((?P<light>[^,]+), (?P<dark>[^)]+(?:\([^)]*\))?)\)")
_OTHER = re.compile(r"var\(--(?P<name>[\w-]+)\)")


def text(path: str) -> str:
    return _COMMENT.sub("", (WEB / path).read_text(encoding="utf-8"))


def literals(path: str, content: str) -> list[str]:
    """Return the colours that a file writes itself."""
    if path.endswith(".css"):
        values = " ".join(value for _, value in re.findall(r"([\w-]+)\s*:\s*([^;{}]+)[;}]", content))
        return [*_HEX.findall(values), *_FUNCTION.findall(values), *_NAMED_IN_STYLES.findall(values)]
    content = _PRIVATE.sub("", content)
    return [
        *_HEX.findall(content),
        *_FUNCTION.findall(content),
        *_BYTES.findall(content),
        *_NAMED_IN_SCRIPTS.findall(content),
    ]


def theme(half: str) -> dict[str, str]:
    """Return the colours of theme.css by name, as one of the two themes has them."""
    written = {found["name"]: found["value"] for found in _VARIABLE.finditer(text(THEME))}
    colours: dict[str, str] = {}
    for name, value in written.items():
        pair = _PAIR.fullmatch(value)
        chosen = pair[half] if pair else value
        while other := _OTHER.fullmatch(chosen):
            chosen = written[other["name"]]
        if _HEX.fullmatch(chosen):
            colours[name] = chosen
    return colours


def luminance(colour: str) -> float:
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("path", [path for path in FILES if path != THEME])
def test_colours_are_written_in_the_theme_only(path: str) -> None:
    assert literals(path, text(path)) == []


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.css", "p { color: #fff; }"),
        ("a.css", "p { border: 1px solid Red; }"),
        ("a.css", "p { background: rgb(1 2 3 / 4%) }"),
        ("a.js", 'context.fillStyle = "#10161d";'),
        ("a.js", "mix(tile, [16, 26, 36])"),
        ("a.js", 'h("i", {style: {color: "red"}})'),
        ("a.js", 'hsl("hsl(10, 20%, 30%)")'),
    ],
)
def test_a_colour_elsewhere_is_noticed(path: str, content: str) -> None:
    assert literals(path, content)


def test_each_colour_is_written_once() -> None:
    content = text(THEME)
    counted = Counter(colour.lower() for colour in _HEX.findall(content))
    assert {colour for colour, times in counted.items() if times > 1} == set()
    assert _FUNCTION.findall(content) == []
    assert _NAMED_IN_STYLES.findall(" ".join(found["value"] for found in _VARIABLE.finditer(content))) == []


SURFACES = ("page", "surface", "sunken")
TONES = ("good", "warn", "bad", "info")
#: What is written as text, and on what.
TEXT = [
    *((ink, on) for ink in ("ink", "muted", "faint", "accent", *TONES) for on in SURFACES),
    *((tone, f"{tone}-soft") for tone in TONES),
    *(("ink", f"{tone}-soft") for tone in (*TONES, "accent")),
    ("accent", "accent-soft"),
    ("muted", "accent-soft"),
    ("accent-ink", "accent"),
]
#: What is a sign beside text: borders of fields, marks, dots.
SIGNS = [
    *((sign, on) for sign in ("line-strong", "mark", "accent") for on in ("page", "surface")),
    *(("dot", on) for on in ("page", "tile")),
]


@pytest.mark.parametrize("half", ["light", "dark"])
def test_text_and_signs_stand_out(half: str) -> None:
    colours = theme(half)
    asked = chain(((pair, 4.5) for pair in TEXT), ((pair, 3.0) for pair in SIGNS))
    weak = {
        pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2)
        for pair, least in asked
        if contrast(colours[pair[0]], colours[pair[1]]) < least
    }
    assert weak == {}


@pytest.mark.parametrize("half", ["light", "dark"])
def test_the_ramp_goes_one_way(half: str) -> None:
    colours = theme(half)
    steps = [luminance(colours[f"ramp-{step}"]) for step in range(5)]
    assert steps == sorted(steps, reverse=half == "light")


def test_contrast_is_counted_as_wcag_does() -> None:
    assert round(contrast("#000000", "#ffffff"), 2) == 21
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48


#: What people see who lack one sort of cones (Machado, Oliveira, Fernandes 2009), of linear red, green and blue.
_VISIONS = {
    "all cones": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
_LMS = ((0.41222147, 0.53633254, 0.05144599), (0.2119035, 0.68069955, 0.10739696), (0.08830246, 0.28171884, 0.6299787))
_LAB = (
    (0.21045426, 0.79361779, -0.00407205),
    (1.9779985, -2.42859221, 0.45059371),
    (0.02590404, 0.78277177, -0.80867577),
)
#: Least distance in OKLab of two colours of dots: about that of neighbours in the palette of Okabe and Ito.
_APART = 0.09
#: … and for those who see all hues: side by side their dots are told apart at a glance.
_WELL_APART = 0.15
#: Lightness in OKLab: below it every hue looks black, above it white.
_DARKEST, _LIGHTEST = 0.42, 0.95


def product(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(one * other for one, other in zip(row, vector, strict=True)) for row in matrix]


def seen(colour: str, vision: str) -> list[float]:
    """Return where a colour is in OKLab for a sort of vision."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    linear = [min(1.0, max(0.0, part)) for part in product(_VISIONS[vision], linear)]
    return product(_LAB, [max(0.0, part) ** (1 / 3) for part in product(_LMS, linear)])


def nearest(colours: list[str], vision: str) -> float:
    """Return how far the two colours that are nearest to each other are apart."""
    return min(dist(seen(one, vision), seen(other, vision)) for one, other in combinations(colours, 2))


@pytest.mark.parametrize("vision", _VISIONS)
@pytest.mark.parametrize("half", ["light", "dark"])
def test_dots_of_the_map_are_told_apart(half: str, vision: str) -> None:
    colours = theme(half)
    dots = [*(colours[f"pod-{index}"] for index in range(8)), colours["line-strong"]]
    assert nearest(dots, vision) > _APART
    assert min(contrast(dot, colours["surface"]) for dot in dots) >= 3


@pytest.mark.parametrize("half", ["light", "dark"])
def test_dots_of_the_map_have_hues(half: str) -> None:
    dots = [theme(half)[f"pod-{index}"] for index in range(8)]
    assert nearest(dots, "all cones") > _WELL_APART
    assert [dot for dot in dots if not _DARKEST < seen(dot, "all cones")[0] < _LIGHTEST] == []


def test_colours_that_some_cannot_tell_apart_are_noticed() -> None:
    red_and_green = ["#c0392b", "#6b7a2b"]
    assert nearest(red_and_green, "all cones") > _APART > nearest(red_and_green, "deuteranopia")
