package chatserver

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// FuzzRewritten compares a rewritten request with what encoding/json makes of the client's own.
func FuzzRewritten(f *testing.F) {
	for _, seed := range []string{
		`{"model":"x","messages":[{"role":"developer","content":"a"},` +
			`{"role":"user","content":[{"type":"text","text":"b"}]}],"stream":true,"stream_options":{"include_usage":false},"temperature":0.50}`,
		`{ "MODEL" : 1 , "model" : "\u0078", "chat_template_kwargs" : {"b" : [1, "}"], "b":2 }, "top_k" : null , ` +
			`"Stream":{}}`,
		`{"model":"x","messages":[{"role":"developer","role":"developer","Role":"d\u0065veloper",` +
			`"x":{"role":"developer"}},[],1]}`,
		`{"messages":{"role":"developer"},"model":"x","logprobs":[],"return_token_ids":false,"\u017ftream":1,"x\"":"\\"}`,
	} {
		for bits := range 16 {
			f.Add(seed, bits)
		}
	}
	f.Fuzz(func(t *testing.T, body string, bits int) {
		if _, failure := openai.Open([]byte(body)); failure != nil {
			return
		}
		c := &Changes{
			Model: "M\"", ExtraBody: `{"top_k":5,"x":{"y":"z"},"model":"no","stream":7,"messages":0}`,
			Chat:   &contract.ChatServers{TemplateKwargs: `{"a":1,"b":2}`},
			Stream: bits&1 != 0, TokenIDs: bits&2 != 0,
		}
		if bits&4 != 0 {
			c.Chat, c.ExtraBody = &contract.ChatServers{DeveloperRole: contract.DeveloperKeep}, ""
		}
		if bits&8 != 0 {
			c.Overrides = `{"max_tokens":9,"top_k":-1}`
		}
		before := strings.Clone(body)
		out, failure := AppendRewritten(nil, []byte(body), c)
		if failure != nil {
			if failure.Code != contract.CodeDuplicateKey && failure.Code != contract.CodeUnsupportedParameter {
				t.Fatalf("%s: %v", body, failure)
			}
			return
		}
		if body != before {
			t.Fatal("the client's body has changed")
		}
		if err := rawjson.Validate(out, rawjson.MaxDepth); err != nil {
			t.Fatalf("%s: %s: %v", body, out, err)
		}
		if got, want := decoded(t, out), expected(t, decoded(t, []byte(body)), c); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\n got %v\nwant %v", body, got, want)
		}
	})
}

func decoded(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return m
}

// expected changes a decoded request as [AppendRewritten] does.
func expected(t *testing.T, m map[string]any, c *Changes) map[string]any {
	own := map[string]any{"model": c.Model}
	if c.Stream {
		own["stream"], own["stream_options"] = true, map[string]any{"include_usage": true}
	}
	if c.TokenIDs {
		own["logprobs"], own["return_token_ids"] = true, true
		dropOtherCases(m, "return_tokens_as_token_ids")
		for name, value := range m {
			if strings.EqualFold(name, "top_logprobs") && value == nil {
				delete(m, name)
			}
		}
	}
	if c.Chat.DeveloperRole != contract.DeveloperKeep {
		if messages, ok := m["messages"]; ok {
			own["messages"] = systemRoles(messages)
		}
		dropOtherCases(m, "messages")
	}
	if c.Chat.TemplateKwargs != "" {
		kwargs := decoded(t, []byte(c.Chat.TemplateKwargs))
		client := m["chat_template_kwargs"]
		if members, ok := client.(map[string]any); ok {
			for name, value := range members {
				kwargs[name] = value
			}
			own["chat_template_kwargs"] = kwargs
		} else if client != nil {
			own["chat_template_kwargs"] = client
		} else {
			own["chat_template_kwargs"] = kwargs
		}
		dropOtherCases(m, "chat_template_kwargs")
	}
	if c.Overrides != "" {
		for name, value := range decoded(t, []byte(c.Overrides)) {
			own[name] = value
		}
		dropOtherCases(m, "max_completion_tokens")
	}
	for name := range own {
		dropOtherCases(m, name)
	}
	if c.ExtraBody != "" {
		for name, value := range decoded(t, []byte(c.ExtraBody)) {
			if _, given := m[name]; !given && !isOwn(name) {
				m[name] = value
			}
		}
	}
	for name, value := range own {
		m[name] = value
	}
	return m
}

func dropOtherCases(m map[string]any, name string) {
	for other := range m {
		if strings.EqualFold(other, name) {
			delete(m, other)
		}
	}
}

func systemRoles(messages any) any {
	list, ok := messages.([]any)
	if !ok {
		return messages
	}
	for _, message := range list {
		members, _ := message.(map[string]any)
		for name, value := range members {
			if strings.EqualFold(name, "role") && value == "developer" {
				members[name] = "system"
			}
		}
	}
	return list
}
