"""Telling that something failed, and in which way, by what it reported. Chinese and English."""

from __future__ import annotations

import re
from enum import Enum

from hindsight_bus.domain.tasks import Step, StepKind

_HEAD, _TAIL = 1_500, 500
"""Characters looked at from both ends of a report: errors stand there, and a report may be long."""


class ErrorClass(Enum):
    """In which way something failed: what there is to do about it."""

    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    RATE_LIMIT = "rate-limit"
    TIMEOUT = "timeout"
    NOT_FOUND = "not-found"
    CONFLICT = "conflict"
    EXHAUSTED = "exhausted"
    UNAVAILABLE = "unavailable"
    INVALID_INPUT = "invalid-input"
    OTHER = "other"


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


# The first that matches decides, so what is more specific stands first.
_CLASSES = (
    (
        ErrorClass.AUTHENTICATION,
        _any(
            r"\b401\b",
            r"unauthori[sz]ed|unauthenticated|authentication|not logged in|log ?in (?:first|required)",
            r"(?:token|session|credential|cookie|api[ _-]?key|password|signature)s?\W+(?:\w+\W+){0,3}?"
            r"(?:expired|invalid|missing|revoked|rejected|wrong|mismatch)",
            r"(?:expired|invalid|missing|revoked|bad)\W+(?:\w+\W+){0,2}?"
            r"(?:token|session|credential|api[ _-]?key|password|signature)",
            r"(?:令牌|凭证|凭据|会话|登录态|登录状态|密钥|密码|签名).{0,6}(?:过期|失效|无效|错误|缺失)|未登录|未认证|未授权|鉴权失败|认证失败|登录失败",
        ),
    ),
    (
        ErrorClass.PERMISSION,
        _any(
            r"\b403\b",
            r"forbidden|permission|access denied|not allowed|not permitted|unprivileged",
            r"权限|无权|禁止访问|拒绝访问",
        ),
    ),
    (
        ErrorClass.RATE_LIMIT,
        _any(r"\b429\b", r"rate.?limit|too many requests|throttl|quota", r"限流|频率|请求过多|过于频繁|配额"),
    ),
    (
        ErrorClass.TIMEOUT,
        _any(r"\b(?:408|504)\b", r"time[ -]?d? ?out|deadline exceeded|took too long", r"超时"),
    ),
    (
        ErrorClass.CONFLICT,
        _any(
            r"\b409\b",
            r"conflict|already (?:exists|in use|taken)|duplicate|stale|etag",
            r"冲突|已存在|重复|被占用",
        ),
    ),
    (
        ErrorClass.NOT_FOUND,
        _any(
            r"\b404\b",
            r"not[ -]?found|no such|does(?:n't| not) exist|unknown (?:\w+ )?(?:id|name|host|table|column|file)",
            r"ModuleNotFound|FileNotFound|ENOENT|undefined (?:name|variable)",
            r"不存在|找不到|未找到|没有找到|查无",
        ),
    ),
    (
        ErrorClass.EXHAUSTED,
        _any(
            r"out of memory|\boom\b|no space left|disk (?:is )?full|too (?:large|long|big)|limit exceeded|insufficient",
            r"内存不足|空间不足|磁盘已满|余额不足|库存不足|超出.{0,4}(?:限制|上限|长度)|过大|过长",
        ),
    ),
    (
        ErrorClass.UNAVAILABLE,
        _any(
            r"\b(?:500|502|503)\b",
            r"unavailable|connection|unreachable|network|refused|reset by peer|econn|internal server error|\bdns\b",
            r"不可用|连接|网络|宕机|维护中|服务器内部错误|服务异常",
        ),
    ),
    (
        ErrorClass.INVALID_INPUT,
        _any(
            r"\b(?:400|422)\b",
            r"invalid|malformed|missing|required|must be|expected|schema|validation|pars(?:e|ing)|syntax|format",
            r"(?:Value|Type|Key|Index|Attribute|Syntax)Error|unsupported|illegal|mismatch",
            r"无效|格式|参数|缺少|缺失|必填|不合法|非法|类型错误|解析|语法",
        ),
    ),
)

_REPORTS_FAILURE = re.compile(
    r"^[\s\[(*#>!-]*(?i:error|exception|traceback|fatal|failed|failure|denied|rejected)\b"
    r"|Traceback \(most recent call last\)"
    r"|\b[A-Z][A-Za-z]*(?:Error|Exception)\b"
    r"|\"(?:error|errors|exception)\"\s*:(?!\s*(?:null|\"\"|\[\s*\]|false|\{\s*\}|0\b))"
    r"|\"(?:success|ok)\"\s*:\s*false"
    r"|\"(?:code|errcode|errno)\"\s*:\s*\"?(?!0\b|2\d\d\b)\d+"
    r"|\b(?i:HTTP|status|code)[/\d.\s:=\"_a-z]{0,16}\b[45]\d\d\b"
    r"|\bexit(?:ed)?(?:\s+with)?(?:\s+(?:code|status))?[\s:=]+[1-9]"
    r"|\b(?i:failed to|unable to|could not|went wrong|try again later)\b"
    r"|\b(?i:permission denied|access denied|timed out|connection refused)\b"
    r"|^[\s\[(*#>!-]*(?:错误|失败|异常|报错)"
    r"|[\u4e00-\u9fff](?:失败|出错|报错|超时|异常)|错误码|拒绝访问|权限不足",
    re.MULTILINE,
)
_SHORT_CHARS = 200
# What says that something failed where it is all that a tool answered, and proves nothing within a longer text.
_REPORTS_BRIEFLY = _any(
    r"\"(?:valid|passed|accepted|available|found|approved)\"\s*:\s*false",
    r"\b(?:ImagePullBackOff|ErrImagePull|CrashLoopBackOff|OOMKilled|Evicted|NotReady|Unhealthy)\b",
    r"captcha|are you a robot|verify (?:that )?you are (?:a )?human|unusual traffic",
    r"\b(?:sold out|out of stock|not available|no longer available|currently unavailable|fully booked)\b",
    r"\b(?:declined|rejected|refused|bounced|undeliverable|returned to sender|aborted|cancelled by)\b",
    r"\b[1-9]\d* (?:failed|failures|errors)\b",
    r"验证码|滑块|人机验证|请先?登录",
    r"缺货|售罄|无货|已下架|已约满|已过期|已关闭",
    r"退回|拒收|驳回|被拒|未通过|不通过|不支持|不得|无法|未成功",
)
_SATISFIED = _any(
    r"\b(?:thanks?|thank you|great|good|perfect|nice|well done|excellent)\b",
    r"谢谢|很好|不错|满意|辛苦|棒|可以了",
)
_DISSATISFIED = _any(
    r"\b(?:wrong|incorrect|not what|not right|bad|useless|broken|unacceptable|missed|failed)\b",
    r"\b(?:disappoint|complain)\w*",
    r"\bdo(?:es)?(?:n't| not) (?:work|help|answer|match)|\bshould(?:n't| not) have|\bnever asked",
    r"不对|错了|有误|不满意|不是我要|没有解决|没解决|太差|失望|投诉|不应该|搞错|漏了|不准确|不正确",
)


def failure_of(step: Step) -> str:
    """Return what a tool call or an observation reports as its failure; empty where it reports none. O(1)."""
    if step.error.strip():
        return step.error
    if step.kind not in (StepKind.TOOL_CALL, StepKind.OBSERVATION):
        return ""
    report = step.result if step.kind is StepKind.TOOL_CALL else step.text
    seen = _ends_of(report)
    found = _REPORTS_FAILURE.search(seen)
    if found is None and len(seen) <= _SHORT_CHARS and _REPORTS_BRIEFLY.search(seen):
        return seen.lstrip()
    return seen[max(found.start(), 0) :].lstrip() if found else ""


def class_of(failure: str) -> ErrorClass:
    """Return in which way something failed, by its own report; O(1)."""
    seen = _ends_of(failure)
    return next((each for each, pattern in _CLASSES if pattern.search(seen)), ErrorClass.OTHER)


def is_dissatisfied(text: str) -> bool:
    """Tell whether unrated feedback is a complaint, by its words; O(n)."""
    return _DISSATISFIED.search(_ends_of(text)) is not None


def is_satisfied(text: str) -> bool:
    """Tell whether unrated feedback is praise, by its words; O(n)."""
    return not is_dissatisfied(text) and _SATISFIED.search(_ends_of(text)) is not None


def _ends_of(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
