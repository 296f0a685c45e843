package backend

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// This file has what the kinds of servers share that speak OpenAI's /v1/completions.

// appendPrompt appends the ids of the prompt as an array.
func appendPrompt(dst []byte, r *Request) []byte {
	dst = append(dst, '[')
	if r.Known != nil {
		dst = r.Known(dst)
	}
	r.PromptAt = len(dst)
	from := 0
	for i, end := range r.Ends {
		dst = rawjson.AppendSomeIDs(dst, r.Prompt[from:end])
		from, r.Ends[i] = end, len(dst)-r.PromptAt
	}
	return rawjson.AppendLastIDs(dst, r.Prompt[from:])
}

// appendSampling appends the parameters that have one number.
func appendSampling(dst []byte, s *Sampling) []byte {
	dst = appendNumber(dst, `,"temperature":`, s.Temperature)
	dst = appendNumber(dst, `,"top_p":`, positive(s.TopP))
	dst = appendNumber(dst, `,"presence_penalty":`, s.PresencePenalty)
	dst = appendNumber(dst, `,"frequency_penalty":`, s.FrequencyPenalty)
	return appendNumber(dst, `,"seed":`, s.Seed)
}

func appendNumber(dst []byte, key, number string) []byte {
	if number == "" {
		return dst
	}
	return append(append(dst, key...), number...)
}

// positive replaces a top_p of 0, which OpenAI's API allows and vLLM refuses, by the smallest probability mass. It
// leaves one token.
func positive(topP string) string {
	if n, err := strconv.ParseFloat(topP, 64); err == nil && n == 0 {
		return "1e-6"
	}
	return topP
}

func appendBiases(dst []byte, biases []Bias) []byte {
	if len(biases) == 0 {
		return dst
	}
	dst = append(dst, `,"logit_bias":{`...)
	for i, b := range biases {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendInt(append(dst, '"'), int64(b.Token))
		dst = append(append(dst, `":`...), b.Value...)
	}
	return append(dst, '}')
}

// readCompletions reads the data of one event. read reads its choice. It reports whether it understood the data.
func readCompletions(data []byte, e *Event, read func(choice []byte, e *Event)) bool {
	e.reset()
	if rawjson.View(data) == "[DONE]" {
		e.Done = true
		return true
	}
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return false
	}
	understood := false
	it := rawjson.Members(data)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "error":
			if it.Kind != rawjson.Null {
				e.Error = readErrorValue(it.Value, it.Kind)
				understood = true
			}
		case "choices":
			if it.Kind == rawjson.Array {
				understood = true
				readChoices(it.Value, e, read)
			}
		case "usage":
			if it.Kind == rawjson.Object {
				e.HasUsage = true
				readUsage(it.Value, &e.Usage)
				e.Usage.Reasoning, e.Usage.HasReasoning = 0, false // the gateway finds the reasoning
			}
		}
	}
	return understood
}

// readChoices reads the choice of an event. A server sends one choice in an event, however many were asked for.
func readChoices(data []byte, e *Event, read func(choice []byte, e *Event)) {
	first := true
	it := rawjson.Elements(data)
	for it.Next() {
		switch {
		case it.Kind != rawjson.Object:
		case first:
			first = false
			read(it.Value, e)
		default:
			e.Error = &Error{Status: 502, Message: "the inference server sent several choices in one event, which it never " +
				"should"}
		}
	}
}

// readIndex reads the index of a choice. An invalid one becomes an index that was never asked for.
func readIndex(value []byte, kind rawjson.Kind) int {
	n, err := strconv.Atoi(rawjson.View(value))
	if kind != rawjson.Number || err != nil {
		return -1
	}
	return n
}

// finishReason maps finish_reason. "stop" does not name the stop token. A parser of ids has seen it.
func finishReason(word []byte) Finish {
	switch rawjson.View(word) {
	case "stop":
		return Stopped
	case "length":
		return Length
	case "repetition":
		return Repeated
	default:
		return Aborted
	}
}
