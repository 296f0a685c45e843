package harmony

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Run these by: go test -run '^$' -bench . -count 10 ./harmonycore/harmony | benchstat -

// answer is the output of a model that reasons, calls a tool and answers. Each of the three grows with n.
func answer(n int) string {
	return "<|channel|>analysis<|message|>" +
		strings.Repeat("The user wants to know the weather, so we need to call get_weather. ", n) +
		"<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"places\":[" +
		strings.Repeat(`"Tokyo, Japan",`, n) + "\"Rome\"]}<|end|><|start|>assistant<|channel|>final<|message|>" +
		strings.Repeat("It is sunny in Tōkyō (22 °C) – 晴れ ☀️ 🌞.\n", n) + "<|return|>"
}

// perToken reports the time since start, which is when the loop began: TinyGo's testing.B has no clock to read.
func perToken(b *testing.B, start time.Time, tokens int) {
	b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(b.N)/float64(tokens), "ns/token")
	b.ReportAllocs()
}

// BenchmarkStrict observes everything after every token.
func BenchmarkStrict(b *testing.B) {
	ids := tokens(answer(40))
	seen := 0
	start := time.Now()
	for b.Loop() {
		p := NewStrictParser(o200k.Tokenizer(), Assistant, true)
		for _, id := range ids {
			if err := p.Process(id); err != nil {
				b.Fatal(err)
			}
			seen += int(p.State()) + int(p.Role()) + len(p.Channel().Value) + len(p.Recipient().Value) + len(
				p.ContentType().Value) +
				len(p.LastDelta().Value) + len(p.Content())
		}
	}
	perToken(b, start, len(ids))
}

func BenchmarkStream(b *testing.B) {
	ids := tokens(answer(40))
	sink := &discard{}
	start := time.Now()
	for b.Loop() {
		p := NewStreamParser(o200k.Tokenizer(), sink)
		for _, id := range ids {
			p.Process(id)
		}
		p.Finish()
	}
	perToken(b, start, len(ids))
}

// BenchmarkStrictCheck is what it costs to know what a strict parser would have said.
func BenchmarkStrictCheck(b *testing.B) {
	ids := tokens(answer(40))
	start := time.Now()
	for b.Loop() {
		c := NewStrictCheck(o200k.Tokenizer())
		for _, id := range ids {
			c.Process(id)
		}
		if c.Finish(); c.Err() != nil {
			b.Fatal(c.Err())
		}
	}
	perToken(b, start, len(ids))
}

// BenchmarkText has one token in a chunk, as servers send them.
func BenchmarkText(b *testing.B) {
	for _, bb := range []struct {
		name string
		o    TextOptions
		text func(string) string
	}{
		{"printed", TextOptions{}, func(s string) string { return s }},
		{"stripped", TextOptions{Dialect: Stripped}, stripMarkers},
		{"split", TextOptions{Dialect: Split}, stripMarkers},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var chunks [][]byte
			for _, id := range tokens(bb.text(answer(40))) {
				chunk, _ := o200k.Tokenizer().TokenBytes(id)
				chunks = append(chunks, chunk)
			}
			sink := &discard{}
			start := time.Now()
			for b.Loop() {
				p := NewTextParser(sink, bb.o)
				for _, chunk := range chunks {
					p.Write(chunk, 0)
				}
				p.Finish()
			}
			perToken(b, start, len(chunks))
		})
	}
}

// stripMarkers is what a server prints that skips special tokens.
func stripMarkers(text string) string {
	for id := uint32(tokenizer.FirstSpecial); id <= tokenizer.Call; id++ {
		name, _ := tokenizer.SpecialName(id)
		text = strings.ReplaceAll(text, name, "")
	}
	return text
}

// conversation has tools, a system and a developer message, and then turns of five messages.
func conversation(turns, tools int) *Conversation {
	c := &Conversation{}
	system := &SystemContent{ModelIdentity: Some("You are ChatGPT, a large language model trained by OpenAI."),
		KnowledgeCutoff:       Some("2024-06"),
		ConversationStartDate: Some("2026-01-01"), Effort: Medium,
		Channels: &ChannelConfig{Valid: []string{Analysis, Commentary, Final}, Required: true}}
	developer := &DeveloperContent{Instructions: Some("Answer in short sentences, and name your sources.")}
	if tools > 0 {
		developer.Tools = []Namespace{{Key: functionsNamespace, Name: functionsNamespace}}
	}
	for i := range tools {
		schema, err := ParseSchema(
			[]byte(
				`{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},
			"format":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"},"days":{"type":"array","items":{"type":"integer"}}},"required":["location"]}`))
		if err != nil {
			panic(err)
		}
		developer.Tools[0].Tools = append(developer.Tools[0].Tools, ToolDescription{Name: "get_weather_" + strconv.Itoa(i),
			Description: "Gets the current weather in the provided location.", Parameters: schema})
	}
	add := func(role Role, name, recipient, channel, typ, text string) {
		optional := func(s string) Optional { return Optional{s, s != ""} }
		c.Messages = append(c.Messages, Message{
			Role: role, Name: optional(name), Recipient: optional(recipient), Channel: optional(channel),
			ContentType: optional(typ), Content: Text(text)})
	}
	c.Messages = append(c.Messages, Message{Role: System, Content: []Content{{System: system}}},
		Message{Role: Developer, Content: []Content{{Developer: developer}}})
	for range turns {
		add(User, "", "", "", "", "What is the weather like in Tokyo today, and what should I wear when I go out in the "+
			"evening?")
		add(Assistant, "", "", Analysis, "", "The user asks for the weather. We need to call the tool get_weather with "+
			"the location Tokyo.")
		add(Assistant, "", "functions.get_weather_0", Commentary, "<|constrain|>json",
			`{"location":"Tokyo, Japan","format":"celsius","days":[1,2]}`)
		add(Tool, "functions.get_weather_0", "assistant", Commentary, "",
			`{"temperature":20,"sunny":true,"wind":{"speed":12,"direction":"NW"}}`)
		add(Assistant, "", "", Final, "", "It is sunny in Tokyo, 20 °C with a light wind from the north-west. A light "+
			"jacket will do in the evening.")
	}
	add(User, "", "", "", "", "And tomorrow?")
	return c
}

func BenchmarkRender(b *testing.B) {
	for _, bb := range []struct {
		name         string
		turns, tools int
	}{{"3", 0, 0}, {"43-10tools", 8, 10}, {"203-50tools", 40, 50}} {
		b.Run(bb.name, func(b *testing.B) {
			c := conversation(bb.turns, bb.tools)
			r := NewRenderer(o200k.Tokenizer())
			var ids []uint32
			start := time.Now()
			for b.Loop() {
				var err error
				if ids, err = r.AppendCompletion(ids[:0], c, Assistant, KeepAnalysis); err != nil {
					b.Fatal(err)
				}
			}
			perToken(b, start, len(ids))
			b.ReportMetric(float64(len(ids)), "tokens")
		})
	}
}
