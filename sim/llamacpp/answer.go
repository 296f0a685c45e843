package llamacpp

import (
	"fmt"
	"io"
	"slices"

	"github.com/harmonyedge/harmonyedge/sim/gptoss"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

func (completion) Leading(*server.Job) []byte { return nil }

// Event has an event for each token. While the text so far ends within a character there is none: the one that
// completes the character comes with the last of its ids, and the others never come.
func (completion) Event(j *server.Job, index, from, to int) []byte {
	var out []byte
	shown := llamaShown(j)
	for i := from; i < to; i++ {
		if shown[i] != nil {
			out = append(out, server.Frame(server.Object{{"index", index}, {"content", *shown[i]}, {"tokens",
				j.Answer.IDs[i : i+1]},
				{"stop", false}, {"id_slot", -1}, {"tokens_predicted", i + 1}, {"tokens_evaluated", len(j.Asked.IDs)}})...)
		}
	}
	return out
}

// llamaShown returns the text that comes with each token, or nil for a token that comes never.
func llamaShown(j *server.Job) []*string {
	own := llamaOf(j)
	if own.shown != nil {
		return own.shown
	}
	var text []byte
	sent := 0
	for _, id := range j.Answer.IDs {
		if text = append(text, llamaText(j, id)...); endsWithin(text) {
			own.shown = append(own.shown, nil)
			continue
		}
		piece := gptoss.Lossy(text[sent:])
		own.shown = append(own.shown, &piece)
		sent = len(text)
	}
	return own.shown
}

// llamaText returns what the server shows of a token. The ends of an answer are hidden unless the request preserves
// them.
func llamaText(j *server.Job, id uint32) []byte {
	if slices.Contains(gptoss.Ends, id) && !slices.Contains(llamaOf(j).preserved, id) {
		return nil
	}
	text, _ := j.Server.Tokenizer.TokenBytes(id)
	return text
}

// endsWithin reports whether text ends within a character, as the server sees it: by the last four bytes alone.
func endsWithin(text []byte) bool {
	for n := 1; n <= 4 && n <= len(text); n++ {
		switch b := text[len(text)-n]; {
		case b&0xe0 == 0xc0:
			return n < 2
		case b&0xf0 == 0xe0:
			return n < 3
		case b&0xf8 == 0xf0:
			return n < 4
		}
	}
	return false
}

// Trailing has the last event of each choice.
func (completion) Trailing(j *server.Job) []byte {
	var out []byte
	for i := range j.Asked.Choices() {
		out = append(out, server.Frame(llamaEnd(j, i, "", nil))...)
	}
	return out
}

// llamaEnd returns a choice's last event, or its whole answer.
func llamaEnd(j *server.Job, index int, content string, ids []uint32) server.Object {
	stopType := "none"
	switch j.Answer.Finish {
	case "stop":
		stopType = "eos"
	case "length":
		stopType = "limit"
	}
	// At least one token of a prompt is read anew.
	prompt, _ := j.Server.Tokenizer.AppendDecode(nil, j.Asked.IDs)
	predicted, cached := len(j.Answer.IDs), min(j.Cached, len(j.Asked.IDs)-1)
	all := server.Object{
		{"index", index}, {"content", content}, {"tokens", server.List(ids)}, {"id_slot", 0}, {"stop", true},
		{"model", j.Server.Options.Models[0]}, {"tokens_predicted", predicted}, {"tokens_evaluated", len(j.Asked.IDs)},
		{"generation_settings", struct{}{}}, {"prompt", gptoss.Lossy(prompt)}, {"has_new_line", false},
		{"truncated", stopType == "limit" && predicted+len(j.Asked.IDs) >= j.Server.Options.MaxModelLen}, {"stop_type",
			stopType},
		{"stopping_word", ""}, {"tokens_cached", len(j.Asked.IDs) + predicted - 1},
		{"timings", server.Object{{"cache_n", cached}, {"prompt_n", len(j.Asked.IDs) - cached}, {"predicted_n", predicted}}},
	}
	if len(llamaOf(j).fields) == 0 {
		return all
	}
	var chosen server.Object
	for _, name := range llamaOf(j).fields {
		for _, m := range all {
			if m.Name == name {
				chosen = append(chosen, m)
			}
		}
	}
	return chosen
}

// Whole returns one object, or a list of several. It has all ids, if the request asks for them, and all text.
func (completion) Whole(j *server.Job) []byte {
	var text []byte
	for _, id := range j.Answer.IDs {
		text = append(text, llamaText(j, id)...)
	}
	var ids []uint32
	if llamaOf(j).returnTokens {
		ids = j.Answer.IDs
	}
	var all []server.Object
	for i := range j.Asked.Choices() {
		all = append(all, llamaEnd(j, i, gptoss.Lossy(text), ids))
	}
	if len(all) == 1 {
		return server.MustJSON(all[0])
	}
	return server.MustJSON(all)
}

// Metrics writes llama.cpp's names. The counters of a request move when it ends.
func (completion) Metrics(w io.Writer, m *server.Metrics, _ string, capacity int) {
	c := m.Counts(capacity)
	for _, one := range []struct {
		name, kind, help string
		value            float64
	}{
		{"prompt_tokens_total", "counter", "Number of prompt tokens processed.", float64(c.Prompt)},
		{"prompt_tokens_cached_total", "counter", "Number of prompt tokens reused from the cache.", float64(c.Hits)},
		{"tokens_predicted_total", "counter", "Number of generation tokens processed.", float64(c.Output)},
		{"requests_processing", "gauge", "Number of requests processing.", float64(c.Running)},
		{"requests_deferred", "gauge", "Number of requests deferred.", float64(c.Waiting)},
	} {
		fmt.Fprintf(w, "# HELP llamacpp:%s %s\n# TYPE llamacpp:%s %s\nllamacpp:%s %g\n", one.name, one.help, one.name,
			one.kind, one.name, one.value)
	}
}
