package hostile

import (
	"math/rand/v2"
	"strings"
)

// toolFamilies returns requests whose tools, grammars or formats are large.
func toolFamilies() []Family {
	const parameters, parametersEnd = hi + `"tools":[{"type":"function","function":{"name":"f","parameters":`, `}}]`
	const custom, customEnd = hi + `"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar",` +
		`"grammar":{"syntax":`, `"}}}}]`
	const format, formatEnd = hi + `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":`, `}}`
	function := `{"type":"function","function":{"name":"f%d","parameters":{"type":"object",` +
		`"properties":{"a":{"type":"string"}}}}}`
	const nested, depth = `{"type":"object","properties":{"p":`, 14
	deep := strings.Repeat(nested, depth) + `{"type":"string"}` + strings.Repeat("}}", depth)
	return []Family{
		inChat("tools", hi+`"tools":[`, `]`, ",", numbered(function)),
		inChat("tools of one name", hi+`"tools":[`, `]`, ",", same(strings.ReplaceAll(function, "%d", ""))),
		inChat("tools without parameters", hi+`"tools":[`, `]`, ",",
			numbered(`{"type":"function","function":{"name":"f%d"}}`)),
		inChat("strict tools", hi+`"tools":[`, `]`, ",",
			numbered(strings.Replace(function, `"parameters"`, `"strict":true,"parameters"`, 1))),
		inChat("tools, one is required", hi+`"tool_choice":"required","tools":[`, `]`, ",", numbered(function)),
		inChat("tools with an unknown type", hi+`"tools":[`, `]`, ",", same(`{"type":"x"}`)),
		inChat("one tool, a long name", hi+`"tools":[{"type":"function","function":{"name":"`, `"}}]`, "",
			letters(small, 64)),
		inChat("one tool, a long description", hi+`"tools":[{"type":"function","function":{"name":"f","description":"`,
			`"}}]`, "", words),
		inChat("one tool, a description of many lines",
			hi+`"tools":[{"type":"function","function":{"name":"f","description":"`, `"}}]`, "", same(`\n`)),
		inChat("a wide schema", parameters+`{"type":"object","properties":{`, `}}`+parametersEnd, ",",
			numbered(`"p%d":{"type":"string"}`)),
		inChat("a schema of one key", parameters+`{"type":"object","properties":{`, `}}`+parametersEnd, ",",
			same(`"p":{"type":"string"}`)),
		inChat("a wide schema, all required", parameters+`{"type":"object","required":[`,
			`],"properties":{"a":{}}}`+parametersEnd, ",", numbered(`"p%d"`)),
		inChat("deep schemas", parameters+`{"type":"object","properties":{`, `}}`+parametersEnd, ",",
			numbered(`"p%d":`+deep)),
		inChat("a schema too deep", parameters, parametersEnd, "", same(`{"items":`)),
		inChat("a schema of empty objects", parameters+`{"type":"object","properties":{`, `}}`+parametersEnd, ",",
			numbered(`"p%d":{}`)),
		inChat("a schema of enum values", parameters+`{"type":"object","properties":{"a":{"type":"string","enum":[`,
			`]}}}`+parametersEnd, ",", numbered(`"v%d"`)),
		inChat("a schema of types", parameters+`{"type":[`, `]}`+parametersEnd, ",", same(`"a"`)),
		inChat("a schema of oneOf", parameters+`{"type":"object","properties":{"a":{"oneOf":[`, `]}}}`+parametersEnd, ",",
			same(`{"type":"string","description":"d","default":1}`)),
		inChat("a schema of nested oneOf", parameters+`{"oneOf":[`, `]}`+parametersEnd, ",",
			same(strings.Repeat(`{"oneOf":[`, 12)+`{}`+strings.Repeat(`]}`, 12))),
		inChat("a schema of nullable arrays", parameters+`{"type":"object","properties":{`, `}}`+parametersEnd, ",",
			numbered(`"p%d":{"nullable":true,"type":"array","items":{"type":"object","nullable":true,`+
				`"properties":{"a":{"nullable":true}}}}`)),
		inChat("a schema of examples", parameters+`{"type":"object","properties":{"a":{"examples":[`, `]}}}`+parametersEnd,
			",", same(`"e"`)),
		inChat("a schema with a large default", parameters+`{"type":"object","properties":{"a":{"default":[`,
			`]}}}`+parametersEnd, ",", same(`[1e5,null,{"a":0.10}]`)),
		inChat("a schema with large numbers", parameters+`{"default":`, `}`+parametersEnd, "", same("12345678901234567890")),
		inChat("a Lark grammar", custom+`"lark","definition":"`, customEnd, "", same(`start: a b\na: /x+/\n`)),
		inChat("a regular expression", custom+`"regex","definition":"`, customEnd, "", same("(a|b)*[^c-d]{1,9}.")),
		inChat("many Lark grammars", hi+`"tools":[`, `]`, ",", around(`{"type":"custom","custom":{"name":"f",`+
			`"format":{"type":"grammar","grammar":{"syntax":"lark","definition":"`, letters(small+" ", 60_000), `"}}}}`)),
		inChat("many regular expressions", hi+`"tools":[`, `]`, ",", same(`{"type":"custom","custom":{"name":"f",`+
			`"format":{"type":"grammar","grammar":{"syntax":"regex","definition":"`+strings.Repeat("(a|b)*.", 1000)+`"}}}}`)),
		inChat("nested groups of regular expressions", hi+`"tools":[`, `]`, ",",
			same(`{"type":"custom","custom":{"name":"f","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"`+
				strings.Repeat("(", 8000)+strings.Repeat(")*", 8000)+`"}}}}`)),
		inChat("a format", format+`{"type":"object","properties":{`, `}}`+formatEnd, ",",
			numbered(`"p%d":{"type":"string"}`)),
		inChat("a format's description", hi+`"response_format":{"type":"json_schema","json_schema":{"name":"n",`+
			`"schema":{},"description":"`, `"}}`, "", words),
		inResponses("namespaces", `"input":"Hi","tools":[`, `]`, ",",
			numbered(`{"type":"namespace","name":"n%d","tools":[{"type":"function","name":"f"}]}`)),
		inResponses("a namespace", `"input":"Hi","tools":[{"type":"namespace","name":"n","description":"d","tools":[`, `]}]`,
			",", numbered(`{"type":"function","name":"f%d","description":"d"}`)),
		inResponses("tools", `"input":"Hi","tools":[`, `]`, ",", numbered(`{"type":"function","name":"f%d","strict":true,`+
			`"parameters":{"type":"object","properties":{"a":{"type":"string"}}}}`)),
		inResponses("tools that nobody runs", `"input":"Hi","tools":[`, `]`, ",", same(`{"type":"web_search"}`)),
		inResponses("a format", `"input":"Hi","text":{"format":{"type":"json_schema","name":"n","schema":{"enum":[`, `]}}}`,
			",", numbered(`"v%d"`)),
	}
}

// fieldFamilies returns requests with a large member that is neither text nor tools.
func fieldFamilies() []Family {
	return []Family{
		inChat("chat_template_kwargs", hi+`"chat_template_kwargs":{`, `}`, ",", numbered(`"k%d":[0]`)),
		inChat("chat_template_kwargs, one text", hi+`"chat_template_kwargs":{"reasoning_effort":"`, `"}`, "",
			letters(small, 64)),
		inChat("metadata", hi+`"metadata":{`, `}`, ",", numbered(`"k%d":"v"`)),
		inChat("one long metadatum", hi+`"metadata":{"k":"`, `"}`, "", same(`\u0061`)),
		inChat("stop sequences", hi+`"stop":[`, `]`, ",", same(`"a"`)),
		inChat("one long stop sequence", hi+`"stop":"`, `"`, "", letters(small, 64)),
		inChat("logit_bias", hi+`"logit_bias":{`, `}`, ",", numbered(`"%d":1`)),
		inChat("stop_token_ids", hi+`"stop_token_ids":[`, `]`, ",", numbered(`%d`)),
		inChat("modalities", hi+`"modalities":[`, `]`, ",", same(`"text"`)),
		inChat("a prediction", hi+`"prediction":{"type":"content","content":"`, `"}`, "", words),
		inChat("unknown members", hi, `"z":0`, "", numbered(`"u%d":0,`)),
		inChat("a long key", hi+`"`, `":0`, "", letters(small, 64)),
		inChat("a key of escapes", hi+`"`, `":0`, "", same(`\u006b`)),
		inChat("doubled keys", hi, `"z":0`, "", same(`"temperature":1,`)),
		inChat("models without end", hi, `"z":0`, "", same(`"model":"`+Model+`",`)),
		inChat("a long number", hi+`"temperature":0.`, ``, "", same("1234567890")),
		inChat("a number with a long exponent", hi+`"temperature":1e`, ``, "", same("1234567890")),
		inChat("a long integer", hi+`"max_tokens":1`, ``, "", same("1234567890")),
		inChat("numbers", hi+`"x":[`, `]`, ",",
			func(_ int, rng *rand.Rand) string { return []string{"0", "-1.5e-7", "1234567890"}[rng.IntN(3)] }),
		inChat("empty lists", hi+`"x":[`, `]`, ",", same(`[]`)),
		inChat("nested lists", hi+`"x":[`, `]`, ",", same(strings.Repeat("[", 126)+strings.Repeat("]", 126))),
		inChat("nesting too deep, at the end", hi+`"x":[`, `,`+strings.Repeat("[", 200)+`]`, ",", same(`[0]`)),
		inChat("white space", hi+` `, `"z":0`, "", same(" \t\n\r")),
		inChat("white space between values", hi+`"x":[`, `]`, " , ", same("0")),
		inChat("cut short", hi+`"x":"`, ``, "", words),
		inChat("a model that is not there", hi[:len(hi)-1]+`,"metadata":{"k":"`, `"},"model":"x"`, "", words),
	}
}
