"""What all texts of an embedding model have in common, whatever they say, and vectors without it.

Models squeeze their vectors together: two unrelated Chinese texts have a cosine of 0.82 in e5, two English ones 0.75,
and a text in one language is further from its translation than from most others in its own. Nearly all of that lies in
as many directions as there are languages. Without those of Chinese and English unrelated texts have from 0 to 0.13 in
common, within a language and across, and meaning decides (Mu and Viswanath, "All-but-the-Top", 2018; Yang et al., "A
Simple and Effective Method To Eliminate the Self Language Bias in Multilingual Representations", 2021).
"""

from __future__ import annotations

import base64
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", np.float32, np.float64)

_LEAST = 1e-2
"""Length of what is left of a unit vector below which rounding may turn it."""


class Common:
    """Directions that vectors of one embedding profile are compared without."""

    def __init__(self, directions: NDArray[np.floating]) -> None:
        """Take ``directions``, shape (k, d), linearly independent; where k is 0 vectors stay as they are."""
        self._directions = np.linalg.qr(directions.astype(np.float64).T)[0].T

    def fits(self, dimension: int) -> bool:
        """Tell whether anything is taken off vectors of a dimension."""
        return len(self._directions) > 0 and self._directions.shape[1] == dimension

    def without(self, vectors: NDArray[F]) -> NDArray[F]:
        """Return unit vectors, shape (d,) or (n, d), with nothing in these directions and of length 1 again.

        Those of another dimension, and those that are nothing else, stay as they are. What is without it already does
        not change, and a row does not depend on the others. Numbers stay float32 or float64, as they came.
        """
        if not self.fits(vectors.shape[-1]):
            return vectors
        rest = vectors.copy()
        for direction in self._directions.astype(vectors.dtype):
            rest -= np.einsum("...j,j->...", rest, direction)[..., None] * direction
        length = np.sqrt(np.einsum("...j,...j->...", rest, rest))[..., None]
        return np.where(length > _LEAST, rest / np.maximum(length, _LEAST), vectors)


NOTHING = Common(np.zeros((0, 0)))
"""For profiles that nobody looked into."""

E5 = Common(
    np.frombuffer(
        base64.b64decode(
            """
8qtrI7glUCzRrZEfLyPvp1Otj5n/qIohiq0wHdUstadHrPoppSUcLHyolRXPKuKqFKxvqVsr06iWqjctsym3KTyr1iqQrHiqZitUKwapFCzXJOem
Rqp5rsWo3apVKvGqcixrJ3cnnKoFpQuqTaJ4LEom5S2cLVysYa2hpKSjLadvrpyq+KuRqsonnhvZKC6tN6FDKX6ggx0dq/MoYqhAK58t9ikTKaCn
kSx2qc6q/SpIqn2dYKpzrJslKysLLS0rDSoCqQesXh0zrGMqYR/7LKgrIKwLrPEstaj1KjEquKncqKSqZizEKZQdtSwfq5QroaV6KqIohyA9LMsr
uqv7qI0n4RpHqNunYqBGp4GmL63hKjKkbiYyKYcnjakcKyOpUallqBSs/yqerL8rL6UdK96rcKkErLcpwygWKxOr46pEK0YtMS03KB8tUywyp5+s
HiuZIJUjUqmyKKWlu5purIUl3Q3Qrl2rWyGjJ4crpCqsKhgoCCjGpvuk1pyOHwyrACuPKn4qo5ltKlWrYqnMqvmifCpapSunI6qgHfYtv6hZKqup
k6iOK3csLawvLaqgh59Rq9Mp5aHAqGogOKMzLq4nCKsNqkYqoCpsqLYpuSWDKxYtDiw7LTGke6hAqwAtXqW2Kw6gdyxordwp6ig2qTIgzamJqJYs
yCnJLDcl7qnqrLCt0CiDqM2leh4qriarSKxwpAws+iSlLJ8mLyr9pNutnizGKk0pdqs0rzsr9ygpqiuo6KcNqR+sLCg+J+ynRSlZJocj0CBOqJAr
8KmJpA8gKayZLd6pnyo4KKWqSp1rL3Cq+6OGiQqolau/raKruSksKDek+amCpOCn1yfKJ6oqwyceJ1YqkKv4pAwsvinFrSCoEaV6Jm0pBag/KV0p
ayx4qgEs6SqlpwGunx6iq6coOSwgp2AhHyffqf2mfCxpoTCrPyi3qV0rtiqSq5uqcy2yKKmqwKoPrE6nD5+CI8Gqqy1KrJ2pASyAIe0oZSxBLYyq
tCnzKrao8qz5qXqr6SMboyYc5iyHIUQspKKIJ4Qp3aoorC2sOip2LCmoD6ampjanxi6eHLQnuClZpkqoxibhr02iWSRKpPssrisbJiEfJioAJSmg
rSlDJ3Ks9KOZLIKhtR+PnPWrxynwKUEo46oyJtss5qn5Js6lw6zPIbAsuaPWmVMq66ExLa8o6aJhKO+rCiS4p3IosSbkLBErSCWmHqqm6K8cKIwo
UCcKqE2tUSVdK9Ok+KdnrtKl1CbEqkEuLaazKPosfSUCnbyiyih8qZ+prC4YnYsi0a+yLCCoJyyvJsmgjq1XJzyjHR+7piEl2xfEnnYtIq0hIXin
da6+olAsjyyRIEGtWSlYn4qwjKlsrXUcQKU8qMirC6r3oHcm96eLpAMtu6Qtobun06NOq+umsKlarJUjE6t4rK4kkirZA4ogsS9CJ78dHamyo8Oo
SiHyqbQeS62trA6m3SlaLF4vjysLHhOrJBwSJ+4qT697KFcpXCadJGyg/ilLJ2osKy1Zo5SdtSw+IWokT6YTLCEgnK8aI92ifauKKQ0pk6bvrF6m
1aY5rHaowqr9pr+po6u3KNckY55eqwUsoqfUpAQmZ6g+rukjPa4ppukuRyMdrrgpKCBcqm2oKCl6LQqmt6ogrecmRp/xHhWoby+OrGuuaibNJmKo
jZVsKfqX36Tfm04lNySunMYoqiEWIwkoXyiWIzGlsJ11HLMqrh7LrcAnOCjRJMEkzy23qrUu4KDJJjAgNCjtKgupWyX2IYck5qjArGenlaigpHer
0ioQKbklujEKpemis6k5peSmqhCSr5amP6k5LoUjwa0drhYqJCDVr1MoxyjyK+Yn0yicooCuzq2eK/ckVhydLt8pECx7qKYkpCgArMGpq6RVKgwn
BaeEJNwlEqWXKpajhq1sp+aeYSvzlh8wBS70JDmikSWUrjMmACy3H1qtzC4LpIwquyf9JNImn6CpKYUgjKjDomAlIJ+RKGmscy3xpvApqKRxIi+p
hKrjqIisgikDrm+qvymGJuGqjKWMomOh
"""
        ),
        "<f2",
    ).reshape(2, -1)
)
"""Chinese and English, as ``python -m bench.eval.common e5`` finds them."""
