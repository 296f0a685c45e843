package backend

import (
	"strconv"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// This file reads the counts of tokens. They are small objects of numbers, which jsonparser reads in fewer instructions
// than our own scanner and with less garbage (RATIONALE.md#7). Our scanner has accepted the event that they are part
// of.

// readUsage reads the usage of an answer, by the names of all APIs and servers. It returns the server's total.
func readUsage(usage []byte, u *Usage) (total int) {
	*u = Usage{}
	r := usageReader{Usage: u}
	_ = jsonparser.ObjectEach(usage, r.member)
	return r.total
}

// usageReader reads the members of a usage.
type usageReader struct {
	*Usage
	total int
	// inside reports whether the members belong to an object in the usage, and come before the usage's own.
	inside bool
}

func (r *usageReader) member(key, value []byte, kind jsonparser.ValueType, _ int) error {
	name := rawjson.View(key)
	if r.inside && name != "cached_tokens" && name != "reasoning_tokens" {
		return nil
	}
	n, ok := countOf(value, kind)
	switch name {
	case "prompt_tokens", "input_tokens":
		r.Prompt = n
	case "completion_tokens", "output_tokens":
		r.Completion = n
	case "total_tokens":
		r.total = n
	case "cached_tokens", "prompt_cache_hit_tokens": // not inside: Moonshot, DeepSeek
		if ok && (r.inside || !r.HasCached) {
			r.Cached, r.HasCached = n, true
		}
	case "reasoning_tokens": // not inside: SGLang
		if ok && (r.inside || !r.HasReasoning) {
			r.Reasoning, r.HasReasoning = n, true
		}
	case "prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details":
		if kind == jsonparser.Object {
			r.inside = true
			_ = jsonparser.ObjectEach(value, r.member)
			r.inside = false
		}
	}
	return nil
}

// readUsage reads the usage of a Chat answer. It reports whether there is one.
func (r *chatReader) readUsage(value []byte, kind rawjson.Kind) bool {
	if kind != rawjson.Object {
		return false
	}
	r.hasUsage = true
	total := readUsage(value, &r.usage)
	// xAI and Gemini leave reasoning out of completion_tokens.
	r.usage.Completion = max(r.usage.Completion, total-r.usage.Prompt)
	return true
}

// countOf returns a count, and reports whether a value is one.
func countOf(value []byte, kind jsonparser.ValueType) (int, bool) {
	if kind != jsonparser.Number {
		return 0, false
	}
	n, err := strconv.Atoi(rawjson.View(value))
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}

// readCount returns the count that an object has by this name, and reports whether it has one. It reads what may have
// long texts.
func readCount(data []byte, name string) (int, bool) {
	value, kind := rawjson.Find(data, name)
	if kind != rawjson.Number {
		return 0, false
	}
	return countOf(value, jsonparser.Number)
}
