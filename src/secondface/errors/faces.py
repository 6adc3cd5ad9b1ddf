"""Pixels that do not hold the faces that were asked for."""

from __future__ import annotations

from secondface.errors.tree import SecondfaceError


class FaceProblem(SecondfaceError):
    """The pictures do not hold the faces that were asked for.

    Use a picture in which the face is larger, sharper or turned more towards the camera.
    """

    code = "face_problem"
    fault = "caller"


class NoFaceInSource(FaceProblem):
    """No face was found in a source picture.

    Use a picture with one clear face, at least 64 pixels wide, turned towards the camera.
    """

    code = "no_face_in_source"


class NoFaceInTarget(FaceProblem):
    """No face was found in the target.

    Check the target, choose other faces with --faces, or pass --allow-no-face to keep it unchanged.
    API: Check the target, choose other faces with `faces`, or set `allow_no_face` to keep it unchanged.
    """

    code = "no_face_in_target"


class ReferenceFaceNotFound(FaceProblem):
    """Nobody in the target looks like the reference picture.

    Take the reference from the target itself, or choose faces by position with --faces left-to-right.
    API: Take the reference from the target itself, or choose faces by position with `faces`, such as left-to-right.
    """

    code = "reference_face_not_found"
