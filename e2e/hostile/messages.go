package hostile

import "strings"

const (
	messagesPath    = "/v1/messages"
	countTokensPath = "/v1/messages/count_tokens"
)

// inMessages is [inChat] for Anthropic's Messages.
func inMessages(name, before, after, separator string, p piece) Family {
	return Family{Name: "messages: " + name, Path: messagesPath, separator: separator, piece: p,
		head: `{"model":"` + Model + `","max_tokens":9,` + before, tail: after + `}`}
}

// inCount is [inMessages] for counts of tokens.
func inCount(name, before, after, separator string, p piece) Family {
	return inMessages("", before, after, separator, p).at(countTokensPath, "count_tokens: "+name)
}

// asked begins a conversation, and called is one in which the model has called a tool.
const (
	asked    = `"messages":[{"role":"user","content":"Hi"},`
	called   = asked + `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},`
	askedEnd = `]`
	// said begins what the model has said then.
	said, saidEnd = asked + `{"role":"assistant","content":[`, `]}` + askedEnd
)

// blockFamilies returns requests to Messages with many or large messages and blocks.
func blockFamilies() []Family {
	const user, userEnd = `"messages":[{"role":"user","content":[`, `]}]`
	turn := `{"role":"user","content":"Is it raining in town?"},{"role":"assistant","content":"No, it is not."}`
	long := letters(small, 4000)
	return []Family{
		inMessages("one text", `"messages":[{"role":"user","content":"`, `"}]`, "", letters(small, 64)),
		inMessages("one text block of spaces", user+`{"type":"text","text":"`, `"}`+userEnd, "",
			same(strings.Repeat(" ", 64))),
		inMessages("messages", `"messages":[`, `]`, ",", same(turn)),
		inMessages("messages of one block", `"messages":[`, `]`, ",",
			same(`{"role":"user","content":[{"type":"text","text":"a"}]}`)),
		inMessages("messages without blocks", `"messages":[`, `]`, ",", same(`{"role":"user","content":[]}`)),
		inMessages("messages of 4 KB", `"messages":[`, `]`, ",", around(`{"role":"user","content":"`, long, `"}`)),
		inMessages("text blocks", user, userEnd, ",", same(`{"type":"text","text":"a"}`)),
		inMessages("empty text blocks", user, userEnd, ",", same(`{"type":"text","text":""}`)),
		inMessages("text blocks with many members", user, userEnd, ",",
			same(`{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"},"citations":[]}`)),
		inMessages("unknown blocks", user, userEnd, ",", same(`{"type":"x"}`)),
		inMessages("unknown blocks, each in a message", `"messages":[`, `]`, ",",
			same(`{"role":"user","content":[{"type":"x"}]}`)),
		inMessages("foreign signatures, each in a message", `"messages":[`, `]`, ",",
			same(`{"role":"assistant","content":[{"type":"redacted_thinking","data":"E"}]}`)),
		inMessages("billing lines, each in a message", `"messages":[`, `]`, ",",
			same(`{"role":"system","content":[{"type":"text","text":"x-anthropic-billing-header: a"}]}`)),
		inMessages("empty blocks", user, userEnd, ",", same(`{}`)),
		inMessages("images", user, userEnd, ",",
			same(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}`)),
		inMessages("one large image", user+`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`,
			`"}}`+userEnd, "", letters(small+great+"0123456789+/", 64)),
		inMessages("an image of a long type", user+`{"type":"image","source":{"type":"base64","data":"","media_type":"`,
			`"}}`+userEnd, "", letters(small, 64)),
		inMessages("a document of a long title", user+`{"type":"document","source":{"type":"text","data":"a"},"title":"`,
			`"}`+userEnd, "", letters(small, 64)),
		inMessages("documents", user, userEnd, ",",
			same(`{"type":"document","title":"t","source":{"type":"text","data":"a"}}`)),
		inMessages("a document of many parts", user+`{"type":"document","source":{"type":"content","content":[`,
			`]}}`+userEnd, ",", same(`{"type":"text","text":"a"}`)),
		inMessages("search results", user, userEnd, ",",
			same(`{"type":"search_result","title":"t","source":"s","content":[{"type":"text","text":"a"}]}`)),
		inMessages("system messages", asked, askedEnd, ",", same(`{"role":"system","content":"a"}`)),
		inMessages("a system message of many blocks", asked+`{"role":"system","content":[`, saidEnd, ",",
			same(`{"type":"text","text":"a"}`)),
		inMessages("changed efforts", asked, askedEnd, ",",
			same(`{"role":"system","content":"a","output_config":{"effort":"low"}}`)),
	}
}

// saidFamilies returns requests to Messages with many or large blocks of the model's, and results of its calls.
func saidFamilies() []Family {
	const result, resultEnd = called + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":`,
		`}]}` + askedEnd
	call := `{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"f","input":{"a":1}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"r"}]}`
	return []Family{
		inMessages("thinking", said, saidEnd, ",", same(`{"type":"thinking","thinking":"a","signature":""}`)),
		inMessages("one long thinking", said+`{"type":"thinking","signature":"","thinking":"`, `"}`+saidEnd, "", words),
		inMessages("thinking with foreign signatures", said, saidEnd, ",",
			same(`{"type":"thinking","thinking":"a","signature":"EqQBCkYIBxgC"}`)),
		inMessages("one long signature of a known key", said+`{"type":"thinking","thinking":"","signature":"`+sealedHead,
			`"}`+saidEnd, "", letters(small+great, 64)),
		inMessages("redacted thinking", said, saidEnd, ",", same(`{"type":"redacted_thinking","data":"gAAAAAB"}`)),
		inMessages("thinking and text", said, saidEnd, ",",
			same(`{"type":"thinking","thinking":"a"},{"type":"text","text":"b"}`)),
		inMessages("calls", asked, askedEnd, ",", numbered(call)),
		inMessages("calls without results", said, saidEnd, ",",
			numbered(`{"type":"tool_use","id":"c%d","name":"f","input":{}}`)),
		inMessages("one long input", said+`{"type":"tool_use","id":"c","name":"f","input":{"a":"`, `"}}`+saidEnd, "",
			letters(small, 64)),
		inMessages("an input of many members", said+`{"type":"tool_use","id":"c","name":"f","input":{`, `}}`+saidEnd, ",",
			numbered(`"p%d" : [ 0 ]`)),
		inMessages("an input that is a text", said+`{"type":"tool_use","id":"c","name":"f","input":"`, `"}`+saidEnd, "",
			letters(small, 64)),
		inMessages("an input that was no JSON", said+`{"type":"tool_use","id":"c","name":"f",`+
			`"input":{"__unparsedToolInput":{"raw":"`, `","len":9}}}`+saidEnd, "", same(`{\"a\":`)),
		inMessages("an input too deep", said+`{"type":"tool_use","id":"c","name":"f","input":`, `}`+saidEnd, "",
			same(`{"a":`)),
		inMessages("one long call id", said+`{"type":"tool_use","name":"f","input":{},"id":"`, `"}`+saidEnd, "",
			letters(small, 64)),
		inMessages("results", called+`{"role":"user","content":[`, `]}`+askedEnd, ",",
			same(`{"type":"tool_result","tool_use_id":"c","content":"r"}`)),
		inMessages("failed results", called+`{"role":"user","content":[`, `]}`+askedEnd, ",",
			same(`{"type":"tool_result","tool_use_id":"c","is_error":true}`)),
		inMessages("one long result", result+`"`, `"`+resultEnd, "", letters(small, 64)),
		inMessages("a result of many parts", result+`[`, `]`+resultEnd, ",", same(`{"type":"text","text":"a"}`)),
		inMessages("a result of images", result+`[`, `]`+resultEnd, ",",
			same(`{"type":"image","source":{"type":"url","url":"x"}}`)),
	}
}

// messagesFieldFamilies returns requests to Messages with a large member beside the messages.
func messagesFieldFamilies() []Family {
	const greeting = `"messages":[{"role":"user","content":"Hi"}],`
	return []Family{
		inMessages("system blocks", greeting+`"system":[`, `]`, ",", same(`{"type":"text","text":"a"}`)),
		inMessages("empty system blocks", greeting+`"system":[`, `]`, ",", same(`{"type":"text","text":""}`)),
		inMessages("billing lines", greeting+`"system":[`, `]`, ",",
			same(`{"type":"text","text":"x-anthropic-billing-header: a\nb"}`)),
		inMessages("a long system prompt", greeting+`"system":"`, `"`, "", words),
		inMessages("a system prompt of billing lines", greeting+`"system":"`, `"`, "",
			same(`x-anthropic-billing-header: a\n`)),
		inMessages("unknown members", greeting, `"z":0`, "", numbered(`"u%d":0,`)),
		inMessages("metadata", greeting+`"metadata":{`, `}`, ",", numbered(`"k%d":"v"`)),
		inMessages("stop sequences", greeting+`"stop_sequences":[`, `]`, ",", same(`"a"`)),
		inMessages("thinking types", greeting+`"thinking":{"type":"`, `"}`, "", letters(small, 64)),
		inMessages("a long effort", greeting+`"output_config":{"effort":"`, `"}`, "", letters(small, 64)),
		inMessages("a format", greeting+`"output_config":{"format":{"type":"json_schema","schema":{"type":"object",`+
			`"properties":{`, `}}}}`, ",", numbered(`"p%d":{"type":"string"}`)),
		inMessages("a format of enum values", greeting+`"output_format":{"type":"json_schema","schema":{"enum":[`, `]}}`,
			",", numbered(`"v%d"`)),
		inMessages("nested lists", greeting+`"context_management":[`, `]`, ",",
			same(strings.Repeat("[", 126)+strings.Repeat("]", 126))),
		inMessages("nesting too deep", greeting+`"x":`, ``, "", same(`{"a":`)),
	}
}

// messagesToolFamilies returns requests to Messages with many or large tools, or with many references to them.
func messagesToolFamilies() []Family {
	const greeting = `"messages":[{"role":"user","content":"Hi"}],`
	const schema = `"input_schema":{"type":"object","properties":{"a":{"type":"string"}}}`
	deferred := func(n int, more string) string {
		var list strings.Builder
		list.WriteString(`"tools":[{"name":"find","input_schema":{}}`)
		for i := range n {
			list.WriteString(`,` + numbered(`{"name":"t%d","defer_loading":true,`+more+`}`)(i, nil))
		}
		return list.String() + `],` + called
	}
	const found, foundEnd = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[`, `]}]}` +
		askedEnd
	const reference = `{"type":"tool_reference","tool_name":"t%d"}`
	wide := deferred(1, `"description":"`+strings.Repeat("d", 2000)+`"`)
	return []Family{
		inMessages("tools", greeting+`"tools":[`, `]`, ",", numbered(`{"name":"f%d",`+schema+`}`)),
		inMessages("strict tools", greeting+`"tools":[`, `]`, ",", numbered(`{"name":"f%d","strict":true,`+schema+`}`)),
		inMessages("tools without a schema", greeting+`"tools":[`, `]`, ",", numbered(`{"name":"f%d"}`)),
		inMessages("tools of one name", greeting+`"tools":[`, `]`, ",", same(`{"name":"f",`+schema+`}`)),
		inMessages("one tool, a long description", greeting+`"tools":[{"name":"f","input_schema":{},"description":"`,
			`"}]`, "", words),
		inMessages("one tool, a wide schema", greeting+`"tools":[{"name":"f","input_schema":{"type":"object",`+
			`"properties":{`, `}}}]`, ",", numbered(`"p%d":{"type":"string"}`)),
		inMessages("one tool of many examples", greeting+`"tools":[{"name":"f","input_schema":{},"input_examples":[`, `]}]`,
			",", same(`{"a":1}`)),
		inMessages("server tools", greeting+`"tools":[`, `]`, ",", same(`{"type":"tool_search_tool_bm25","name":"s"}`)),
		inMessages("deferred tools", greeting+`"tools":[{"name":"find"},`, `]`, ",",
			numbered(`{"name":"f%d","defer_loading":true,`+schema+`}`)),
		inMessages("references to tools of the request", deferred(1000, `"input_schema":{}`)+found, foundEnd, ",",
			numbered(reference)),
		inMessages("references to one large tool", wide+found, foundEnd, ",", same(strings.ReplaceAll(reference, "%d", "0"))),
		inMessages("references to no tool", deferred(1, `"input_schema":{}`)+found, foundEnd, ",",
			same(`{"type":"tool_reference","tool_name":"x"}`)),
		inMessages("references, each in a result", deferred(1000, `"input_schema":{}`)+`{"role":"user","content":[`,
			`]}`+askedEnd, ",",
			numbered(`{"type":"tool_result","tool_use_id":"c","content":[`+reference+`]}`)),
		inMessages("references, each in a message", deferred(1000, `"input_schema":{}`), askedEnd, ",",
			numbered(`{"role":"system","content":[`+reference+`]}`)),
		inMessages("additions", deferred(1000, `"input_schema":{}`)+`{"role":"system","content":[`, `]}`+askedEnd, ",",
			numbered(`{"type":"tool_addition","tool":`+reference+`}`)),
		inMessages("additions that define tools", asked+`{"role":"system","content":[`, `]}`+askedEnd, ",",
			numbered(`{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"f%d",`+schema+`}}}`)),
		inMessages("removals and additions in turns", deferred(1000, `"input_schema":{}`)+`{"role":"system","content":[`,
			`]}`+askedEnd, ",", numbered(`{"type":"tool_addition","tool":`+reference+`},{"type":"tool_removal","tool":`+
				reference+`}`)),
		inMessages("removals of one tool", wide+`{"role":"system","content":[`, `]}`+askedEnd, ",",
			same(strings.ReplaceAll(`{"type":"tool_removal","tool":`+reference+`}`, "%d", "0"))),
		inMessages("additions that define one tool again", asked, askedEnd, ",",
			numbered(`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition",`+
				`"definition":{"name":"f","description":"%d"}}}]}`)),
	}
}

// countTokensFamilies returns requests for counts of Messages' tokens, which are called without a server.
func countTokensFamilies() []Family {
	return []Family{
		inCount("random letters", `"messages":[{"role":"user","content":"`, `"}]`, "", letters(small, 64)),
		inCount("spaces", `"messages":[{"role":"user","content":"`, `"}]`, "", same(strings.Repeat(" ", 64))),
		inCount("combining marks", `"messages":[{"role":"user","content":"`, `"}]`, "", between(0x300, 0x36f, 32)),
		inCount("text blocks", `"messages":[{"role":"user","content":[`, `]}]`, ",", same(`{"type":"text","text":"a"}`)),
		inCount("messages", `"messages":[`, `]`, ",", same(`{"role":"user","content":"a"}`)),
		inCount("tools", `"messages":[{"role":"user","content":"Hi"}],"tools":[`, `]`, ",",
			numbered(`{"name":"f%d","input_schema":{"type":"object","properties":{"a":{"type":"string"}}}}`)),
		inCount("system blocks", `"messages":[{"role":"user","content":"Hi"}],"system":[`, `]`, ",",
			same(`{"type":"text","text":"a"}`)),
	}
}
