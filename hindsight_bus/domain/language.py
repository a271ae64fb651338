"""Which language a text is in, told by its script, and the form in which texts are compared."""

from __future__ import annotations

import re
import unicodedata

_KANA = r"\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_HANGUL = r"\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_LATIN = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"

_UNITS = re.compile(
    rf"(?P<kana>[{_KANA}])|(?P<han>[{_HAN}])|(?P<hangul>[{_HANGUL}])"
    rf"|(?P<english>(?<![{_LATIN}])[A-Za-z]+(?![{_LATIN}]))|(?P<latin>[{_LATIN}]+)"
    r"|(?P<other>[^\W\d_])"
)
_LETTER = re.compile("[A-Za-z]")
_PLAIN = re.compile(r"[\x00-\x7f\u4e00-\u9fff\u3001\u3002\u201c\u201d\u2014\u2018\u2019]*")
"""What most texts are of: characters that have no other form but upper and lower case."""
_FORMAT_CHARACTERS = re.compile(r"[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")

# Characters that the rules of this package and common names are written with; not a converter.
_TRADITIONAL = (
    "於個們來說話語國學習時間區東職業機對歡謝沒問題嗎請氣關係當錯厲見開為這還無從過現經點後會動種類樣設計邊"
    "簡詳細報導電腦視頻網頁檔範圍顏預覽寫讀聽買賣車鐵馬鳥魚門長萬與專華應變實際廣廈漢瀋陽蘇錫濟寧臺灣貴蘭"
    "烏魯爾濱倫紐約羅韓聯聖喬葉楊陳張劉趙黃孫許鄧馮蔣賈鄭鐘譚賴龍騰訊團亞遜軟蘋聞銀遷離辭換嶼頓溫戶歲號愛"
    "圖條狀餅線圓給壓縮幫確認議覺極讚淺綠紅藍郵側飛體醫藥術飲澤煩囉嘆輕級緊處樂觀組織義務優鍵盤傳標單雙兩"
    "舊熱涼鮮雞麵麼曆慶寶島頭產紙製書館園廳縣鄉鎮莊齊嶽巖"
)
_SIMPLIFIED = (
    "于个们来说话语国学习时间区东职业机对欢谢没问题吗请气关系当错厉见开为这还无从过现经点后会动种类样设计边"
    "简详细报导电脑视频网页档范围颜预览写读听买卖车铁马鸟鱼门长万与专华应变实际广厦汉沈阳苏锡济宁台湾贵兰"
    "乌鲁尔滨伦纽约罗韩联圣乔叶杨陈张刘赵黄孙许邓冯蒋贾郑钟谭赖龙腾讯团亚逊软苹闻银迁离辞换屿顿温户岁号爱"
    "图条状饼线圆给压缩帮确认议觉极赞浅绿红蓝邮侧飞体医药术饮泽烦啰叹轻级紧处乐观组织义务优键盘传标单双两"
    "旧热凉鲜鸡面么历庆宝岛头产纸制书馆园厅县乡镇庄齐岳岩"
)
_TO_SIMPLIFIED = str.maketrans(_TRADITIONAL, _SIMPLIFIED)


UNKNOWN = "und"
"""ISO 639 for a language that could not be told."""


def detect(text: str) -> str:
    """Return ``zh``, ``en``, ``ja``, ``ko`` or ``und``, told by script alone; O(n).

    Han, kana and Hangul count by character, Latin by word, since a Han character carries about a word's worth: in a
    mixed text the larger count wins, East Asian script on a tie. Enough kana among the Han makes it Japanese (Japanese
    in Han alone reads as ``zh``). Latin is ``en`` unless more than a third of the words have letters beyond A-Z, so
    an unaccented sentence in another Latin-script language reads as ``en``; every other script is ``und``.
    """
    if text.isascii():
        return "en" if _LETTER.search(text) else UNKNOWN
    count = dict.fromkeys(("kana", "han", "hangul", "english", "latin", "other"), 0)
    for unit in _UNITS.finditer(text):
        count[unit.lastgroup or "other"] += 1
    east_asian = count["kana"] + count["han"]
    words = count["english"] + count["latin"]
    most = max(east_asian, count["hangul"], words, count["other"])
    if most == 0 or most == count["other"]:
        return UNKNOWN
    if most == east_asian:
        return "ja" if count["kana"] * 4 > count["han"] else "zh"
    if most == count["hangul"]:
        return "ko"
    return UNKNOWN if count["latin"] * 3 > words else "en"


def primary(tag: str) -> str:
    """Return the language of a BCP 47 tag without region and script: ``zh`` of ``zh-Hant-TW``."""
    return tag.partition("-")[0].lower()


def fold(text: str) -> str:
    """Return the form in which texts are compared; idempotent, O(n).

    Compatibility forms and case are folded (Unicode's NFKC_Casefold, so full-width letters are plain ones), invisible
    format characters dropped, white space collapsed to single spaces. Punctuation stays: ``C``, ``C#`` and ``C++``
    differ.
    """
    return " ".join(folded_parts(text))


def folded_parts(text: str) -> list[str]:
    """Return what stands between white space in ``fold(text)``."""
    if text.isascii() or _PLAIN.fullmatch(text):
        return text.casefold().split()
    return _nfkc_casefold(_FORMAT_CHARACTERS.sub("", text)).split()


def _nfkc_casefold(text: str) -> str:
    once = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
    return unicodedata.normalize("NFKC", once.casefold())


def simplify(text: str) -> str:
    """Return ``text`` with common traditional Chinese characters replaced by simplified ones, one for one.

    The table covers the words of the rules and common names, not the language: use it to compare, never to show.
    """
    return text.translate(_TO_SIMPLIFIED)
