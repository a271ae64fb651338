"""Subjects are derived where the text is plain about one fact of the user, and never on a guess."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain.derivation import SINGLE_VALUED, Derivation, derive_subject
from hindsight_bus.domain.language import detect

KNOWN = {"k8s": "tool.kubernetes", "kubernetes": "tool.kubernetes", "payment service": "service.payment",
         "payment": "billing", "支付": "billing", "支付服务": "service.payment", "c": "c",
         "c#": "lang.csharp"}  # fmt: skip


def derive(text: str, *, speaker_is_user: bool = False) -> Derivation | None:
    return derive_subject(text, detect(text), {}, speaker_is_user=speaker_is_user)


CERTAIN = [
    ("The user lives in Berlin.", "home", "berlin"),
    ("user lives in berlin, Germany", "home", "berlin"),
    ("User currently lives in NYC", "home", "new york city"),
    ("I live in Köln", "home", "cologne"),
    ("The user has moved to Munich", "home", "munich"),
    ("The user moved from Berlin to Munich last month.", "home", "munich"),
    ("I’ve just moved to Paris", "home", "paris"),
    ("The user no longer lives in Rome; now lives in Milan", "home", "milan"),
    ("This user's place of residence is Tokyo", "home", "tokyo"),
    ("用户住在上海", "home", "shanghai"),
    ("用户现居深圳市。", "home", "shenzhen"),
    ("用戶住在臺北", "home", "taipei"),
    ("用户住在 Berlin", "home", "berlin"),
    ("用户从北京搬到了上海", "home", "shanghai"),
    ("用户最近搬到成都了", "home", "chengdu"),
    ("用户不再住在北京，现在住在上海。", "home", "shanghai"),
    ("我住在杭州", "home", "hangzhou"),
    ("User works at Google", "employer", "google"),
    ("The user now works for Microsoft.", "employer", "microsoft"),
    ("User works at Acme Corp.", "employer", "acme"),
    ("The user's new employer is Initech", "employer", "initech"),
    ("The user left Google and now works at Meta", "employer", "meta"),
    ("用户在腾讯工作", "employer", "tencent"),
    ("用户目前就职于谷歌", "employer", "google"),
    ("用戶在騰訊上班", "employer", "tencent"),
    ("用户从腾讯跳槽到字节跳动了", "employer", "bytedance"),
    ("用户已从百度离职，现在在华为工作", "employer", "huawei"),
    ("The user's name is Jane Doe", "name.latin", "jane doe"),
    ("用户的名字是张三", "name.han", "张三"),
    ("用户叫李小龙", "name.han", "李小龙"),
    ("The user's native language is Mandarin", "language.native", "zh"),
    ("用户的母语是普通话", "language.native", "zh"),
    ("The user prefers replies in German", "language.preferred", "de"),
    ("用户更喜欢用英语交流", "language.preferred", "en"),
    ("The user's time zone is Asia/Shanghai", "time_zone", "asia/shanghai"),
    ("The user's timezone: UTC+05:30", "time_zone.offset", "utc+05:30"),
    ("用户的时区是GMT+8", "time_zone.offset", "utc+08:00"),
    ("用户在东八区", "time_zone.offset", "utc+08:00"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "subject", "value"), CERTAIN)
def test_plain_facts_have_a_single_valued_subject(text: str, subject: str, value: str) -> None:
    """One whole sentence about the user, with a value that is certain, may replace an older one."""
    found = derive(text)
    assert found is not None
    assert (found.subject, found.value, found.single_valued) == (subject, value, True)


NEVER_SINGLE = {
    "another person": [
        "Her brother lives in Berlin", "The user's wife lives in Berlin", "The user's dog's name is Max Power",
        "Zhang San lives in Berlin", "He works at Google", "The users live in Berlin",
        "The user's boss works at Meta",
        "用户的妈妈住在上海", "用户妈妈住在上海", "张三住在上海", "他在腾讯工作", "用户的朋友叫王小明",
        "用户们住在上海", "用户A住在上海",
    ],
    "negation": [
        "The user does not live in Berlin", "The user doesn't work at Google",
        "The user no longer lives in Berlin",
        "User never lived in Paris", "用户不住在上海", "用户没有住在上海", "用户不再在腾讯工作",
        "用户不叫张三", "用户的母语不是中文",
    ],
    "the past": [
        "The user used to live in Berlin", "The user lived in Berlin", "The user worked at Google",
        "The user moved to Berlin in 2015", "The user previously lived in Rome",
        "The user's former employer is Meta",
        "用户以前住在上海", "用户曾住在上海", "用户2015年搬到了上海", "用户之前在腾讯工作", "用户住过上海",
        "用户小时候住在上海",
    ],
    "plans and conditions": [
        "The user wants to move to Berlin", "The user is moving to Berlin", "The user will live in Berlin",
        "The user might work at Google", "If the user lives in Berlin", "The user is considering Meta",
        "User lives in Berlin if the visa is granted", "The user would like to live in Paris",
        "用户想搬到上海", "用户打算搬到上海", "用户将搬到上海", "用户可能住在上海", "如果用户住在上海",
        "用户计划入职腾讯", "用户希望住在上海",
    ],
    "questions": ["Does the user live in Berlin?", "The user lives in Berlin?", "用户住在上海吗",
    "用户住在上海吗？", "用户在腾讯工作吗"],
    "quotations": [
        '"The user lives in Berlin"', "The user said they live in Berlin", "The user asked about Berlin",
        "“用户住在上海”", "用户说他住在上海", "有人说用户住在上海", "据说用户住在上海",
    ],
    "two facts": [
        "The user lives in Berlin and works at Google", "The user lives in Berlin and Munich",
        "The user works at Google and Meta", "User also works at Meta",
        "The user lives in Berlin with his wife",
        "The user works at Google as an engineer", "The user works part-time at Google",
        "用户住在上海和北京", "用户住在上海，在腾讯工作", "用户同时在腾讯和百度工作", "用户还在百度工作",
        "用户在腾讯做产品经理",
    ],
    "temporary": [
        "The user lives in Berlin for the summer", "The user is staying in Berlin",
        "The user is in Berlin this week",
        "The user is currently in the Asia/Tokyo time zone", "The user is working at Starbucks",
        "用户这周住在上海", "用户出差住在上海", "用户暂时住在上海", "用户人在上海", "用户住在上海的酒店",
    ],
    "wider or narrower than another true value": [
        "User lives in Germany", "User lives in Brooklyn", "The user lives in London, Ontario",
        "User works at YouTube",
        "User works at Google Cloud", "用户住在浦东", "用户住在南京路", "用户住在上海浦东", "用户住在江苏",
        "用户在北京工作", "用户在一家互联网公司工作",
        "User works at Berlin", "User works at home", "用户在家上班", "用户在银行工作",
        "The user's name is Jane",
        "The user's name is Dr Jane Doe", "The user's name is Mr Doe",
    ],
    "not exclusive": [
        "The user speaks French", "用户会说法语", "User is a native Chinese speaker",
        "The user's preferred language is Python",
        "The user joined Spotify", "用户加入了小红书", "The user is based in Berlin",
        "The user is from Berlin", "用户来自上海",
        "用户的老家在上海", "用户喜欢用英语交流",
    ],
    "other readings": [
        "用户叫张三去开会", "用户叫王师傅", "用户叫小明", "用户叫车去机场", "用户叫方便面", "用户名是张三",
        "User name: Jane Doe",
        "The user moved to Python", "The user moved to a new team", "User left Google for Berlin",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", [text for texts in NEVER_SINGLE.values() for text in texts])
def test_what_is_not_plainly_so_never_replaces(text: str) -> None:
    """Others' facts, negations, the past, plans, questions, quotations, double and vague facts replace nothing."""
    found = derive(text)
    assert found is None or not found.single_valued


@pytest.mark.parametrize("text", ["My name is Hal Nine", "我叫张三", "I work at Google", "我在腾讯工作"])
def test_i_may_be_an_agent(text: str) -> None:
    """Names and jobs said in the first person are the user's only where the user speaks."""
    inferred, said = derive(text), derive(text, speaker_is_user=True)
    assert inferred is not None
    assert said is not None
    assert (inferred.single_valued, said.single_valued) == (False, True)


@pytest.mark.parametrize(
    "texts",
    [
        ("The user lives in New York", "用户住在纽约市", "User lives in NYC."),
        ("User works at Tencent", "用户在腾讯上班", "用戶就職於騰訊"),
        ("The user's native language is Chinese", "用户的母语是中文", "用户的母语是汉语"),
        ("The user's time zone is UTC+8", "用户的时区是UTC+08:00", "用户在东八区"),
        ("User works at Acme Inc.", "The user works at Acme", "The user currently works at ACME"),
    ],
)
def test_one_fact_in_other_words_has_one_value(texts: tuple[str, ...]) -> None:
    """Language, script, abbreviation and legal form do not make a difference."""
    assert len({(found.subject, found.value) for text in texts if (found := derive(text))}) == 1
    assert all(derive(text) for text in texts)


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        ("用户更喜欢柱状图", "preference.presentation", "bar chart"),
        ("用户偏好用表格展示对比数据", "preference.presentation", "table"),
        ("用戶更喜歡深色模式", "preference.theme", "dark"),
        ("The user prefers tables for comparison data.", "preference.presentation", "table"),
        ("User prefers Go over Python for backend services", "preference.language", "go"),
        ("User prefers trains over planes for business trips", "preference.business_trips", "trains"),
        ("User's favourite colour is blue", "preference.colour", "blue"),
        ("用户最喜欢的颜色是蓝色", "preference.颜色", "蓝色"),
        ("User lives in Germany", "home", "germany"),
        ("用户会说法语", "language.spoken", "fr"),
    ],
)
def test_other_facts_only_raise_suspicion(text: str, subject: str, value: str) -> None:
    """Preferences and uncertain values get a subject that can be compared, but not one that replaces."""
    found = derive(text)
    assert found is not None
    assert (found.subject, found.value, found.single_valued) == (subject, value, False)


@pytest.mark.parametrize(
    "text",
    ["用户不喜欢柱状图", "The user does not like tables", "Her sister prefers tables",
    "User prefers not to use tables",
     "The user prefers to go home early", "用户喜欢安静", "The deploy failed on Friday", "",
     "ユーザーは東京に住んでいます"],
)  # fmt: skip
def test_unsure_means_none(text: str) -> None:
    """No subject is better than a guessed one."""
    assert derive(text) is None


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("We deploy on K8S since May", "tool.kubernetes"),
        ("The payment service runs in two zones", "service.payment"),
        ("支付服务的超时是三秒", "service.payment"),
        ("我们在k8s上部署", "tool.kubernetes"),
        ("Written in C#, mostly", "lang.csharp"),
    ],
)
def test_the_longest_known_form_names_the_subject(text: str, subject: str) -> None:
    """Known subjects and aliases are found as whole words, folded, and never replace anything."""
    assert derive_subject(text, detect(text), KNOWN) == Derivation(subject, "", False, "known subject")


@pytest.mark.parametrize("text", ["prepayments were made", "mk8s2", "written in C", "nothing of note"])
def test_parts_of_words_and_single_letters_are_no_mention(text: str) -> None:
    """A form inside a longer word, or of one character, does not count."""
    assert derive_subject(text, "en", KNOWN) is None


def test_two_subjects_of_equal_length_leave_it_open() -> None:
    """Which of two the text is about cannot be told."""
    known = {"alpha": "project.a", "gamma": "project.g"}
    assert derive_subject("alpha waits for gamma", "en", known) is None


def test_a_rule_comes_before_a_known_subject() -> None:
    """What the sentence says outranks what it mentions."""
    found = derive_subject("The user lives in Berlin", "en", {"berlin": "office.berlin"})
    assert found is not None
    assert found.subject == "home"


def test_rules_follow_the_language() -> None:
    """A sentence that is declared to be in another language is left alone; region and script subtags are ignored."""
    assert derive_subject("The user lives in Berlin", "de", {}) is None
    assert derive_subject("用戶住在臺北", "zh-Hant-TW", {}) is not None


FRAGMENTS = st.sampled_from(
    ["the user", "user's", "I", "lives in", "Berlin", "moved", "from", "to", " ", ",", "and", "works at",
    "prefers",
     "over", "for", "用户", "我", "住在", "上海", "从", "搬到", "了", "在", "工作", "喜欢", "的", "，",
     "叫", "张三", "时区是", "UTC+8"]
)  # fmt: skip


@given(
    st.text(max_size=400) | st.lists(FRAGMENTS, max_size=60).map("".join),
    st.sampled_from(["zh", "en", "und"]),
)
def test_no_text_fails_and_only_the_closed_list_is_single_valued(text: str, language: str) -> None:
    """Any text gives a bounded subject or none, and single-valued ones are on the closed list with a value."""
    found = derive_subject(text, language, KNOWN)
    if found:
        assert 1 <= len(found.subject) <= 128
        assert not found.single_valued or (found.subject in SINGLE_VALUED and found.value)


@pytest.mark.parametrize(
    "text",
    ["the user moved from " + "to a " * 28, "the user left a" + " and a" * 24, "用户" + "从搬到" * 50,
     "用户不再住在" + "了，" * 70, "the user prefers " + "over for " * 15, "用户在" * 2700, "a" * 8192, "k8k8s" * 1600],
)  # fmt: skip
def test_hostile_texts_cost_no_more_than_others(text: str) -> None:
    """Texts made to mislead the patterns are read in milliseconds, up to 8 KiB."""
    started = time.process_time()
    for language in ("en", "zh"):
        derive_subject(text, language, KNOWN)
    assert time.process_time() - started < 0.25
