#!/usr/bin/env python3
"""Writes the vectors of harmonycore/tokenizer/testdata.

    make vectors

runs it. The ids are openai-harmony's; tiktoken must agree, or the vector is
marked with an x (Unicode versions). The same seed gives the same files.

encode.txt   one vector a line, three columns with tabs between:
             kind   text   ids
  text is quoted as in Go, "..."*N for N times; ids are decimal, with spaces,
  ID,ID*N for N times those.
special.txt  the same, with every spelling of a control token made that token.
decode.txt   ids   text (replacement characters where it is not UTF-8)
"""
import itertools
import os
import random
import sys
from unicodedata import ucd_3_2_0 as unicodedata  # the same in every Python

import openai_harmony
import tiktoken
from tiktoken.load import load_tiktoken_bpe
import tiktoken_ext.openai_public as public

SEED = 20260101
base = os.environ["TIKTOKEN_ENCODINGS_BASE"]
out = sys.argv[1]
rng = random.Random(SEED)

public.load_tiktoken_bpe = lambda *a, **k: load_tiktoken_bpe(os.path.join(base, "o200k_base.tiktoken"))
tik = tiktoken.Encoding(**public.o200k_base())
har = openai_harmony.load_harmony_encoding(openai_harmony.HarmonyEncodingName.HARMONY_GPT_OSS)

NEW = ("N 10D40-10D49 116D0-116E3 11BF0-11BF9 16130-16139 16D70-16D79 1CCF0-1CCF9 1E5F1-1E5FA "
       "1C89-1C8A A7CB-A7CD A7DA-A7DC 105C0-105F3 10D4A-10D65 10D6F-10D85 10EC2-10EC4 11380-11389 1138B 1138E "
       "11390-113B5 113B7 113D1 113D3 11BC0-11BE0 13460-143FA 16100-1611D 16D40-16D6C 18CFF 1E5D0-1E5ED 1E5F0 "
       "2EBF0-2EE5D 0897 10D69-10D6D 10EFC 113B7-113C0 113C2 113C5 113C7-113CA 113CC-113D3 113E1-113E2 11F5A "
       "1611E-1612F 1E5EE-1E5EF A7DB").split()[1:]
SCRIPTS = {  # a stretch of ordinary text each, written for this file
    "english": "The quick brown fox can't believe it's already 12:34:56, we'll see what they've done. ",
    "german": "Größe, Straße und Übermut: „Ändern wir's heute?“ fragte der Maßschneider. ",
    "french": "L'été dernier, j'ai mangé des crêpes à Nîmes — c'était délicieux, n'est-ce pas ? ",
    "spanish": "¿Dónde está el niño? ¡Aquí, señor! Ñandú, pingüino y corazón. ",
    "turkish": "İstanbul'da ıspanak yiyen çocuk güldü; ŞİŞE, ığdır. ",
    "vietnamese": "Tiếng Việt có nhiều dấu thanh: ngã, hỏi, nặng, sắc và huyền. ",
    "polish": "Zażółć gęślą jaźń, bo Łódź leży nad rzeką. ",
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю! ",
    "ukrainian": "Їхав козак за Дунай, сказав: дівчино, прощай! П'ять м'ячів. ",
    "greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Ὦ ἄνδρες Ἀθηναῖοι ΟΔΥΣΣΕΥΣ. ",
    "hebrew": "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם עֲלֵיכֶם ",
    "arabic": "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. مَرْحَبًا ١٢٣٤ ",
    "persian": "می‌خواهم به خانه بروم؛ کتاب‌ها را آوردم. ۱۲۳۴۵ ",
    "hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश। १२३ ",
    "bengali": "আমার সোনার বাংলা, আমি তোমায় ভালোবাসি। ১২৩৪ ",
    "tamil": "யாமறிந்த மொழிகளிலே தமிழ்மொழி போல் இனிதாவது எங்கும் காணோம். ",
    "telugu": "తెలుగు భాష చాలా మధురమైనది. ",
    "thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน ๑๒๓ ",
    "lao": "ພາສາລາວແມ່ນພາສາທາງການ. ",
    "khmer": "ភាសាខ្មែរជាភាសាផ្លូវការ។ ",
    "burmese": "မြန်မာဘာသာစကားသည် တရားဝင်ဘာသာစကားဖြစ်သည်။ ",
    "tibetan": "བོད་སྐད་ནི་བོད་མིའི་སྐད་ཡིན། ༡༢༣ ",
    "georgian": "ქართული ენა ძალიან ლამაზია. ᲥᲐᲠᲗᲣᲚᲘ ",
    "armenian": "Բարեւ ձեզ, ինչպե՞ս եք։ ",
    "amharic": "ሰላም ለዓለም፣ እንዴት ነህ? ፩፪፫ ",
    "chinese": "天地玄黄,宇宙洪荒。日月盈昃,辰宿列张。我在2024年3月买了3本书ABC和def。",
    "traditional": "漢字文化圈廣泛使用漢字;臺灣、香港與澳門。「你好嗎?」",
    "japanese": "いろはにほへと ちりぬるを。カタカナとひらがな、漢字ABCをまぜて書く。ーー〆",
    "halfwidth": "ハンカクカタカナ ABCabc123!?~ ",
    "korean": "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. ㅋㅋㅋ ",
    "cherokee": "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ꮳꮃꭹ ",
    "mongolian": "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ ",
    "deseret": "𐐔𐐇𐐝𐐀𐐡𐐇𐐓 𐐼𐐯𐑅𐐨𐑉𐐯𐐻 ",
    "math": "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β; 𝒜𝓫𝔠𝟙𝟚𝟛 ℵ₀ x²+y³≤½ Ⅷ ⅷ ",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ❤️‍🔥 🇩🇪🇫🇷 1️⃣#️⃣ 🧑🏿‍🚀 😂😂😂 ☺️ ",
    "zalgo": "Z̷̢͍a̶͓l̸g̵o̷ ȩ́ é ñ à̖ ",
    "invisible": "a\u200bb\ufeffc\u180ed\u2060e\u00adf\u200e\u202e\u001c\u001f ",
}
CODE = [
    "func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {\n\tif r.Method != \"GET\" {\n\t\thttp.Error(w, \"no\", 405)\n\t\treturn\n\t}\n}\n",
    "def f(x: int = 0, *args, **kw) -> dict[str, Any]:\n    \"\"\"Doc.\"\"\"\n    return {k: v for k, v in kw.items() if v is not None}  # ok\n\n\n",
    "#include <stdio.h>\r\nint main(void){\r\n\tprintf(\"%d\\n\", 0x7fffffff);\r\n\treturn 0;\r\n}\r\n",
    "SELECT a.id, COUNT(*) AS n FROM t AS a LEFT JOIN u ON a.id=u.aID WHERE a.x >= 10.5 GROUP BY 1;\n",
    "<div class=\"a-b\" onClick={() => setState(s => !s)}>\n  {items?.map(i => <Li key={i.id}/>)}\n</div>\n",
    "{\"id\": \"chatcmpl-123\", \"n\": 1e-9, \"ok\": [true, false, null], \"u\": \"\\u00e9\"}\n",
    "https://example.com:8443/a/b//c?x=1&y=%20z#frag ftp://u:p@h/ C:\\Users\\me\\file.TXT\n",
    "for i in $(seq 1 10); do echo \"$i\" >> /tmp/out.txt 2>&1; done | awk '{print $1}'\n",
    "----\n====\n****///\n// comment ///\n/* a */\n\n#!/bin/sh\n",
    "let x = vec![1u8; 0xFF_usize]; match x.get(0) { Some(&b'a'..=b'z') => {}, _ => unreachable!() }\n",
    "camelCaseHTTPServer XMLHttpRequest snake_case_NAME iPhone McDonald's OBJ->field::method()\n",
]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r", "\r\n", "\n\n", "\x0b", "\x0c", "\u0085", "\u00a0", "\u1680", "\u2003",
          "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "/", "\u200b", "\u180e"]
ATOMS = SPACES + ["a", "B", "Word", "word", "ABC", "Ab", "aB", "1", "12", "123", "1234", "!", "?!", "...", "-", "'", "'s", "'S",
                  "'t", "'RE", "'ve", "'m", "'ll", "'D", "'ſ", "'l", "'v", "'re", "'K", "’s", "é", "É", "ß", "中", "文", "ー", "ʰ", "ǅ",
                  "\u0301", "\u0941", "Ω", "я", "Я", "½", "Ⅷ", "٣", "😀", "\u200d", "\ufe0f", "_", "/", "//", "\\", "#", "@", "$",
                  "<|end|>", "<|", "|>", "ſ", "\u00ad", "\x00", "\x7f", "\ue000", "\U000e0100", "\U0002ebf0", "\u0378"]
WORDS = ("time year people way day man thing woman life child world school state family student group country problem hand part "
         "place case week company system program question work government number night point home water room mother area money story "
         "fact month lot right study book eye job word business issue side kind head house service friend father power hour game line "
         "internationalization antidisestablishmentarianism floccinaucinihilipilification supercalifragilistic xylophonist quixotically "
         "Kubernetes TensorFlow PostgreSQL JavaScript OpenAI gpt-oss tokenizer detokenization vLLM SGLang Envoy").split()

cases = []  # (kind, unit, times)


def add(kind, text, times=1):
    cases.append((kind, text, times))


for name, text in SCRIPTS.items():
    add(name, text)
    add(name, text.strip())
    add(name, text.upper())
    add(name, text, 5)
    for _ in range(4):  # cut anywhere
        a, b = sorted(rng.sample(range(len(text) + 1), 2))
        add(name, text[a:b] or text[:1])
    chars = list(text)
    rng.shuffle(chars)
    add(name, "".join(chars))
names = list(SCRIPTS)
for _ in range(150):
    add("mixture", "".join(rng.choice([SCRIPTS[rng.choice(names)][:rng.randint(1, 20)], rng.choice(ATOMS)]) for _ in range(rng.randint(2, 8))))
for text in CODE:
    add("code", text)
    add("code", text.replace("\n", "\r\n"))
    add("code", text.replace("    ", "\t").replace("\t", "        "))
for _ in range(150):
    text = rng.choice(CODE) + rng.choice(CODE)
    a, b = sorted(rng.sample(range(len(text) + 1), 2))
    add("code", text[a:b])
for _ in range(200):
    words = []
    for _ in range(rng.randint(3, 25)):
        w = rng.choice(WORDS)
        w = rng.choice([w, w, w, w.capitalize(), w.upper(), w + "'s", w + "'LL", w + "n't", w + ",", w + ".", w + "?\n", w[::-1]])
        words.append(w)
    add("prose", rng.choice([" ", " ", "  ", "\n"]).join(words))
for r in NEW:
    lo, hi = (int(x, 16) for x in (r.split("-") * 2)[:2])
    picks = sorted({lo, hi, (lo + hi) // 2} | {rng.randint(lo, hi) for _ in range(2)})
    for c in picks:
        ch = chr(c)
        add("unicode16", f"a{ch}b {ch} A{ch}B 1{ch}2 !{ch}. {ch}'s{ch}")
    add("unicode16", "".join(chr(rng.randint(lo, hi)) for _ in range(12)))
for c in ["s", "t", "re", "ve", "m", "ll", "d", "ſ", "S", "T", "RE", "Re", "rE", "VE", "M", "LL", "lL", "D", "l", "r", "v", "x", "ſs", "k"]:
    add("contraction", f"I'{c} it'{c}x IT'{c} é'{c} 中'{c} 1'{c} '{c} ''{c} a''{c} a'{c}'{c} \u0301'{c} !'{c}")
for a, b in itertools.product(SPACES, SPACES):
    add("space", f"x{a}{b}y{b}{a}{a}1{a}{b}!{b}\n{a}")
for n in range(1, 25):
    add("number", "1234567890"[:n % 10 + 1] * (n // 4 + 1))
    add("number", f"{'9' * n}a{'٣' * n} {'½' * n}{'1' * n}.{'0' * n}e-{n}")
RUN = ["a", "A", " ", "\n", "\r\n", "-", "=", "0", "1", "é", "中", "😀", "\u0301", "ab", "aB", "!?", "\t", "\u3000", "ー", "/", "'s", "a ",
       "aaaab", "xy", "the", " the", "\u200d", "я", "ا", "ก", "<|", "_", "\x00", "\ue000", "Aa", "zq", "qzx", "אב", "한글"]
for unit in RUN:
    for n in [7, 33, 64, 129, 1000, rng.randint(1001, 4999), 5000 // len(unit)]:
        add("run", unit, n)
for _ in range(700):
    add("atoms", "".join(rng.choice(ATOMS) for _ in range(rng.randint(1, 14))))


def anychar():
    while True:
        hi = rng.choice([0x80, 0x800, 0x3000, 0x10000, 0x20000, 0x110000])
        c = rng.randrange(hi)
        if not 0xD800 <= c <= 0xDFFF:
            return chr(c)


for _ in range(350):
    add("random", "".join(anychar() for _ in range(rng.randint(1, 20))))
for _ in range(60):
    add("letters", "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(20, 400))))
for _ in range(30):
    add("han", "".join(chr(rng.randint(0x4E00, 0x9FFF)) for _ in range(rng.randint(10, 200))))
for _ in range(25):
    add("long", "".join(rng.choice(["a", "b", "ab", "ba", "aa", "th", "e", "er", "in"]) for _ in range(rng.randint(700, 1800))))

def quote(text):
    """As Go quotes: what is not printable, or combines, is escaped."""
    s = []
    for ch in text:
        c = ord(ch)
        if ch in '"\\':
            s.append("\\" + ch)
        elif ch in "\n\r\t":
            s.append({"\n": "\\n", "\r": "\\r", "\t": "\\t"}[ch])
        elif c < 0x20 or c == 0x7F:
            s.append(f"\\x{c:02x}")
        elif c < 0x7F or (c < 0x3000 or 0x4E00 <= c < 0xD7A4) and unicodedata.category(ch) in ("Lu", "Ll", "Lo") \
                and unicodedata.bidirectional(ch) in ("L", "ON"):
            s.append(ch)
        elif c < 0x10000:
            s.append(f"\\u{c:04x}")
        else:
            s.append(f"\\U{c:08x}")
    return '"' + "".join(s) + '"'


def ids(seq):
    parts, i = [], 0
    while i < len(seq):
        size, times = 1, 1
        for p in range(1, 9):
            n = 1
            while seq[i + n * p:i + (n + 1) * p] == seq[i:i + p]:
                n += 1
            if n > 1 and n * p > size * times:
                size, times = p, n
        parts.append(",".join(map(str, seq[i:i + size])) + (f"*{times}" if times > 1 else ""))
        i += size * times
    return " ".join(parts)


differ = 0
seen = set()
with open(os.path.join(out, "encode.txt"), "w", encoding="utf-8", newline="\n") as f:
    f.write(f"# openai-harmony 0.0.8, ordinary encoding; made by tools/vocab/vectors.py, seed {SEED}\n")
    for kind, unit, times in cases:
        text = unit * times
        if text in seen:
            continue
        seen.add(text)
        want = har.encode(text, disallowed_special=())
        got = tik.encode_ordinary(text)
        mark = ""
        if want != got:
            differ += 1
            mark = "x"
        assert har.decode(want) == text, text
        f.write(f"{kind}{mark}\t{quote(unit)}{'*%d' % times if times > 1 else ''}\t{ids(want)}\n")
print(len(seen), "encode vectors; tiktoken", tiktoken.__version__, "differs on", differ)

SPELL = (["<|startoftext|>", "<|endoftext|>", "<|return|>", "<|constrain|>", "<|channel|>", "<|start|>", "<|end|>", "<|message|>", "<|call|>",
          "<|reserved_200000|>", "<|reserved_200018|>", "<|reserved_201088|>", "<|reserved_200013|>"] +
         ["<|reserved_200002|>", "<|reserved_201089|>", "<|reserved_199998|>", "<|endofprompt|>", "<|END|>", "<|end|", "|end|>", "<|", "<", "<|<|end|>",
          "<|end |>", "<|reserved_20001|>", "<|reserved_2000130|>", "<|reserved_20000x|>", "< |end|>", "<|refusal|>"])
n = 0
with open(os.path.join(out, "special.txt"), "w", encoding="utf-8", newline="\n") as f:
    f.write(f"# openai-harmony 0.0.8, all control tokens allowed; made by tools/vocab/vectors.py, seed {SEED}\n")
    for text in SPELL + ["".join(rng.choice([rng.choice(SPELL), rng.choice(ATOMS), " hello", "user"]) for _ in range(rng.randint(2, 9))) for _ in range(250)]:
        f.write(f"special\t{quote(text)}\t{ids(har.encode(text, allowed_special='all'))}\n")
        n += 1
print(n, "special vectors")

n = 0
with open(os.path.join(out, "decode.txt"), "w", encoding="utf-8", newline="\n") as f:
    f.write(f"# openai-harmony 0.0.8, decode with replacement; made by tools/vocab/vectors.py, seed {SEED}\n")
    partial = [i for i in range(199998) if b"\xef\xbf\xbd" in tik.decode_single_token_bytes(i).decode("utf-8", "replace").encode()]
    for k in range(400):
        source = partial if k % 2 else range(201089)
        seq = [rng.choice(source) if rng.random() < 0.8 else rng.randrange(199998) for _ in range(rng.randint(1, 12))]
        f.write(f"{ids(seq)}\t{quote(har.decode(seq))}\n")
        n += 1
    for _ in range(200):  # texts whose characters need several tokens, cut anywhere: at the end, or in the middle
        seq = har.encode("".join(anychar() for _ in range(rng.randint(1, 5))), disallowed_special=())
        seq = seq[:rng.randint(1, len(seq))] + rng.choice([[], har.encode(rng.choice(ATOMS), disallowed_special=())])
        f.write(f"{ids(seq)}\t{quote(har.decode(seq))}\n")
        n += 1
print(n, "decode vectors")
