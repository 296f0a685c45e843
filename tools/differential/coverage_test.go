package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

func TestClasses(t *testing.T) {
	tk := o200k.Tokenizer()
	byText := func(text string) int64 {
		ids := tk.AppendEncodeSpecial(nil, text)
		if len(ids) != 1 {
			t.Fatalf("%q is %v", text, ids)
		}
		return int64(ids[0])
	}
	rune4 := tk.AppendEncode(nil, "🜁")
	var covered []string
	for _, tt := range []struct {
		token int64
		want  string
	}{
		{byText("<|start|>"), "<|start|>"}, {byText("<|end|>"), "<|end|>"}, {byText("<|return|>"), "<|return|>"},
		{byText("<|call|>"), "<|call|>"},
		{byText("<|channel|>"), "<|channel|>"}, {byText("<|message|>"), "<|message|>"},
		{byText("<|constrain|>"), "<|constrain|>"},
		{vectors.EOS, "end of the stream"}, {tokenizer.EndOfText, "<|startoftext|> …"}, {200018, "reserved"},
		{201089, "unknown id"},
		{int64(rune4[0]), "rune's beginning"}, {int64(rune4[len(rune4)-1]), "rune's rest, bad bytes"},
		{byText(" user"), "a role's word"},
		{byText("final"), "a channel's name"}, {byText(" json"), "a type's name"}, {byText(" to"), "to, =, to="},
		{byText("="), "to, =, to="},
		{byText("\n"), "ASCII space"}, {byText("\u3000"), "Unicode's space"}, {byText("<"), "spelling of markers"},
		{byText(" the"), "word after a space"},
		{byText("é"), "not ASCII"}, {byText("123"), "digits"}, {byText("?!"), "signs"}, {byText("Hello"), "word"},
	} {
		if got := classNames[classOf(tk, tt.token)]; got != tt.want {
			t.Errorf("token %d is %q, want %q", tt.token, got, tt.want)
		}
		covered = append(covered, tt.want)
	}
	for _, name := range classNames {
		if !slices.Contains(covered, name) {
			t.Errorf("no token above is %q", name)
		}
	}
}

func TestStates(t *testing.T) {
	tk := o200k.Tokenizer()
	var covered []string
	for _, tt := range []struct {
		role harmony.Role
		text string
		want string
	}{
		{0, "", "start"}, {harmony.User, "<|channel|><|message|>", "start, role given"}, {0, "<|start|>", "header"},
		{0, "<|start|>user", "header begun"},
		{harmony.User, "", "header, role given"}, {harmony.User, "x", "header begun, role given"},
		{harmony.User, "<|message|>x", "content"},
		{harmony.User, "<|message|>«CUT»", "content, rune cut"},
		{harmony.User, "<|message|>«UNKNOWN»x", "content, unknown id"},
		{harmony.User, "<|message|>«UNKNOWN»<|end|>", "start"}, {harmony.User, "x<|message|>", "content"},
	} {
		k := tracker{t: tk}
		p := harmony.NewStrictParser(tk, tt.role, true)
		text := strings.NewReplacer("«CUT»", "\x01", "«UNKNOWN»", "\x02").Replace(tt.text)
		for _, id := range tk.AppendEncodeSpecial(nil, text) {
			switch id {
			case tk.AppendEncode(nil, "\x01")[0]:
				id = tk.AppendEncode(nil, "🜁")[0]
			case tk.AppendEncode(nil, "\x02")[0]:
				id = 201089
			}
			k.record(p, int64(id))
			_ = p.Process(id) // some tokens are errors
		}
		if got := stateNames[k.record(p, vectors.EOS)]; got != tt.want {
			t.Errorf("behind %q: %q, want %q", tt.text, got, tt.want)
		}
		covered = append(covered, tt.want)
	}
	for _, name := range stateNames {
		if !slices.Contains(covered, name) {
			t.Errorf("nothing above leads to %q", name)
		}
	}
}

func TestMissing(t *testing.T) {
	c := newCoverage(o200k.Tokenizer())
	all := 2*len(stateNames)*len(classNames) + len(parseErrors) + len(renderErrors) + len(ossRules)
	if err := c.missing(1); err == nil || strings.Count(err.Error(), "\n") != all {
		t.Errorf("nothing is met, and yet: %v", err)
	}
	for flag := range c.pairs {
		for state := range c.pairs[flag] {
			for class := range c.pairs[flag][state] {
				c.pairs[flag][state][class] = 100
			}
		}
	}
	for _, beginning := range slices.Concat(parseErrors, renderErrors) {
		c.errors[beginning] = 100
	}
	for range 100 {
		c.rules(ossRules)
	}
	if err := c.missing(100); err != nil {
		t.Errorf("all is met, and yet: %v", err)
	}
	c.countError(parseErrors, "something new")
	c.pairs[1][0][0] = 99
	if err := c.missing(100); err == nil || !strings.Contains(err.Error(), "something new") ||
		!strings.Contains(err.Error(), `<|start|> in state "start" with strict=true: 99`) {
		t.Errorf("got %v", err)
	}
}
