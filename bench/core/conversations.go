package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

type object map[string]any

// conversation returns a conversation in the reference's JSON with so many messages and tools: a system and a developer
// message, then an agent's turns. Each text is another part of prose.
func conversation(prose string, size, tools int) ([]byte, error) {
	at := 0
	text := func(n int) string {
		t := cut(prose[at%(len(prose)-10_000):], n)
		at += n
		return t
	}
	all := []object{
		{"role": "system", "content": []object{{
			"type": "system_content", "model_identity": "You are ChatGPT, a large language model trained by OpenAI.",
			"reasoning_effort": "Medium", "knowledge_cutoff": "2024-06", "conversation_start_date": "2026-01-15",
			"channel_config": object{"valid_channels": []string{"analysis", "commentary", "final"}, "channel_required": true},
		}}},
		{"role": "developer", "content": []object{developer(text(300), tools)}},
	}
	for len(all) < size {
		tool := fmt.Sprintf("functions.tool_%d", len(all)%max(tools, 1))
		for _, m := range []object{
			{"role": "user", "content": text(200)},
			{"role": "assistant", "channel": "analysis", "content": text(350)},
			{"role": "assistant", "channel": "commentary", "recipient": tool, "content_type": "<|constrain|>json",
				"content": `{"query":"light and colours","limit":5,"after":"2026-01-01"}`},
			{"role": "tool", "name": tool, "recipient": "assistant", "channel": "commentary",
				"content": `{"results":[{"title":` + quoted(text(60)) + `,"score":0.93},{"title":` + quoted(text(60)) +
					`,"score":0.51}]}`},
			{"role": "assistant", "channel": "final", "content": text(500)},
		} {
			if len(all) < size {
				all = append(all, m)
			}
		}
	}
	return json.Marshal(object{"messages": all})
}

func developer(instructions string, tools int) object {
	content := object{"type": "developer_content", "instructions": instructions}
	if tools == 0 {
		return content
	}
	var list []object
	for i := range tools {
		list = append(list, object{
			"name": fmt.Sprintf("tool_%d", i), "description": fmt.Sprintf("Looks things up in collection %d.", i),
			"parameters": object{
				"type": "object", "required": []string{"query"},
				"properties": object{
					"query": object{"type": "string", "description": "What to look for."},
					"limit": object{"type": "integer", "description": "How many at most.", "default": 10},
					"order": object{"type": "string", "enum": []string{"newest", "oldest", "best"}},
					"tags":  object{"type": "array", "items": object{"type": "string"}},
				},
			},
		})
	}
	content["tools"] = object{"functions": object{"name": "functions", "tools": list}}
	return content
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string can always be encoded
	return string(b)
}

// answer returns the token ids, little-endian, of a model's output after "<|start|>assistant": analysis, a call, and an
// answer.
func answer(all []corpus) (ids []byte, count int) {
	const assistant = "<|start|>assistant"
	prose, code, mixed := all[0].text, all[1].text, all[2].text
	tokens := o200k.Tokenizer().AppendEncodeSpecial(
		nil, "<|channel|>analysis<|message|>"+cut(prose, 8000)+cut(mixed, 1500)+"<|end|>"+
			assistant+"<|channel|>final<|message|>"+cut(prose[20_000:], 8000)+cut(code, 2000)+"<|end|>"+
			assistant+" to=functions.write<|channel|>commentary <|constrain|>json<|message|>"+`{"text":`+quoted(cut(code, 1500))+
			"}<|call|>")
	for _, id := range tokens {
		ids = binary.LittleEndian.AppendUint32(ids, id)
	}
	return ids, len(tokens)
}
