"""Write what an agent learnt, find it again, and see what happens when another agent disagrees.

hbus serve                       # in one terminal
python remember.py               # in another
"""

import sys

import hbus

FACTS = "user:zhangsan:facts"


def main(target: str) -> None:
    """Let two agents of one user tell the bus what they think."""
    with hbus.connect(target, agent="support") as support, hbus.connect(target, agent="orders") as orders:
        stored = support.write(
            FACTS, "用户偏好用表格展示对比数据", subject="preference.presentation", confidence=0.85
        )
        print("support:", hbus.label(hbus.Decision, stored.decision), stored.reason)

        other = orders.write(FACTS, "用户更喜欢柱状图", subject="preference.presentation", confidence=0.6)
        print("orders: ", hbus.label(hbus.Decision, other.decision), other.reason)
        print("  it is", hbus.label(hbus.MemoryState, other.memory.state))

        # `after` makes the search see that write, on whatever server it lands.
        for hit in orders.search(FACTS, "对比数据该怎么展示?", after=other.token).hits:
            print(f"  {hit.score:.2f}  {hit.memory.text}")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["127.0.0.1:50051"])
