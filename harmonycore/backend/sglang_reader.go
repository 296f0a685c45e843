package backend

import (
	"bytes"
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// maxSGLangChoices is how many choices of a stream an sglangReader distinguishes. OpenAI's API has no larger n.
const maxSGLangChoices = 128

// sglangReader reads the events of one stream of SGLang's /generate. An event has either all that its choice has
// generated so far, or what is new, depending on the server's --incremental-streaming-output. The event does not say
// which, so the reader compares the number of ids with meta_info.completion_tokens, which always counts all of them.
//
// While events repeat what came before, the reader tells its trimmer how much to leave out, so that an answer takes as
// much memory as its largest step. The part of an event to leave out is known once the event before it has been read
// (RATIONALE.md#99).
type sglangReader struct {
	trimmer sglangTrimmer
	// repeated is for events that are read by their template. They do not come to the trimmer.
	repeated repetition
	form     sglangForm
	// indexed reports whether events have named their choice. They do if there are several.
	indexed bool
	choices []sglangChoice
	usage   Usage
}

// sglangForm says how a server's events follow each other.
type sglangForm uint8

const (
	// sglangUndecided: no choice has had a second event.
	sglangUndecided sglangForm = iota
	// sglangCumulative: an event has all that came before it.
	sglangCumulative
	// sglangIncremental: an event has only what is new.
	sglangIncremental
)

// sglangChoice is the state of one choice.
type sglangChoice struct {
	// seen is the number of tokens read.
	seen int
	// completion is the server's count of tokens.
	completion int
}

// sglangEvent holds the parts of an event that matter, as JSON.
type sglangEvent struct {
	ids, logprobs, top []byte
	hasIDs, hasMeta    bool
	// completion is the number of tokens generated so far. It is -1 if the event does not tell.
	completion, prompt, cached int
	hasCached                  bool
	finish                     []byte
}

// read reads the data of one event. It reports whether it understood the data.
func (r *sglangReader) read(data []byte, e *Event) bool {
	// The trimmer leaves out of all arrays that have these names, wherever they are. The template knows of one.
	r.repeated.off = r.repeated.off || bytes.Count(data, outputKey) > 1
	understood := r.readEvent(data, e)
	r.trimmer.dropped = 0
	return understood
}

// outputKey is how the keys begin whose arrays are trimmed.
var outputKey = []byte(`"output_`)

// fitted reads the new tokens of an event that was read by its template, which has neither logprobs nor an end.
func (r *sglangReader) fitted(e *Event) bool {
	r.trimmer.dropped = r.repeated.dropped
	follows := r.advance(&sglangEvent{completion: e.counted}, e)
	r.trimmer.dropped = 0
	return follows
}

func (r *sglangReader) readEvent(data []byte, e *Event) bool {
	e.reset()
	if rawjson.View(data) == "[DONE]" {
		e.Done = true
		return true
	}
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return false
	}
	in := sglangEvent{completion: -1}
	it := rawjson.Members(data)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "error":
			if it.Kind != rawjson.Null {
				e.Error = readErrorValue(it.Value, it.Kind)
			}
		case "index":
			e.Index = readIndex(it.Value, it.Kind)
			r.indexed = true
		case "output_ids":
			in.ids, in.hasIDs = it.Value, it.Kind == rawjson.Array
		case "meta_info":
			if in.hasMeta = it.Kind == rawjson.Object; in.hasMeta {
				in.readMeta(it.Value)
			}
		}
	}
	switch {
	case e.Error != nil:
		return true
	case !in.hasMeta:
		return false
	}
	if in.finish != nil && in.readFinish(e) {
		return true
	}
	if !in.hasIDs {
		e.Error = &Error{Status: 502, Message: "the inference server answers without output_ids; it is too old an SGLang"}
		return true
	}
	return r.advance(&in, e)
}

func (in *sglangEvent) readMeta(meta []byte) {
	it := rawjson.Members(meta)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "finish_reason":
			if it.Kind == rawjson.Object {
				in.finish = it.Value
			}
		case "prompt_tokens":
			in.prompt = max(readIndex(it.Value, it.Kind), 0)
		case "completion_tokens":
			in.completion = readIndex(it.Value, it.Kind)
		case "cached_tokens":
			in.cached = readIndex(it.Value, it.Kind)
			in.hasCached = in.cached >= 0
		case "output_token_logprobs":
			if it.Kind == rawjson.Array {
				in.logprobs = it.Value
			}
		case "output_top_logprobs":
			if it.Kind == rawjson.Array {
				in.top = it.Value
			}
		}
	}
}

// readFinish reads the reason of an end. It reports whether the server gave up, and the event has nothing else. The ids
// of such an event are not read: the last of them may be repeated.
func (in *sglangEvent) readFinish(e *Event) (aborted bool) {
	word, kind := rawjson.Find(in.finish, "type")
	if kind != rawjson.String {
		e.Finish = Aborted
		return true
	}
	if e.Finish = finishReason(word); e.Finish != Aborted {
		return false
	}
	if status, ok := readCount(in.finish, "status_code"); ok && status >= 400 && status <= 599 {
		e.Error = &Error{Status: status}
		e.Error.Message = scalar(rawjson.Find(in.finish, "message"))
	}
	return true
}

// advance reads the event's new tokens. It reports whether the event can follow the choice's earlier ones.
func (r *sglangReader) advance(in *sglangEvent, e *Event) bool {
	if e.Index < 0 || e.Index >= maxSGLangChoices {
		e.Index = -1 // which was never asked for
		e.Tokens = readIDs(e.Tokens, in.ids)
		return true
	}
	for len(r.choices) <= e.Index {
		r.choices = append(r.choices, sglangChoice{})
	}
	c := &r.choices[e.Index]
	e.Tokens = readIDs(e.Tokens, in.ids)
	total := r.trimmer.dropped + len(e.Tokens)
	if in.completion < 0 {
		return false
	}
	if c.seen > 0 && r.form == sglangUndecided {
		r.form = formOf(c.seen, total, in.completion)
	}
	repeated := 0
	if r.form == sglangCumulative {
		repeated = c.seen
		if total < c.seen || r.trimmer.dropped > c.seen {
			return false
		}
	}
	e.Tokens = append(e.Tokens[:0], e.Tokens[repeated-min(r.trimmer.dropped, repeated):]...)
	c.seen += len(e.Tokens)
	c.completion = in.completion
	if in.logprobs != nil {
		e.Logprobs = readSGLangLogprobs(e.Logprobs, in.logprobs, in.top, len(e.Tokens))
	}
	r.trimmer.skip = 0
	if r.repeated.cumulative = r.form == sglangCumulative && !r.indexed; r.repeated.cumulative {
		r.trimmer.skip = c.seen
	}
	if e.Finish != Running {
		r.count(in, e)
	}
	return true
}

// formOf returns how the events of a server follow each other, by a choice's second event. seen is how many tokens the
// first had, total how many the second has, and completion is the server's count. The numbers need not fit exactly: a
// server that predicts tokens may count some that it does not send.
func formOf(seen, total, completion int) sglangForm {
	if completion-total < seen-(completion-total) {
		return sglangCumulative
	}
	return sglangIncremental
}

// count adds up the usage of all choices, at the end of one.
func (r *sglangReader) count(in *sglangEvent, e *Event) {
	r.usage = Usage{Prompt: in.prompt, Cached: max(in.cached, 0), HasCached: in.hasCached}
	for i := range r.choices {
		r.usage.Completion += r.choices[i].completion
	}
	e.HasUsage, e.Usage = true, r.usage
}

// readSGLangLogprobs reads the last n elements of two arrays with an element per token: of the tokens themselves, and
// of the likeliest tokens in their places.
//
//	[[-0.1,7,null]]    [[[-0.1,7,null],[-2.5,9,null]]]
//
// It stops at the first element without a logprob, so the result may have fewer elements than there are tokens.
func readSGLangLogprobs(dst []TokenLogprob, tokens, top []byte, n int) []TokenLogprob {
	from, at := countElements(tokens)-n, 0
	it := rawjson.Elements(tokens)
	for it.Next() {
		if at++; at <= from {
			continue
		}
		alternative, ok := readSGLangLogprob(it.Value, it.Kind)
		if !ok {
			break
		}
		dst = appendLogprob(dst, alternative.Logprob)
	}
	from, at = countElements(top)-n, 0
	it = rawjson.Elements(top)
	for it.Next() {
		place := at - from
		if at++; place < 0 || place >= len(dst) || it.Kind != rawjson.Array {
			continue
		}
		other := rawjson.Elements(it.Value)
		for other.Next() {
			if alternative, ok := readSGLangLogprob(other.Value, other.Kind); ok {
				dst[place].Top = appendAlternative(dst[place].Top, alternative)
			}
		}
	}
	return dst
}

func countElements(array []byte) int {
	n := 0
	it := rawjson.Elements(array)
	for it.Next() {
		n++
	}
	return n
}

// readSGLangLogprob reads an array of a logprob, a token and its text. It reports whether it has the first two.
func readSGLangLogprob(data []byte, kind rawjson.Kind) (out Alternative, ok bool) {
	it := rawjson.Elements(data)
	if kind != rawjson.Array || !it.Next() || it.Kind != rawjson.Number {
		return out, false
	}
	out.Logprob = it.Value
	if !it.Next() || it.Kind != rawjson.Number {
		return out, false
	}
	id, err := strconv.ParseUint(rawjson.View(it.Value), 10, 32)
	out.ID = uint32(id)
	return out, err == nil
}
