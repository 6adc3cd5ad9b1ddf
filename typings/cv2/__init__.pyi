"""The part of OpenCV that secondface uses, with the type of the pixels kept.

OpenCV's own stubs give every result as an array of any number, so that each call would need a cast.
What is not listed here is untyped: add it when it is first used.
"""

from collections.abc import Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

_T = TypeVar("_T", bound=np.generic)
_Any = npt.NDArray[Any]
_Size = Sequence[int]
_Scalar = Sequence[float] | float

BORDER_CONSTANT: int
BORDER_REFLECT_101: int
BORDER_REPLICATE: int
CC_STAT_AREA: int
CMP_NE: int
COLOR_LAB2RGB: int
COLOR_RGB2GRAY: int
COLOR_RGB2LAB: int
CV_16U: int
CV_32F: int
CV_8U: int
DIST_L2: int
IMREAD_COLOR: int
IMWRITE_JPEG_QUALITY: int
INTER_AREA: int
INTER_CUBIC: int
INTER_LANCZOS4: int
INTER_LINEAR: int
INTER_NEAREST: int
LINE_8: int
LINE_AA: int
MORPH_ELLIPSE: int
ROTATE_180: int
ROTATE_90_CLOCKWISE: int
ROTATE_90_COUNTERCLOCKWISE: int
TM_CCOEFF_NORMED: int
WARP_INVERSE_MAP: int

class FontFace:
    def __init__(self, fontPathOrName: str = ...) -> None: ...

class Subdiv2D:
    def __init__(self, rect: Sequence[int]) -> None: ...
    def insert(self, pt: Sequence[float] | Sequence[Sequence[float]]) -> int | None: ...
    def getTriangleList(self) -> npt.NDArray[np.float32]: ...

def GaussianBlur(
    src: npt.NDArray[_T],
    ksize: _Size,
    sigmaX: float,
    dst: npt.NDArray[_T] | None = None,
    sigmaY: float = 0,
    borderType: int = ...,
) -> npt.NDArray[_T]: ...
def LUT(src: npt.NDArray[np.uint8], lut: npt.NDArray[_T], dst: npt.NDArray[_T] | None = None) -> npt.NDArray[_T]: ...
@overload
def add(
    src1: npt.NDArray[_T], src2: _Any | _Scalar, dst: npt.NDArray[_T] | None = None, mask: _Any | None = None
) -> npt.NDArray[_T]: ...
@overload
def add(
    src1: _Any, src2: _Any | _Scalar, dst: _Any | None = None, mask: _Any | None = None, *, dtype: int
) -> _Any: ...
def addWeighted(
    src1: npt.NDArray[_T], alpha: float, src2: npt.NDArray[_T], beta: float, gamma: float
) -> npt.NDArray[_T]: ...
def bitwise_and(src1: npt.NDArray[_T], src2: npt.NDArray[_T]) -> npt.NDArray[_T]: ...
def bitwise_not(src: npt.NDArray[_T]) -> npt.NDArray[_T]: ...
def bitwise_or(src1: npt.NDArray[_T], src2: npt.NDArray[_T]) -> npt.NDArray[_T]: ...
def blur(
    src: npt.NDArray[_T], ksize: _Size, dst: npt.NDArray[_T] | None = None, borderType: int = ...
) -> npt.NDArray[_T]: ...
def boundingRect(array: _Any) -> tuple[int, int, int, int]: ...
def compare(src1: _Any, src2: _Any | _Scalar, cmpop: int) -> npt.NDArray[np.uint8]: ...
def connectedComponentsWithStats(
    image: npt.NDArray[np.uint8], connectivity: int = 8
) -> tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]: ...
def convexHull(points: npt.NDArray[_T]) -> npt.NDArray[_T]: ...
def copyMakeBorder(
    src: npt.NDArray[_T],
    top: int,
    bottom: int,
    left: int,
    right: int,
    borderType: int,
    dst: npt.NDArray[_T] | None = None,
    value: _Scalar = ...,
) -> npt.NDArray[_T]: ...
def copyTo(src: npt.NDArray[_T], mask: _Any, dst: npt.NDArray[_T] | None = None) -> npt.NDArray[_T]: ...
def cvtColor(
    src: npt.NDArray[_T], code: int, dst: npt.NDArray[_T] | None = None, dstCn: int = 0
) -> npt.NDArray[_T]: ...
def dilate(
    src: npt.NDArray[_T],
    kernel: _Any,
    dst: npt.NDArray[_T] | None = None,
    anchor: Sequence[int] = ...,
    iterations: int = 1,
    borderType: int = ...,
) -> npt.NDArray[_T]: ...
def distanceTransform(
    src: npt.NDArray[np.uint8], distanceType: int, maskSize: int
) -> npt.NDArray[np.float32]: ...
def divide(src1: npt.NDArray[_T], src2: npt.NDArray[_T], scale: float = 1) -> npt.NDArray[_T]: ...
def erode(
    src: npt.NDArray[_T],
    kernel: _Any,
    dst: npt.NDArray[_T] | None = None,
    anchor: Sequence[int] = ...,
    iterations: int = 1,
    borderType: int = ...,
) -> npt.NDArray[_T]: ...
def exp(src: npt.NDArray[_T], dst: npt.NDArray[_T] | None = None) -> npt.NDArray[_T]: ...
def fillConvexPoly(
    img: npt.NDArray[_T], points: npt.NDArray[np.int32], color: _Scalar, lineType: int = ..., shift: int = 0
) -> npt.NDArray[_T]: ...
def fillPoly(
    img: npt.NDArray[_T],
    pts: Sequence[npt.NDArray[np.int32]],
    color: _Scalar,
    lineType: int = ...,
    shift: int = 0,
) -> npt.NDArray[_T]: ...
def filter2D(
    src: _Any, ddepth: int, kernel: _Any, anchor: Sequence[int] = ..., delta: float = 0, borderType: int = ...
) -> npt.NDArray[np.float32]: ...
def flip(src: npt.NDArray[_T], flipCode: int) -> npt.NDArray[_T]: ...
def getStructuringElement(shape: int, ksize: _Size) -> npt.NDArray[np.uint8]: ...
def hasNonZero(src: _Any) -> bool: ...
def imdecode(buf: npt.NDArray[np.uint8], flags: int) -> npt.NDArray[np.uint8] | None: ...
def imencode(ext: str, img: _Any, params: Sequence[int] = ...) -> tuple[bool, npt.NDArray[np.uint8]]: ...
def imread(filename: str, flags: int = ...) -> npt.NDArray[np.uint8] | None: ...
def imwrite(filename: str, img: _Any, params: Sequence[int] = ...) -> bool: ...
def log(src: npt.NDArray[_T], dst: npt.NDArray[_T] | None = None) -> npt.NDArray[_T]: ...
def matchTemplate(image: npt.NDArray[_T], templ: npt.NDArray[_T], method: int) -> npt.NDArray[np.float32]: ...
def max(src1: npt.NDArray[_T], src2: npt.NDArray[_T] | _Scalar) -> npt.NDArray[_T]: ...
def merge(mv: Sequence[npt.NDArray[_T]], dst: npt.NDArray[_T] | None = None) -> npt.NDArray[_T]: ...
def min(src1: npt.NDArray[_T], src2: npt.NDArray[_T] | _Scalar) -> npt.NDArray[_T]: ...
def multiply(
    src1: npt.NDArray[_T], src2: npt.NDArray[_T] | _Scalar, dst: npt.NDArray[_T] | None = None, scale: float = 1
) -> npt.NDArray[_T]: ...
@overload
def putText(
    img: npt.NDArray[_T],
    text: str,
    org: Sequence[int],
    fontFace: int,
    fontScale: float,
    color: _Scalar,
    thickness: int = 1,
    lineType: int = ...,
) -> npt.NDArray[_T]: ...
@overload
def putText(
    img: npt.NDArray[_T], text: str, org: Sequence[int], color: _Scalar, fface: FontFace, size: int, weight: int = 0
) -> tuple[Sequence[int], npt.NDArray[_T]]: ...
def pyrDown(
    src: npt.NDArray[_T], dst: npt.NDArray[_T] | None = None, dstsize: _Size = ..., borderType: int = ...
) -> npt.NDArray[_T]: ...
def pyrUp(
    src: npt.NDArray[_T], dst: npt.NDArray[_T] | None = None, dstsize: _Size = ..., borderType: int = ...
) -> npt.NDArray[_T]: ...
def remap(
    src: npt.NDArray[_T],
    map1: _Any,
    map2: _Any | None,
    interpolation: int,
    dst: npt.NDArray[_T] | None = None,
    borderMode: int = ...,
    borderValue: _Scalar = ...,
) -> npt.NDArray[_T]: ...
def resize(
    src: npt.NDArray[_T],
    dsize: _Size | None,
    dst: npt.NDArray[_T] | None = None,
    fx: float = 0,
    fy: float = 0,
    interpolation: int = ...,
) -> npt.NDArray[_T]: ...
def rotate(src: npt.NDArray[_T], rotateCode: int) -> npt.NDArray[_T]: ...
def scaleAdd(
    src1: npt.NDArray[_T], alpha: float, src2: npt.NDArray[_T], dst: npt.NDArray[_T] | None = None
) -> npt.NDArray[_T]: ...
def split(m: npt.NDArray[_T]) -> Sequence[npt.NDArray[_T]]: ...
def sqrt(src: npt.NDArray[_T], dst: npt.NDArray[_T] | None = None) -> npt.NDArray[_T]: ...
def subtract(
    src1: npt.NDArray[_T], src2: npt.NDArray[_T] | _Scalar, dst: npt.NDArray[_T] | None = None
) -> npt.NDArray[_T]: ...
def transform(src: npt.NDArray[_T], m: _Any, dst: npt.NDArray[_T] | None = None) -> npt.NDArray[_T]: ...
def warpAffine(
    src: npt.NDArray[_T],
    M: _Any,
    dsize: _Size,
    dst: npt.NDArray[_T] | None = None,
    flags: int = ...,
    borderMode: int = ...,
    borderValue: _Scalar = ...,
) -> npt.NDArray[_T]: ...
def __getattr__(name: str) -> Any: ...
