package hostile

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

const hi = `"messages":[{"role":"user","content":"Hi"}],`

// numbered returns a piece that contains its number wherever format has %d.
func numbered(format string) piece {
	return func(i int, _ *rand.Rand) string { return strings.ReplaceAll(format, "%d", fmt.Sprint(i)) }
}

// around returns a piece with text before and after p.
func around(before string, p piece, behind string) piece {
	return func(i int, rng *rand.Rand) string { return before + p(i, rng) + behind }
}

// chatFamilies returns Chat requests with many messages, parts and calls.
func chatFamilies() []Family {
	const parts, partsEnd = `"messages":[{"role":"user","content":[`, `]}]`
	const history, historyEnd = `"messages":[{"role":"user","content":"Hi"},`, `]`
	long := around("", letters(small, 4000), "")
	return []Family{
		inChat("text parts", parts, partsEnd, ",", same(`{"type":"text","text":"a"}`)),
		inChat("empty text parts", parts, partsEnd, ",", same(`{"type":"text","text":""}`)),
		inChat("text parts with escapes", parts, partsEnd, ",", same(`{"type":"text","text":"\n"}`)),
		inChat("text parts of 40 KB", parts, partsEnd, ",", around(`{"type":"text","text":"`, letters(small, 40_000), `"}`)),
		inChat("image parts", parts, partsEnd, ",", same(`{"type":"image_url","image_url":{"url":"data:,"}}`)),
		inChat("one large image", `"messages":[{"role":"user","content":[{"type":"image_url",`+
			`"image_url":{"url":"data:image/png;base64,`, `"}}]}]`, "", letters(small+great+"0123456789+/", 64)),
		inChat("refusals", `"messages":[{"role":"assistant","content":[`, partsEnd, ",",
			same(`{"type":"refusal","refusal":"n"}`)),
		inChat("parts of a system message", `"messages":[{"role":"system","content":[`, partsEnd, ",",
			same(`{"type":"text","text":"a"}`)),
		inChat("parts with many members", parts, partsEnd, ",",
			same(`{"type":"text","text":"a","a":1,"b":2,"c":3,"d":4,"e":5,"f":6}`)),
		inChat("messages", `"messages":[`, `]`, ",", same(`{"role":"user","content":"a"}`)),
		inChat("empty messages", `"messages":[`, `]`, ",", same(`{"role":"assistant","content":""}`)),
		inChat("system messages", `"messages":[`, `]`, ",", same(`{"role":"system","content":"a"}`)),
		inChat("messages of 4 KB", `"messages":[`, `]`, ",", around(`{"role":"user","content":"`, long, `"}`)),
		inChat("one message, many members", `"messages":[{"role":"user","content":"Hi",`, `}]`, ",", numbered(`"m%d":0`)),
		inChat("reasoning", history+`{"role":"assistant","content":"a","reasoning":"`, `"}`+historyEnd, "", words),
		inChat("reasoning details", history+`{"role":"assistant","content":"a","reasoning_details":[`, `]}`+historyEnd, ",",
			same(`{"type":"reasoning.text","text":"a"}`)),
		inChat("calls of the past", history+`{"role":"assistant","tool_calls":[`, `]}`+historyEnd, ",",
			numbered(`{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`)),
		inChat("calls with long arguments", history+`{"role":"assistant","tool_calls":[`, `]}`+historyEnd, ",",
			around(`{"id":"c","type":"function","function":{"name":"f","arguments":"`, long, `"}}`)),
		inChat("calls with long ids", history+`{"role":"assistant","tool_calls":[`, `]}`+historyEnd, ",",
			around(`{"id":"`, long, `","type":"function","function":{"name":"f","arguments":"{}"}}`)),
		inChat("one long call id", history+`{"role":"assistant","tool_calls":[{"id":"`,
			`","type":"function","function":{"name":"f","arguments":"{}"}}]}`+historyEnd, "", letters(small, 64)),
		inChat("one long call name", history+`{"role":"assistant","tool_calls":[{"id":"c","type":"function",`+
			`"function":{"arguments":"{}","name":"`, `"}}]}`+historyEnd, "", letters(small, 64)),
		inChat("results", history+`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f",`+
			`"arguments":"{}"}}]},`, historyEnd, ",",
			same(`{"role":"tool","tool_call_id":"c","content":"r"}`)),
		inChat("one long result", history+`{"role":"assistant","tool_calls":[{"id":"c","type":"function",`+
			`"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"`, `"}`+historyEnd, "",
			letters(small, 64)),
		inChat("a result of many parts", history+`{"role":"assistant","tool_calls":[{"id":"c","type":"function",`+
			`"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":[`, `]}`+historyEnd, ",",
			same(`{"type":"text","text":"a"}`)),
		inChat("a long name of a user", `"messages":[{"role":"user","content":"Hi","name":"`, `"}]`, "", letters(small, 64)),
		inChat("a long role", `"messages":[{"content":"Hi","role":"`, `"}]`, "", letters(small, 64)),
	}
}
