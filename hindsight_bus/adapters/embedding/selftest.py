"""Does a model still mean what it meant? A dozen sentences, each with one that says the same and one that does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hindsight_bus.ports import Vectors

TRIPLES = (
    ("用户喜欢喝咖啡", "用户爱喝咖啡", "服务器每晚两点备份"),
    ("用户住在北京", "用户的家在北京市", "会议改到周三下午"),
    ("客户希望用中文回复", "客户要求中文答复", "用户对花生过敏"),
    ("张三在腾讯工作", "张三是腾讯的员工", "导出文件保存为表格"),
    ("The user likes coffee", "The user enjoys drinking coffee", "Backups run at two at night"),
    ("The user lives in Berlin", "The user's home is in Berlin", "The invoice is due in May"),
    ("Alice works at Google", "Alice is a Google employee", "The meeting room is on the third floor"),
    ("Deploys happen on Friday", "We release every Friday", "The user is allergic to peanuts"),
    ("用户喜欢喝咖啡", "The user likes coffee", "The database listens on port 5432"),
    ("The user lives in Beijing", "用户住在北京", "服务器每晚两点备份"),
    ("会议在周一上午", "The meeting is on Monday morning", "The user prefers a dark theme"),
    ("The customer speaks French", "客户说法语", "导出文件保存为表格"),
)


def failures(encode: Callable[[list[str]], Vectors]) -> int:
    """Return how many of the dozen put the other meaning as near as the same one; 0 = the model works.

    ``encode`` returns float32, shape (n, d), L2-normalised. Cost: 36 short texts.
    """
    vectors = encode([text for triple in TRIPLES for text in triple])
    anchor, same, other = vectors[0::3], vectors[1::3], vectors[2::3]
    margins = np.sum(anchor * (same - other), axis=1)
    return int(np.count_nonzero(~(margins > 0.0)))
