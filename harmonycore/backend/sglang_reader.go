package backend

import (
	"strconv"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// maxSGLangChoices is how many choices of a stream an sglangReader distinguishes. OpenAI's API has no larger n.
const maxSGLangChoices = 128

// sglangReader is the [Reader] of SGLang's /generate. An event has either all that its choice has generated so far, or
// what is new, depending on the server's --incremental-streaming-output. The event does not say which, so the reader
// compares the number of ids with meta_info.completion_tokens, which always counts all of them.
//
// While events repeat what came before, the reader tells its trimmer how much to leave out, so that an answer takes as
// much memory as its largest step. It gives the decoder one line at a time: what is to be left out of an event is known
// once the event before it has been read (RATIONALE.md#99).
type sglangReader struct {
	trimmer sglangTrimmer
	decoder sse.Decoder
	// rest is the part of the last write that the decoder has not got yet. It is the caller's memory.
	rest []byte
	form sglangForm
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

// Write implements [Reader].
func (r *sglangReader) Write(chunk []byte) {
	if len(r.rest) == 0 {
		r.rest = chunk
		return
	}
	joined := make([]byte, 0, len(r.rest)+len(chunk))
	r.rest = append(append(joined, r.rest...), chunk...)
}

// Next implements [Reader].
func (r *sglangReader) Next(e *Event) Reading {
	for {
		if data, ok := r.decoder.Next(); ok {
			understood := r.read(data, e)
			r.trimmer.dropped = 0
			if !understood {
				return Garbled
			}
			return Read
		}
		if r.decoder.Broken() {
			r.rest = nil
			return Broken
		}
		if len(r.rest) == 0 {
			return Drained
		}
		size := min(sse.LineSize(r.rest)+1, len(r.rest))
		line := r.rest[:size]
		r.rest = r.rest[size:]
		r.decoder.Write(r.trimmer.trim(line))
	}
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
	e.reset()
	if rawjson.View(data) == "[DONE]" {
		e.Done = true
		return true
	}
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return false
	}
	in := sglangEvent{completion: -1}
	err := jsonparser.ObjectEach(data, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch rawjson.View(key) {
		case "error":
			if kind != jsonparser.Null {
				e.Error = readErrorValue(value, kind)
			}
		case "index":
			e.Index = readIndex(value, kind)
			r.indexed = true
		case "output_ids":
			in.ids, in.hasIDs = value, kind == jsonparser.Array
		case "meta_info":
			if in.hasMeta = kind == jsonparser.Object; in.hasMeta {
				in.readMeta(value)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return false
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
	_ = jsonparser.ObjectEach(meta, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch rawjson.View(key) {
		case "finish_reason":
			if kind == jsonparser.Object {
				in.finish = value
			}
		case "prompt_tokens":
			in.prompt = max(readIndex(value, kind), 0)
		case "completion_tokens":
			in.completion = readIndex(value, kind)
		case "cached_tokens":
			in.cached = readIndex(value, kind)
			in.hasCached = in.cached >= 0
		case "output_token_logprobs":
			if kind == jsonparser.Array {
				in.logprobs = value
			}
		case "output_top_logprobs":
			if kind == jsonparser.Array {
				in.top = value
			}
		}
		return nil
	})
}

// readFinish reads the reason of an end. It reports whether the server gave up, and the event has nothing else. The ids
// of such an event are not read: the last of them may be repeated.
func (in *sglangEvent) readFinish(e *Event) (aborted bool) {
	word, kind, _, err := jsonparser.Get(in.finish, "type")
	if err != nil || kind != jsonparser.String {
		e.Finish = Aborted
		return true
	}
	if e.Finish = finishReason(word); e.Finish != Aborted {
		return false
	}
	if status, ok := readCount(in.finish, "status_code"); ok && status >= 400 && status <= 599 {
		e.Error = &Error{Status: status}
		if message, kind, _, err := jsonparser.Get(in.finish, "message"); err == nil {
			e.Error.Message = scalar(message, kind)
		}
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
	e.Tokens = e.Tokens[repeated-min(r.trimmer.dropped, repeated):]
	c.seen += len(e.Tokens)
	c.completion = in.completion
	if in.logprobs != nil {
		e.Logprobs = readSGLangLogprobs(e.Logprobs, in.logprobs, in.top, len(e.Tokens))
	}
	r.trimmer.skip = 0
	if r.form == sglangCumulative && !r.indexed {
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
	from, at, invalid := countElements(tokens)-n, 0, false
	_, _ = jsonparser.ArrayEach(tokens, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
		if at++; at <= from || invalid {
			return
		}
		alternative, ok := readSGLangLogprob(value, kind)
		if invalid = !ok; !invalid {
			dst = appendLogprob(dst, alternative.Logprob)
		}
	})
	from, at = countElements(top)-n, 0
	_, _ = jsonparser.ArrayEach(top, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
		place := at - from
		if at++; place < 0 || place >= len(dst) || kind != jsonparser.Array {
			return
		}
		_, _ = jsonparser.ArrayEach(value, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
			if alternative, ok := readSGLangLogprob(value, kind); ok {
				dst[place].Top = appendAlternative(dst[place].Top, alternative)
			}
		})
	})
	return dst
}

func countElements(array []byte) int {
	n := 0
	_, _ = jsonparser.ArrayEach(array, func([]byte, jsonparser.ValueType, int, error) { n++ })
	return n
}

// readSGLangLogprob reads an array of a logprob, a token and its text. It reports whether it has the first two.
func readSGLangLogprob(data []byte, kind jsonparser.ValueType) (Alternative, bool) {
	out, at, ok := Alternative{}, 0, kind == jsonparser.Array
	if !ok {
		return out, false
	}
	_, _ = jsonparser.ArrayEach(data, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
		switch at++; {
		case at > 2:
		case kind != jsonparser.Number:
			ok = false
		case at == 1:
			out.Logprob = value
		default:
			id, err := strconv.ParseUint(rawjson.View(value), 10, 32)
			out.ID, ok = uint32(id), ok && err == nil
		}
	})
	return out, ok && at >= 2
}
