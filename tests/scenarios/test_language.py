"""Messages in the user's language."""

from __future__ import annotations

import pytest

from tests.scenarios.conftest import World


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        ((), {"LC_ALL": "zh_CN.UTF-8"}),
        ((), {"LC_ALL": "", "LANG": "zh_CN.UTF-8", "LANGUAGE": ""}),
        ((), {"SECONDFACE_LANG": "zh"}),
        (("--lang", "zh"), {}),
    ],
)
def test_an_error_in_chinese(secondface: World, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    told = secondface("run", *arguments, "-s", "gone.jpg", "-t", secondface.person_b, "-o", "out.png", **environment)
    assert told.code == 4
    assert "错误：某个文件无法读取。" in told.err
    assert "请检查路径及其权限。" in told.err


def test_english_without_a_wish(secondface: World) -> None:
    told = secondface("run", "-s", "gone.jpg", "-t", secondface.person_b, "-o", "out.png", LC_ALL="de_DE.UTF-8")
    assert "error: A file cannot be read." in told.err
