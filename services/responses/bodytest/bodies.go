package bodytest

import "strings"

// Bodies returns bodies of about a size whose values are many and small, or lie deep, by family. Most are the value of
// member. start begins each body: members with a comma after each.
func Bodies(start, member string, size int) map[string]string {
	bodies := map[string]string{}
	for name, body := range families(start, member, size) {
		bodies[name] = distinct(body)
	}
	return bodies
}

func families(start, member string, size int) map[string]string {
	list := func(element string) string {
		return `{` + start + `"` + member + `":[` + strings.Repeat(element+",", size/(len(element)+1)) + element + `]}`
	}
	inside := func(element string) string {
		return `{` + start + `"` + member + `":[{"type":"message","role":"user","content":[` +
			strings.Repeat(element+",", size/(len(element)+1)) + element + `]}]}`
	}
	return map[string]string{
		"numbers":         list(`1`),
		"empty objects":   list(`{}`),
		"empty strings":   list(`""`),
		"empty arrays":    list(`[]`),
		"nested arrays":   list(`[[[[[[1]]]]]]`),
		"tiny messages":   list(`{"role":"user","content":"x"}`),
		"references":      list(`{"id":"x"}`),
		"outputs":         list(`{"type":"function_call_output","call_id":"c","output":""}`),
		"escaped keys":    list(`{"\u0061":1}`),
		"keys of an item": `{` + start + `"` + member + `":[{` + strings.Repeat(`"a":1,`, size/6) + `"type":"message"}]}`,
		"keys of a body":  `{` + start + strings.Repeat(`"a":1,`, size/6) + `"` + member + `":[]}`,
		"other keys":      `{` + start + `"metadata":{` + strings.Repeat(`"a":"",`, size/7) + `"b":""},"` + member + `":[]}`,
		"deep":            list(strings.Repeat("[", 100) + strings.Repeat("]", 100)),
		"too deep":        `{` + start + `"x":` + strings.Repeat(`{"a":`, size/6) + `1` + strings.Repeat("}", size/6) + `}`,
		"number parts":    inside(`1`),
		"empty parts":     inside(`{}`),
		"text parts":      inside(`{"type":"input_text","text":""}`),
		"logprobs":        inside(`{"logprobs":[{}]}`),
		"reasoning":       strings.Replace(inside(`{}`), `"message","role":"user"`, `"reasoning"`, 1),
		"one text":        list(`"` + strings.Repeat("x", size) + `"`),
		"one message":     list(`{"role":"user","content":"` + strings.Repeat("x", size) + `"}`),
	}
}

// distinct makes the keys "a" of a body differ.
func distinct(body string) string {
	parts := strings.Split(body, `"a":`)
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString(`"` + strings.Repeat("k", i%7) + string(rune('0'+i%10)) + string(rune('a'+i/10%26)) +
				string(rune('a'+i/260%26)) + string(rune('a'+i/6760%26)) + `":`)
		}
		b.WriteString(part)
	}
	return b.String()
}
