package main

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

const (
	callFirst  = "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>"
	callSecond = "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
	user       = "<|start|>user<|message|>Hi<|end|>"
)

// TestRenderingRules has renderings of openai-harmony and of oss-harmony, and the rules that explain the difference.
func TestRenderingRules(t *testing.T) {
	tk := o200k.Tokenizer()
	rendered := func(text string) *vectors.Rendered {
		return &vectors.Rendered{IDs: tk.AppendEncodeSpecial(nil, text)}
	}
	for _, tt := range []struct {
		name, theirs, oss string
		rules             []string
	}{
		{"equal", user + callFirst, user + callFirst, nil},
		{"call", user + callFirst, user + callSecond, []string{ruleConstrain, ruleRecipient}},
		{"result", "<|start|>f to=assistant<|channel|>commentary<|message|>r<|end|>",
			"<|start|>f<|channel|>commentary to=assistant<|message|>r<|end|>", []string{ruleRecipient}},
		{"type on analysis", "<|start|>assistant to=python<|channel|>analysis code<|message|>1<|call|>",
			"<|start|>assistant to=python<|channel|>analysis <|constrain|>code<|message|>1<|call|>", []string{ruleConstrain}},
		{"number", "<|start|>developer<|message|>// default: 1e20\n<|end|>",
			"<|start|>developer<|message|>// default: 1e+20\n<|end|>", []string{ruleNumbers}},
		{"two messages", callFirst + user + callFirst, callSecond + user + callSecond,
			[]string{ruleConstrain, ruleRecipient, ruleConstrain, ruleRecipient}},
	} {
		rules, err := ossRendering(tk, rendered(tt.theirs), rendered(tt.oss))
		if err != nil || !slices.Equal(rules, tt.rules) {
			t.Errorf("%s: %v, %v", tt.name, rules, err)
		}
	}
	for _, tt := range []struct{ name, theirs, oss string }{
		{"a message more", user, user + user},
		{"another text", user, "<|start|>user<|message|>Ho<|end|>"},
		{"another end", callFirst, "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|end|>"},
		{"moved behind another channel", "<|start|>assistant to=f<|channel|>analysis<|message|>1<|call|>",
			"<|start|>assistant<|channel|>analysis to=f<|message|>1<|call|>"},
		{"another recipient", callFirst,
			"<|start|>assistant<|channel|>commentary to=functions.g <|constrain|>json<|message|>{}<|call|>"},
		{"another type", callFirst,
			"<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>code<|message|>{}<|call|>"},
		{"the rules, the other way round", callSecond, callFirst},
		{"another number", "<|start|>user<|message|>1e20<|end|>", "<|start|>user<|message|>1e+21<|end|>"},
		{"cut", "<|start|>assistant", "<|start|>assistant to"},
	} {
		if rules, err := ossRendering(tk, rendered(tt.theirs), rendered(tt.oss)); err == nil {
			t.Errorf("%s is explained by %q", tt.name, rules)
		}
	}
	failed := &vectors.Rendered{Error: &vectors.Error{Class: "HarmonyError", Message: "no"}}
	if _, err := ossRendering(tk, failed, failed); err != nil {
		t.Error(err)
	}
	other := &vectors.Rendered{Error: &vectors.Error{Class: "HarmonyError", Message: "never"}}
	for _, oss := range []*vectors.Rendered{rendered(user), other} {
		if _, err := ossRendering(tk, failed, oss); err == nil {
			t.Errorf("%+v is explained", oss)
		}
	}
}

// TestChannelsRule holds headers with several channels, as oss-harmony reads them.
func TestChannelsRule(t *testing.T) {
	for header, want := range map[string]string{
		"<|channel|>final":                                "<|channel|>final",
		"<|channel|>final<|channel|>":                     "<|channel|>final",
		"<|channel|>final<|channel|>analysis to=f":        "<|channel|>final to=f",
		"<|channel|>a to=f<|channel|>b json":              "<|channel|>a to=f json",
		"<|channel|>a<|channel|>b<c>":                     "<|channel|>a<c>",
		"<|channel|>a<|channel|>b<|channel|>c\u3000x":     "<|channel|>a\u3000x",
		"<|channel|><|channel|>final <|constrain|>json":   "<|channel|> <|constrain|>json",
		"assistant to=f <|constrain|>json, without any":   "assistant to=f <|constrain|>json, without any",
		"<|channel|>a<|constrain|><|channel|>json<|start": "<|channel|>a<|constrain|><|start",
	} {
		if got, changed := laterChannels(header); got != want || changed != (got != header) {
			t.Errorf("%q: %q, %v, want %q", header, got, changed, want)
		}
	}
}

// TestStreamRules compares with recorded steps, and with changed ones.
func TestStreamRules(t *testing.T) {
	tk := o200k.Tokenizer()
	role := "assistant"
	record := func(text string) (v vectors.Stream) {
		v = vectors.Stream{Role: &role, Strict: true, Ended: true}
		for _, id := range tk.AppendEncodeSpecial(nil, text) {
			v.Tokens = append(v.Tokens, int64(id))
		}
		o := ossParser{t: tk, p: harmony.NewStrictParser(tk, harmony.Assistant, true), strict: true}
		for _, token := range v.Fed() {
			v.Steps = append(v.Steps, o.step(token))
		}
		v.Messages = harmony.AppendMessages(nil, o.p.Messages())
		return v
	}
	const twice = "<|channel|>final<|channel|>analysis<|message|>Hi<|end|>"
	v := record(twice)
	if rules, err := ossStream(tk, &v, &v); err != nil || !slices.Equal(rules, []string{ruleChannels}) {
		t.Errorf("%q, %v", rules, err)
	}
	once := record("<|channel|>final<|message|>Hi<|end|>")
	if rules, err := ossStream(tk, &once, &once); err != nil || rules != nil {
		t.Errorf("%q, %v", rules, err)
	}
	if _, err := ossStream(tk, &once, &v); err == nil {
		t.Error("two streams are compared")
	}
	for name, change := range map[string]func(v *vectors.Stream){
		"channel":  func(v *vectors.Stream) { v.Steps[4].Channel = nil },
		"message":  func(v *vectors.Stream) { v.Messages = []byte("[]") },
		"too few":  func(v *vectors.Stream) { v.Steps = v.Steps[1:] },
		"an error": func(v *vectors.Stream) { v.Steps[2].Error = &role },
	} {
		changed := record(twice)
		change(&changed)
		if _, err := ossStream(tk, &v, &changed); err == nil {
			t.Errorf("%s: the difference is not found", name)
		}
	}
}
