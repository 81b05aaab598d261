"""Geometry: bundle adjustment, and a hand of bones and skin that follows points."""

from __future__ import annotations

from typing import Any

import numpy

from literature.corpus import Program

# Bundle adjustment. A camera is a rotation vector, a centre, a focal length, a principal point and two coefficients of
# radial distortion.


def rotated(np: Any, vectors: Any, x: Any) -> Any:
    """Points turned about vectors by their lengths."""
    angle = np.sqrt(np.sum(vectors**2, axis=1))[:, None]
    axis = vectors / angle
    along = np.sum(axis * x, axis=1)[:, None]
    return x * np.cos(angle) + np.cross(axis, x) * np.sin(angle) + axis * along * (1 - np.cos(angle))


def projected(np: Any, cameras: Any, x: Any) -> Any:
    """Where cameras see points."""
    local = rotated(np, cameras[:, :3], x - cameras[:, 3:6])
    flat = local[:, :2] / local[:, 2:3]
    square = np.sum(flat**2, axis=1)[:, None]
    bent = flat * (1 + cameras[:, 9:10] * square + cameras[:, 10:11] * square**2)
    return bent * cameras[:, 6:7] + cameras[:, 7:9]


def bundle(np: Any, parameters: Any, seen: Any, which: Any) -> Any:
    """Half the squares of the weighted errors of projection, and of what the weights lack of one."""
    cameras, points, weights = parameters
    errors = weights[:, None] * (projected(np, cameras[which[:, 0]], points[which[:, 1]]) - seen)
    return 0.5 * np.sum(errors**2) + 0.5 * np.sum((1 - weights**2) ** 2)


def bundle_data(rng: Any, cameras: int, points: int, seen: int) -> tuple:
    lens = [1.0, 0.1, 0.1, 0.02, 0.01]
    pose = numpy.concatenate([0.3 * rng.normal(size=(cameras, 6)), numpy.tile(lens, (cameras, 1))], axis=1)
    world = rng.normal(size=(points, 3)) + numpy.array([0.0, 0.0, 8.0])
    which = numpy.stack([rng.integers(0, cameras, seen), rng.integers(0, points, seen)], axis=1)
    return (pose, world, rng.uniform(0.5, 1.0, seen)), 0.3 * rng.normal(size=(seen, 2)), which


# A hand: a wrist and five fingers of four bones. Its pose is a turn and a shift of the whole, and four angles a finger.

PARENTS = (-1, *[0 if bone % 4 == 0 else bone for bone in range(20)])


def turn(np: Any, angles: Any) -> Any:
    """The rotation about the axes x, y and z, one after the other."""
    c, s = np.cos(angles), np.sin(angles)
    rows = [
        [c[1] * c[2], s[0] * s[1] * c[2] - c[0] * s[2], c[0] * s[1] * c[2] + s[0] * s[2]],
        [c[1] * s[2], s[0] * s[1] * s[2] + c[0] * c[2], c[0] * s[1] * s[2] - s[0] * c[2]],
        [-s[1], s[0] * c[1], c[0] * c[1]],
    ]
    return np.stack([entry for row in rows for entry in row]).reshape(3, 3)


def bones(np: Any, theta: Any, offsets: Any) -> tuple[list[Any], list[Any]]:
    """The rotations and the origins of the bones, along the chain of their parents."""
    turns, origins = [turn(np, 0 * theta[:3])], [offsets[0]]
    for bone in range(1, len(PARENTS)):
        finger, joint = divmod(bone - 1, 4)
        start, parent = 6 + 4 * finger, PARENTS[bone]
        bend = theta[start + joint] if joint < 3 else 0.5 * theta[start + 2]
        spread = theta[start + 3] if joint == 0 else 0 * theta[0]
        turns.append(turns[parent] @ turn(np, np.stack([bend, 0 * theta[0], spread])))
        origins.append(origins[parent] + turns[parent] @ offsets[bone])
    return turns, origins


def hand(np: Any, theta: Any, offsets: Any, base: Any, weights: Any, which: Any, points: Any) -> Any:
    """Half the squares of the distances of points from the vertices of the skin that belong to them.

    ``base`` has the vertices in the frame of each bone, at rest; skinning is the weighted mean over the bones.
    """
    turns, origins = bones(np, theta, offsets)
    local = np.einsum("bij,bvj->bvi", np.stack(turns), base) + np.stack(origins)[:, None, :]
    skin = np.einsum("bv,bvi->vi", weights, local)
    placed = skin @ turn(np, theta[:3]).T + theta[3:6]
    return 0.5 * np.sum((points - placed[which]) ** 2)


def hand_data(rng: Any, vertices: int, points: int) -> tuple:
    count = len(PARENTS)
    weights = rng.uniform(size=(count, vertices)) ** 8
    base = rng.normal(size=(count, vertices, 3))
    which = rng.integers(0, vertices, points)
    offsets = numpy.array([0.0, 1.0, 0.0]) + 0.2 * rng.normal(size=(count, 3))
    return 0.3 * rng.normal(size=26), offsets, base, weights / weights.sum(0), which, rng.normal(size=(points, 3))


VISION = (
    Program("bundle", bundle, bundle_data, "cameras points seen", (5, 40, 100), ((10, 100, 500), (20, 1000, 5000))),
    Program("hand", hand, hand_data, "vertices points", (50, 20), ((50, 20), (544, 200)), ("value", "grad", "hessian")),
)
