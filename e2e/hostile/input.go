package hostile

import "strings"

// inputFamilies returns Responses requests with many or large items.
func inputFamilies() []Family {
	const list, listEnd = `"input":[{"role":"user","content":"Hi"},`, `]`
	const auto = `"truncation":"auto",`
	turn := `{"role":"user","content":"Is it raining in town?"},{"role":"assistant","content":"No, it is not."}`
	call := `{"type":"function_call","call_id":"c%d","name":"f","arguments":"{}"},{"type":"function_call_output",` +
		`"call_id":"c%d","output":"r"}`
	return []Family{
		inResponses("text parts", `"input":[{"role":"user","content":[`, `]}]`, ",",
			same(`{"type":"input_text","text":"a"}`)),
		inResponses("image parts", `"input":[{"role":"user","content":[`, `]}]`, ",",
			same(`{"type":"input_image","image_url":"data:,"}`)),
		inResponses(
			"output parts", `"input":[{"role":"user","content":"Hi"},{"type":"message","role":"assistant","content":[`, `]}]`,
			",",
			same(`{"type":"output_text","text":"a","annotations":[]}`)),
		inResponses("messages", list, listEnd, ",", same(turn)),
		inResponses("instructions among the items", list, listEnd, ",", same(`{"role":"developer","content":"a"}`)),
		inResponses("reasoning", list, listEnd, ",",
			same(`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"a"}]}`)),
		inResponses("one long reasoning", list+
			`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"`, `"}]}`+listEnd, "", words),
		inResponses("a reasoning of many parts", list+`{"type":"reasoning","summary":[],"content":[`, `]}`+listEnd, ",",
			same(`{"type":"reasoning_text","text":"a"}`)),
		inResponses("a summary of many parts", list+`{"type":"reasoning","summary":[`, `]}`+listEnd, ",",
			same(`{"type":"summary_text","text":"a"}`)),
		inResponses("one sealed reasoning that is none", list+`{"type":"reasoning","summary":[],"encrypted_content":"`,
			`"}`+listEnd, "", letters(small+great, 64)),
		inResponses("one sealed reasoning of a known key",
			list+`{"type":"reasoning","summary":[],"encrypted_content":"`+sealedHead, `"}`+listEnd, "",
			letters(small+great, 64)),
		inResponses("sealed reasoning that is none", list, listEnd, ",",
			same(`{"type":"reasoning","summary":[],"encrypted_content":"gAAAAAB"}`)),
		inResponses("calls", list, listEnd, ",", numbered(call)),
		inResponses("calls with long arguments", list, listEnd, ",",
			around(`{"type":"function_call","call_id":"c","name":"f","arguments":"`, letters(small, 4000), `"}`)),
		inResponses("calls with long ids", list, listEnd, ",",
			around(`{"type":"function_call","call_id":"`, letters(small, 4000), `","name":"f","arguments":"{}"}`)),
		inResponses("outputs of many parts", list+`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},`+
			`{"type":"function_call_output","call_id":"c","output":[`, `]}`+listEnd, ",",
			same(`{"type":"input_text","text":"a"}`)),
		inResponses("one long output", list+`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},`+
			`{"type":"function_call_output","call_id":"c","output":"`, `"}`+listEnd, "", letters(small+great, 64)),
		inResponses("shell calls", list, listEnd, ",", numbered(`{"type":"local_shell_call","call_id":"c%d","id":"i",`+
			`"status":"completed","action":{"type":"exec","command":["ls","-l"],"env":{}}}`)),
		inResponses("web searches", list, listEnd, ",", numbered(`{"type":"web_search_call","id":"w%d",`+
			`"status":"completed","action":{"type":"search","query":"q"}}`)),
		inResponses("MCP items", list, listEnd, ",",
			same(`{"type":"mcp_list_tools","id":"m","server_label":"l","tools":[]}`)),
		inResponses("unknown items", list, listEnd, ",", same(`{"type":"x"}`)),
		inResponses("item references", list, listEnd, ",", same(`{"type":"item_reference","id":"msg_1"}`)),
		inResponses("included fields", `"input":"Hi","include":[`, `]`, ",", same(`"reasoning.encrypted_content"`)),
		inResponses("metadata", `"input":"Hi","metadata":{`, `}`, ",", numbered(`"k%d":"v"`)),
		inResponses("truncation of many turns", auto+list, listEnd, ",", same(turn)),
		inResponses("truncation of long turns", auto+list, listEnd, ",",
			around(`{"role":"user","content":"`, letters(small, 4000), `"}`)),
		inResponses("truncation of calls", auto+list, listEnd, ",", numbered(call)),
		inResponses("truncation, a last turn that is too long",
			auto+`"input":[{"role":"user","content":"Hi"},{"role":"user","content":"`, `"}]`, "", letters(small, 64)),
		inResponses("truncation, a first turn that is too long", auto+`"input":[{"role":"user","content":"`,
			`"},{"role":"user","content":"Hi"}]`, "", letters(small, 64)),
		inResponses("truncation, turns of parts", auto+list, listEnd, ",",
			same(`{"role":"user","content":[`+strings.Repeat(`{"type":"input_text","text":"a"},`, 999)+
				`{"type":"input_text","text":"a"}]}`)),
	}
}

// SealKeys are keys that the gateway must have so that it does not refuse sealed reasoning at once. sealedHead contains
// the id of the first key.
const (
	SealKeys   = "k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	sealedHead = "AQJrMQ"
)
