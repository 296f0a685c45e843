package sim

import (
	"fmt"
	"io"
	"slices"
)

func (llamacpp) leading(*job) []byte { return nil }

// event has an event for each token. While the text so far ends within a character there is none: the one that
// completes the character comes with the last of its ids, and the others never come.
func (llamacpp) event(j *job, index, from, to int) []byte {
	var out []byte
	shown := llamaShown(j)
	for i := from; i < to; i++ {
		if shown[i] != nil {
			out = append(out, frame(object{{"index", index}, {"content", *shown[i]}, {"tokens", j.gen.ids[i : i+1]},
				{"stop", false}, {"id_slot", -1}, {"tokens_predicted", i + 1}, {"tokens_evaluated", len(j.c.ids)}})...)
		}
	}
	return out
}

// llamaShown returns the text that comes with each token, or nil for a token that comes never.
func llamaShown(j *job) []*string {
	own := llamaOf(j)
	if own.shown != nil {
		return own.shown
	}
	var text []byte
	sent := 0
	for _, id := range j.gen.ids {
		if text = append(text, llamaText(j, id)...); endsWithin(text) {
			own.shown = append(own.shown, nil)
			continue
		}
		piece := lossy(text[sent:])
		own.shown = append(own.shown, &piece)
		sent = len(text)
	}
	return own.shown
}

// llamaText returns what the server shows of a token. The ends of an answer are hidden unless the request preserves
// them.
func llamaText(j *job, id uint32) []byte {
	if slices.Contains(eos, id) && !slices.Contains(llamaOf(j).preserved, id) {
		return nil
	}
	text, _ := j.s.tok.TokenBytes(id)
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

// trailing has the last event of each choice.
func (llamacpp) trailing(j *job) []byte {
	var out []byte
	for i := range j.c.choices() {
		out = append(out, frame(llamaEnd(j, i, "", nil))...)
	}
	return out
}

// llamaEnd returns a choice's last event, or its whole answer.
func llamaEnd(j *job, index int, content string, ids []uint32) object {
	stopType := "none"
	switch j.gen.finish {
	case "stop":
		stopType = "eos"
	case "length":
		stopType = "limit"
	}
	// At least one token of a prompt is read anew.
	prompt, _ := j.s.tok.AppendDecode(nil, j.c.ids)
	predicted, cached := len(j.gen.ids), min(j.cached, len(j.c.ids)-1)
	all := object{
		{"index", index}, {"content", content}, {"tokens", list(ids)}, {"id_slot", 0}, {"stop", true},
		{"model", j.s.opt.Models[0]}, {"tokens_predicted", predicted}, {"tokens_evaluated", len(j.c.ids)},
		{"generation_settings", struct{}{}}, {"prompt", lossy(prompt)}, {"has_new_line", false},
		{"truncated", stopType == "limit" && predicted+len(j.c.ids) >= j.s.opt.MaxModelLen}, {"stop_type", stopType},
		{"stopping_word", ""}, {"tokens_cached", len(j.c.ids) + predicted - 1},
		{"timings", object{{"cache_n", cached}, {"prompt_n", len(j.c.ids) - cached}, {"predicted_n", predicted}}},
	}
	if len(llamaOf(j).fields) == 0 {
		return all
	}
	var chosen object
	for _, name := range llamaOf(j).fields {
		for _, m := range all {
			if m.name == name {
				chosen = append(chosen, m)
			}
		}
	}
	return chosen
}

// whole returns one object, or a list of several. It has all ids, if the request asks for them, and all text.
func (llamacpp) whole(j *job) []byte {
	var text []byte
	for _, id := range j.gen.ids {
		text = append(text, llamaText(j, id)...)
	}
	var ids []uint32
	if llamaOf(j).returnTokens {
		ids = j.gen.ids
	}
	var all []object
	for i := range j.c.choices() {
		all = append(all, llamaEnd(j, i, lossy(text), ids))
	}
	if len(all) == 1 {
		return mustJSON(all[0])
	}
	return mustJSON(all)
}

// metrics writes llama.cpp's names. The counters of a request move when it ends.
func (llamacpp) metrics(w io.Writer, m *metrics, _ string, capacity int) {
	c := m.counts(capacity)
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
