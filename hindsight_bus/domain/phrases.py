"""The words of the rule reflector, in Chinese and English. Quoted reports are cut to one short, printable line."""

from __future__ import annotations

from collections.abc import Mapping

from hindsight_bus.domain.failures import ErrorClass
from hindsight_bus.domain.findings import Finding, Rule
from hindsight_bus.domain.trajectory import excerpt
from hindsight_bus.domain.values import Value

_REPORT_CHARS = 140
_NAME_CHARS = 64


class Phrases(Value):
    """Templates of one language. Fields: what, report, kind, times, seconds, remedy, change."""

    facts: Mapping[Rule, str]
    actions: Mapping[Rule, str]
    results: Mapping[Rule, str]
    advices: Mapping[Rule, str]
    remedies: Mapping[ErrorClass, str]
    """What to do about a failure of each class."""
    kinds: Mapping[ErrorClass, str]
    nameless: str
    """What stands for an attempt without a name."""
    silent: str
    """What stands for a report without words."""
    then: str
    called: str
    changed: str
    again: str
    retry: str
    """Advice where nothing but trying again helped."""
    has_failed: str
    form: str
    """Of a whole lesson. Fields: situation, action, result, lesson."""

    def fact(self, finding: Finding) -> str:
        """Return what was effective or ineffective."""
        return self.facts[finding.rule].format_map(self._fields(finding))

    def action(self, finding: Finding) -> str:
        """Return what was done."""
        return self.actions[finding.rule].format_map(self._fields(finding))

    def result(self, finding: Finding, *, has_failed: bool) -> str:
        """Return what came of it."""
        result = self.results[finding.rule].format_map(self._fields(finding))
        return f"{result}{self.has_failed}" if has_failed and finding.rule is not Rule.UNEXPLAINED else result

    def advice(self, finding: Finding) -> str:
        """Return what to do next time."""
        fields = self._fields(finding)
        if finding.rule is Rule.RECOVERED and not (finding.remedy or finding.changed):
            return self.retry.format_map(fields)
        return self.advices[finding.rule].format_map(fields)

    def whole(self, situation: str, action: str, result: str, lesson: str) -> str:
        """Return a lesson as one text."""
        return self.form.format(situation=situation, action=action, result=result, lesson=lesson)

    def advice_in(self, whole: str) -> str:
        """Return what a lesson says to do, from its text as one; all of it where it has another form."""
        label = self.form.partition("{result}")[2].partition("{lesson}")[0]
        return whole.rpartition(label)[2]

    def _fields(self, finding: Finding) -> dict[str, object]:
        what = excerpt(finding.what, _NAME_CHARS) or self.nameless
        return {
            "what": what,
            "report": excerpt(finding.report, _REPORT_CHARS) or self.silent,
            "kind": self.kinds[finding.failure],
            "cure": self.remedies[finding.failure].format(what=what),
            "times": finding.times,
            "seconds": round(finding.duration_ms / 1000),
            "remedy": self._remedy(finding),
            "path": self.then.join(excerpt(each, _NAME_CHARS) for each in finding.remedy),
        }

    def _remedy(self, finding: Finding) -> str:
        if finding.remedy:
            return self.called.format(
                tools=self.then.join(excerpt(each, _NAME_CHARS) for each in finding.remedy)
            )
        if finding.changed:
            return self.changed.format(change=excerpt(finding.changed, _REPORT_CHARS))
        return self.again


def phrases_in(language: str) -> Phrases:
    """Return the words for a task in ``language``: Chinese for ``zh``, else English."""
    return CHINESE if language == "zh" else ENGLISH


ENGLISH = Phrases(
    facts={
        Rule.FAILED: "{what} failed ({kind}, {times}x): {report}",
        Rule.COMPLAINT: "Feedback after {what}: {report}",
        Rule.RECOVERED: "{what} failed ({kind}) and worked {remedy}",
        Rule.REPEATED: "{what} was called {times} times with the same arguments and the same answer",
        Rule.SLOW: "{what} took {seconds} s, most of the time of all calls",
        Rule.UNEXPLAINED: "The task failed and no step says why; {what} came last",
        Rule.PRAISE: "Approved after {what}: {report}",
        Rule.SUCCEEDED: "It worked by {path}",
    },
    actions={
        Rule.FAILED: "tried {what}",
        Rule.COMPLAINT: "answered after {what}",
        Rule.RECOVERED: "tried {what}, which failed ({kind}: {report})",
        Rule.REPEATED: "tried {what} {times} times with the same arguments",
        Rule.SLOW: "tried {what}",
        Rule.UNEXPLAINED: "{what} came last",
    },
    results={
        Rule.FAILED: "it failed {times}x ({kind}: {report})",
        Rule.COMPLAINT: "the answer was turned down: {report}",
        Rule.RECOVERED: "it worked {remedy}",
        Rule.REPEATED: "the answer was the same each time",
        Rule.SLOW: "it took {seconds} s",
        Rule.UNEXPLAINED: "the task failed and no step says why",
    },
    advices={
        Rule.FAILED: "{cure}",
        Rule.COMPLAINT: "Before answering, check against this feedback: {report}",
        Rule.RECOVERED: "When {what} fails ({kind}), it works {remedy}; do that first",
        Rule.REPEATED: "Do not call {what} again with the same arguments: change them, or take another way",
        Rule.SLOW: "Plan for about {seconds} s of {what}, or ask it for less at once",
        Rule.UNEXPLAINED: "Check the result of {what} before going on, and record what the outcome is judged by",
    },
    remedies={
        ErrorClass.AUTHENTICATION: "Check token and credentials, or renew them, before {what}",
        ErrorClass.PERMISSION: "Make sure of the permission that {what} needs first; do not repeat the call",
        ErrorClass.RATE_LIMIT: "Use {what} less often, and wait before trying again",
        ErrorClass.TIMEOUT: "Ask {what} for less at once, or give it more time",
        ErrorClass.NOT_FOUND: "Look up that what {what} is asked for exists first",
        ErrorClass.CONFLICT: "Read the present state just before {what}",
        ErrorClass.EXHAUSTED: "Keep within the limits of {what}: check size and what is left first",
        ErrorClass.UNAVAILABLE: "Check that {what} can be reached; wait and try again a few times, or take another way",
        ErrorClass.INVALID_INPUT: "Check the arguments against what {what} expects first",
        ErrorClass.OTHER: "Find out why {what} fails before it is tried again",
    },
    kinds={each: each.value.replace("-", " ") for each in ErrorClass},
    nameless="the last step",
    silent="no details",
    then=" then ",
    called="after {tools}",
    changed="with {change}",
    again="when tried again unchanged",
    retry="When {what} fails ({kind}), try again: it works",
    has_failed="; the task failed",
    form="Situation: {situation}. Action: {action}. Result: {result}. Lesson: {lesson}.",
)

CHINESE = Phrases(
    facts={
        Rule.FAILED: "{what} 失败({kind},{times} 次):{report}",
        Rule.COMPLAINT: "{what} 之后的反馈:{report}",
        Rule.RECOVERED: "{what} 先失败({kind}),{remedy}后成功",
        Rule.REPEATED: "{what} 以相同参数调用了 {times} 次,结果都一样",
        Rule.SLOW: "{what} 耗时 {seconds} 秒,占了调用时间的大部分",
        Rule.UNEXPLAINED: "任务失败,但没有步骤说明原因;最后一步是 {what}",
        Rule.PRAISE: "{what} 之后得到认可:{report}",
        Rule.SUCCEEDED: "按 {path} 的顺序完成",
    },
    actions={
        Rule.FAILED: "尝试 {what}",
        Rule.COMPLAINT: "在 {what} 之后作答",
        Rule.RECOVERED: "尝试 {what},失败({kind}:{report})",
        Rule.REPEATED: "以相同参数尝试 {what} {times} 次",
        Rule.SLOW: "尝试 {what}",
        Rule.UNEXPLAINED: "最后一步是 {what}",
    },
    results={
        Rule.FAILED: "失败 {times} 次({kind}:{report})",
        Rule.COMPLAINT: "未被接受:{report}",
        Rule.RECOVERED: "{remedy}后成功",
        Rule.REPEATED: "每次结果都一样",
        Rule.SLOW: "耗时 {seconds} 秒",
        Rule.UNEXPLAINED: "任务失败,没有步骤说明原因",
    },
    advices={
        Rule.FAILED: "{cure}",
        Rule.COMPLAINT: "作答前先对照这条反馈检查:{report}",
        Rule.RECOVERED: "{what} 失败({kind})时,{remedy}即可成功;下次先这样做",
        Rule.REPEATED: "不要再以相同参数调用 {what}:换参数或换方法",
        Rule.SLOW: "为 {what} 预留约 {seconds} 秒,或一次少取一些",
        Rule.UNEXPLAINED: "继续之前先检查 {what} 的结果,并记录判断成败的依据",
    },
    remedies={
        ErrorClass.AUTHENTICATION: "{what} 之前先确认令牌和凭证有效,必要时先刷新",
        ErrorClass.PERMISSION: "{what} 之前先确认具备所需权限,不要重复调用",
        ErrorClass.RATE_LIMIT: "降低使用 {what} 的频率,稍等再试",
        ErrorClass.TIMEOUT: "一次向 {what} 少要一些,或给它更长的时间",
        ErrorClass.NOT_FOUND: "{what} 之前先查明目标确实存在",
        ErrorClass.CONFLICT: "{what} 之前先读取当前状态",
        ErrorClass.EXHAUSTED: "{what} 之前先检查大小和余量,不要超出限制",
        ErrorClass.UNAVAILABLE: "先确认 {what} 可以访问;稍等重试几次,或换一种方法",
        ErrorClass.INVALID_INPUT: "{what} 之前先按要求检查参数",
        ErrorClass.OTHER: "先查明 {what} 失败的原因再调用",
    },
    kinds={
        ErrorClass.AUTHENTICATION: "认证失败",
        ErrorClass.PERMISSION: "权限不足",
        ErrorClass.RATE_LIMIT: "限流",
        ErrorClass.TIMEOUT: "超时",
        ErrorClass.NOT_FOUND: "不存在",
        ErrorClass.CONFLICT: "冲突",
        ErrorClass.EXHAUSTED: "资源或限额不足",
        ErrorClass.UNAVAILABLE: "不可用",
        ErrorClass.INVALID_INPUT: "参数有误",
        ErrorClass.OTHER: "其他错误",
    },
    nameless="上一步",
    silent="没有细节",
    then=" → ",
    called="先调用 {tools} ",
    changed="改用 {change} ",
    again="原样重试",
    retry="{what} 失败({kind})时,直接重试即可",
    has_failed=";任务失败",
    form="情境:{situation}。行动:{action}。结果:{result}。教训:{lesson}。",
)
