"""Damaged and lying copies of real media files, each made from one number, so that any can be made again."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_MARKS = (
    b"ftyp", b"moov", b"mvhd", b"trak", b"tkhd", b"mdhd", b"hdlr", b"dref", b"stbl", b"stsd", b"stts", b"ctts", b"stsc",
    b"stsz", b"stco", b"elst", b"mdat", b"moof", b"trun", b"avc1", b"avcC", b"hvcC", b"av1C", b"meta", b"iloc", b"iprp",
    b"ispe", b"IHDR", b"PLTE", b"IDAT", b"iCCP", b"eXIf", b"acTL", b"fcTL", b"fdAT", b"VP8X", b"VP8L", b"VP8 ", b"ANMF",
    b"ALPH", b"Exif", b"ICC_PROFILE", b"\xff\xc0", b"\xff\xc2", b"\xff\xc4", b"\xff\xdb", b"\xff\xda", b"\xff\xe1",
    b"\x16\x54\xae\x6b", b"\x1f\x43\xb6\x75", b"\xae", b"\xa3", b"\x2c\x00\x00", b"\x21\xf9", b"\x00\x00\x01",
)  # fmt: skip
"""Before, in or after these lie lengths, counts and sizes."""
_PNG = b"\x89PNG\r\n\x1a\n"
_EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Original:
    """A sound file that copies are made of."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Mutant:
    """A damaged copy: `seed` makes it again from the same originals."""

    seed: int
    name: str
    kind: str
    content: bytes


def mutant(seed: int, originals: Sequence[Original]) -> Mutant:
    """The damaged copy number `seed`; up to three kinds of damage at once."""
    chance = random.Random(seed)
    original = chance.choice(originals)
    content = bytearray(original.content)
    kinds = chance.choices(list(_KINDS), k=chance.choice((1, 1, 1, 1, 2, 3)))
    for kind in kinds:
        if content:
            _KINDS[kind](content, chance, originals)
    if content.startswith(_PNG) and chance.random() < 0.8:
        _sign_chunks(content)
    return Mutant(seed, original.name, "+".join(kinds), bytes(content))


def _sign_chunks(content: bytearray) -> None:
    """Make the checksums of a PNG right again: damage that they betray goes no further than they do."""
    at = len(_PNG)
    while at + 12 <= len(content):
        end = at + 8 + int.from_bytes(content[at : at + 4], "big")
        if end + 4 > len(content):
            return
        content[end : end + 4] = zlib.crc32(content[at + 4 : end]).to_bytes(4, "big")
        at = end + 4


def _place(content: bytearray, chance: random.Random) -> int:
    """A position, more often near the start, where headers are."""
    end = len(content) if chance.random() < 0.7 else min(len(content), chance.choice((64, 512, 4096)))
    return chance.randrange(end)


def _flip(content: bytearray, chance: random.Random, _: Sequence[Original]) -> None:
    for _time in range(chance.choice((1, 2, 8, 40))):
        content[_place(content, chance)] ^= 1 << chance.randrange(8)


def _cut(content: bytearray, chance: random.Random, _: Sequence[Original]) -> None:
    del content[chance.randrange(len(content)) :]


def _splice(content: bytearray, chance: random.Random, originals: Sequence[Original]) -> None:
    other = chance.choice(originals).content
    start, length = chance.randrange(len(other)), chance.choice((4, 64, 1024, 16384))
    at = _place(content, chance)
    part = other[start : start + length]
    content[at : at + (len(part) if chance.random() < 0.7 else 0)] = part


def _lose(content: bytearray, chance: random.Random, _: Sequence[Original]) -> None:
    at = _place(content, chance)
    del content[at : at + chance.choice((1, 4, 100, 5000))]


def _repeat(content: bytearray, chance: random.Random, _: Sequence[Original]) -> None:
    at, length = _place(content, chance), chance.choice((8, 200, 4096))
    content[at:at] = content[at : at + length] * chance.choice((1, 20))


def _length_lie(content: bytearray, chance: random.Random, _: Sequence[Original]) -> None:
    found = [at for mark in _MARKS if (at := content.find(mark, chance.randrange(len(content) // 2 + 1))) >= 4]
    if found:
        at = chance.choice(found) - 4
        content[at : at + 4] = chance.choice(_EXTREMES).to_bytes(4, "big")


def _field_lie(content: bytearray, chance: random.Random, _: Sequence[Original]) -> None:
    found = [at for mark in _MARKS if (at := content.find(mark)) >= 0] or [0]
    size = chance.choice((1, 2, 4, 4, 8))
    at = chance.choice(found) + chance.randrange(2, 80)
    value = chance.choice(_EXTREMES) & ((1 << 8 * size) - 1)
    if at + size <= len(content):
        content[at : at + size] = value.to_bytes(size, chance.choice(("big", "little")))


_KINDS: dict[str, Callable[[bytearray, random.Random, Sequence[Original]], None]] = {
    "flip": _flip, "cut": _cut, "splice": _splice, "lose": _lose, "repeat": _repeat, "length lie": _length_lie,
    "field lie": _field_lie,
}  # fmt: skip
