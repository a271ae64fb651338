"""Words that carry no meaning for retrieval: frequent, and in nearly every text."""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by can could
    did do does doing down during each few for from further get got had has have having he her here hers him his how
    i if in into is it its itself just let like me more most my no nor not now of off on once only or other our ours
    out over own please s same shall she should so some such t than that the their theirs them then there these they
    this those through to too under until up us very was we were what when where which while who whom whose why will
    with would you your yours
    """.split()
)

CHINESE = frozenset(
    """
    的 了 是 在 我 你 您 他 她 它 我们 你们 您们 他们 她们 它们 咱们 自己 这 那 这个 那个 这些 那些 这里
    那里 这样 那样 这么 那么 什么 怎么 怎样 怎么样 如何 为什么 为何 哪 哪个 哪些 哪里 谁 几 多少 吗 呢
    吧 啊 呀 哦 嗯 啦 嘛 哈 着 过 地 得 之 和 与 及 或 或者 以及 而 而且 但 但是 并 并且 不过 如果 因为
    所以 虽然 然后 还 还是 也 都 就 就是 才 又 再 很 非常 更 最 太 把 被 让 给 对 对于 关于 从 向 到 由
    于 以 为 为了 跟 比 一个 一些 一下 一 个 些 有 没有 没 不 要 会 能 可以 可能 应该 该 想 说 去 来 上
    下 里 中 时 时候 等 等等 请 请问 某 每 各 其 其中 此 已 已经 曾 曾经 正在 将 只 只是 那儿 这儿 呗 嘞
    哪儿
    """.split()
)
