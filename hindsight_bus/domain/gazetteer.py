"""Names that mean one thing in Chinese and English: cities, natural languages, employers, things people prefer.

A derived subject may replace a memory only where the value is known from here or is a plain proper name: Berlin and
Germany, Shanghai and Pudong, Google and YouTube are no contradictions. So the tables hold no countries, provinces,
districts, county-level cities, subsidiaries or namesakes. A line is one thing; its first form is its normal form.
"""

from __future__ import annotations

from hindsight_bus.domain.language import fold, simplify


def _index(listed: str) -> dict[str, str]:
    """Return folded form -> normal form, for forms between slashes and entries between semicolons."""
    entries = [[fold(form) for form in entry.split("/")] for entry in listed.split(";")]
    return {simplify(form): forms[0] for forms in entries for form in forms if form}


CITIES = _index("""
beijing/peking/北京; shanghai/上海; guangzhou/广州; shenzhen/深圳; hangzhou/杭州; nanjing/南京; chengdu/成都;
chongqing/重庆; wuhan/武汉; xi'an/xian/西安; tianjin/天津; suzhou/苏州; changsha/长沙; zhengzhou/郑州;
qingdao/青岛; dalian/大连; xiamen/厦门; ningbo/宁波; hefei/合肥; jinan/济南; shenyang/沈阳; harbin/哈尔滨;
changchun/长春; kunming/昆明; fuzhou/福州; wuxi/无锡; dongguan/东莞; foshan/佛山; zhuhai/珠海; guiyang/贵阳;
nanning/南宁; nanchang/南昌; taiyuan/太原; shijiazhuang/石家庄; lanzhou/兰州; haikou/海口; sanya/三亚;
urumqi/乌鲁木齐; lhasa/拉萨; hohhot/呼和浩特; yinchuan/银川; xining/西宁; wenzhou/温州; hong kong/香港;
macau/macao/澳门; taipei/台北; kaohsiung/高雄; taichung/台中; tainan/台南; hsinchu/新竹; singapore/新加坡;
tokyo/东京; osaka/大阪; kyoto/京都; yokohama/横滨; nagoya/名古屋; sapporo/札幌; fukuoka/福冈; seoul/首尔;
busan/釜山; bangkok/曼谷; kuala lumpur/吉隆坡; jakarta/雅加达; manila/马尼拉; hanoi/河内;
ho chi minh city/胡志明市; delhi/德里; mumbai/孟买; bangalore/bengaluru/班加罗尔; dubai/迪拜;
istanbul/伊斯坦布尔; tel aviv/特拉维夫; cairo/开罗; nairobi/内罗毕; lagos/拉各斯; cape town/开普敦;
johannesburg/约翰内斯堡; london/伦敦; manchester/曼彻斯特; edinburgh/爱丁堡; glasgow/格拉斯哥; bristol/布里斯托;
leeds/利兹; dublin/都柏林; paris/巴黎; lyon/里昂; marseille/马赛; toulouse/图卢兹; berlin/柏林;
munich/münchen/慕尼黑; hamburg/汉堡; frankfurt/frankfurt am main/法兰克福; cologne/köln/科隆;
stuttgart/斯图加特; düsseldorf/dusseldorf/杜塞尔多夫; leipzig/莱比锡; dresden/德累斯顿; potsdam/波茨坦;
vienna/wien/维也纳; zurich/zürich/苏黎世; geneva/日内瓦; basel/巴塞尔; bern/伯尔尼; amsterdam/阿姆斯特丹;
rotterdam/鹿特丹; the hague/海牙; brussels/布鲁塞尔; antwerp/安特卫普; madrid/马德里; barcelona/巴塞罗那;
valencia/瓦伦西亚; seville/塞维利亚; lisbon/里斯本; porto/波尔图; rome/罗马; milan/米兰; turin/都灵;
florence/佛罗伦萨; naples/那不勒斯; venice/威尼斯; athens/雅典; prague/布拉格; warsaw/华沙;
krakow/kraków/克拉科夫; budapest/布达佩斯; bucharest/布加勒斯特; sofia/索菲亚; belgrade/贝尔格莱德;
zagreb/萨格勒布; stockholm/斯德哥尔摩; oslo/奥斯陆; copenhagen/哥本哈根; helsinki/赫尔辛基;
reykjavik/雷克雅未克; tallinn/塔林; riga/里加; vilnius/维尔纽斯; moscow/莫斯科;
saint petersburg/st. petersburg/圣彼得堡; kyiv/kiev/基辅; new york city/new york/nyc/纽约; los angeles/洛杉矶;
san francisco/三藩市/旧金山; san diego/圣地亚哥; seattle/西雅图; boston/波士顿; chicago/芝加哥; austin/奥斯汀;
houston/休斯顿; dallas/达拉斯; denver/丹佛; atlanta/亚特兰大; miami/迈阿密; philadelphia/费城; phoenix/凤凰城;
washington dc/washington d.c/washington, d.c/washington, dc; las vegas/拉斯维加斯; toronto/多伦多;
vancouver/温哥华; montreal/montréal/蒙特利尔; ottawa/渥太华; calgary/卡尔加里; mexico city/墨西哥城;
bogota/bogotá/波哥大; lima/利马; buenos aires/布宜诺斯艾利斯; são paulo/sao paulo/圣保罗;
rio de janeiro/里约热内卢; sydney/悉尼; melbourne/墨尔本; brisbane/布里斯班; perth/珀斯; auckland/奥克兰;
wellington/惠灵顿
""")

COUNTRIES = frozenset(
    "australia austria belgium brazil canada china czechia denmark finland france germany greece hungary india ireland "
    "italy japan mexico netherlands norway poland portugal scotland england spain sweden switzerland thailand turkey "
    "uk usa vietnam".split()
) | {"united kingdom", "united states", "south korea", "the netherlands", "new zealand"}
"""What may follow a city's name after a comma."""

LANGUAGES = _index("""
en/english/英语/英文; zh/chinese/mandarin/mandarin chinese/中文/汉语/普通话/国语/华语; ja/japanese/日语/日文;
ko/korean/韩语/韩文; de/german/德语/德文; fr/french/法语/法文; es/spanish/西班牙语/西班牙文;
it/italian/意大利语; pt/portuguese/葡萄牙语; ru/russian/俄语/俄文; ar/arabic/阿拉伯语; hi/hindi/印地语;
nl/dutch/荷兰语; pl/polish/波兰语; sv/swedish/瑞典语; da/danish/丹麦语; fi/finnish/芬兰语; tr/turkish/土耳其语;
vi/vietnamese/越南语; th/thai/泰语; uk/ukrainian/乌克兰语; cs/czech/捷克语; el/greek/希腊语; he/hebrew/希伯来语;
hu/hungarian/匈牙利语; id/indonesian/印尼语
""")

EMPLOYERS = _index("""
google/谷歌; microsoft/微软; apple/苹果; amazon/亚马逊; meta/facebook/脸书; netflix/奈飞; tesla/特斯拉;
nvidia/英伟达; intel/英特尔; ibm/国际商业机器; oracle/甲骨文; sap/思爱普; siemens/西门子; bosch/博世; bmw/宝马;
samsung/三星; sony/索尼; toyota/丰田; honda/本田; tencent/腾讯; alibaba/阿里巴巴/阿里; bytedance/字节跳动/字节;
baidu/百度; huawei/华为; xiaomi/小米; meituan/美团; jd.com/jd/京东; netease/网易; pinduoduo/拼多多;
didi/滴滴/滴滴出行; kuaishou/快手; xiaohongshu/小红书; bilibili/哔哩哔哩/b站; lenovo/联想; byd/比亚迪;
tsmc/台积电; foxconn/富士康; oppo; vivo; dji/大疆; stripe; spotify; airbnb/爱彼迎; uber/优步; openai; anthropic;
salesforce; adobe; shopify; goldman sachs/高盛; morgan stanley/摩根士丹利; mckinsey/麦肯锡; deloitte/德勤;
pwc/普华永道; kpmg/毕马威; ey/ernst & young/安永; unilever/联合利华
""")

SUBSIDIARIES = frozenset(
    "youtube deepmind waymo android instagram whatsapp github linkedin xbox azure aws twitch tiktok douyin wechat "
    "alphabet aliyun taobao tmall alipay".split()
)
"""Names that are no rival to another employer's, since the other owns them."""

TOPICS: dict[str, dict[str, str]] = {
    "preference.presentation": _index("""
        table/tables/表格; bar chart/bar charts/bar graph/bar graphs/柱状图/条形图;
        line chart/line charts/折线图/曲线图; pie chart/pie charts/饼图/饼状图;
        bullet points/bullets/bullet lists/要点列表; prose/paragraphs/plain text/纯文字
    """),
    "preference.language": _index("""
        python; go/golang; rust; java; javascript; typescript; kotlin; swift; c++; c#; ruby; scala; php; julia;
        haskell
    """),
    "preference.theme": _index("""
        dark/dark mode/dark theme/dark themes/深色模式/暗色模式/深色主题/暗色主题/夜间模式;
        light/light mode/light theme/light themes/浅色模式/亮色模式/浅色主题/亮色主题/日间模式
    """),
    "preference.answer_length": _index("""
        short/short answers/concise answers/brief answers/short replies/concise replies/brief replies/
        short responses/concise responses/
        简短的回答/简洁的回答/简短回答/简洁回答/
        简短的回复/简洁的回复/简短回复/简洁回复;
        long/detailed answers/long answers/detailed replies/detailed responses/detailed explanations/
        详细的回答/详细回答/详细的回复/详细回复/详细的解释
    """),
    "preference.contact": _index("""
        email/e-mail/emails/电子邮件/邮件; phone/phone calls/by phone/电话; sms/text messages/短信; wechat/微信
    """),
    "preference.seat": _index("""
        window/window seat/window seats/靠窗座位/靠窗的座位/靠窗;
        aisle/aisle seat/aisle seats/靠过道座位/靠过道的座位/靠过道
    """),
    "preference.units": _index("""
        metric/metric units/公制/公制单位; imperial/imperial units/英制/英制单位
    """),
    "preference.indentation": _index("""
        tabs/tabs for indentation/制表符; spaces/spaces for indentation/空格
    """),
}
"""Subject -> folded form -> normal form of what can be preferred there."""
