package openai

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Demand is what a request asks for whose prompt the gateway does not render, as servers may read it.
type Demand struct {
	// Prompts is how many prompts it has, Choices how many answers it wants to each, and Answer how many tokens each answer
	// may have at most, or 0 if that is not said, at least not of all.
	Prompts, Choices, Answer int
	// IDs is how many token ids the prompts have, and IDBytes how much of the body these are. Each is one token.
	IDs, IDBytes int
	// LongestIDs and LongestText bound the longest of several prompts: it has at most so many ids and so many bytes of
	// text.
	LongestIDs, LongestText int
	unsaid                  bool
}

// Demand returns the demand of a request to an API. The other API's name of a number does not count: servers would not
// read it.
func (b *Body) Demand(ofResponses bool) Demand {
	d := Demand{Prompts: 1, Choices: max(b.choices, 1), Answer: b.maxTokens}
	if ofResponses {
		d.Answer = b.maxOutputTokens
	}
	return d
}

// RawDemand returns the demand of a request with prompts of the client's own. body is a valid JSON object.
func RawDemand(path string, body []byte) Demand {
	d := Demand{Prompts: 1, Choices: 1}
	in, name := rawLimit(path)
	if in == "" {
		d.note(body, name)
	}
	said := in == ""
	members := rawjson.Members(body)
	for members.Next() {
		switch key := rawjson.View(members.Key); key {
		case "prompt", "text", "input_ids", "token_ids":
			d.notePrompts(members.Value, members.Kind)
		case "input_embeds", "prompt_embeds":
			d.Prompts = max(d.Prompts, promptsIn(members.Value))
			d.LongestText = max(d.LongestText, len(members.Value))
		default:
			if in == "" || key != in {
				continue
			}
			said = true
			if members.Kind != rawjson.Array {
				d.note(members.Value, name)
			}
			each := rawjson.Elements(members.Value) // one for each prompt
			for each.Next() {
				d.note(each.Value, name)
			}
		}
	}
	if !said || d.unsaid {
		d.Answer = 0
	}
	return d
}

// rawLimit returns by which name a request to one of the servers' own paths says how long its answer may be, and in
// which member of the body it does, or "" for the body itself.
func rawLimit(path string) (in, name string) {
	switch path {
	case contract.CompletionsPath:
		return "", "max_tokens"
	case contract.CompletionPath:
		return "", "n_predict"
	case contract.GeneratePath:
		return "sampling_params", "max_new_tokens"
	case contract.InferenceGeneratePath:
		return "sampling_params", "max_tokens"
	default:
		return "", "" // not known
	}
}

// note notes the numbers of an object. Of several objects the greatest numbers count.
func (d *Demand) note(object []byte, name string) {
	answer, said := 0, false
	members := rawjson.Members(object)
	for members.Next() {
		switch key := rawjson.View(members.Key); {
		case key == "n" || key == "best_of":
			d.Choices = max(d.Choices, atMost(members.Kind, members.Value))
		case key == name && name != "":
			answer = max(answer, atMost(members.Kind, members.Value))
			said = said || members.Kind != rawjson.Null
		}
	}
	d.Answer, d.unsaid = max(d.Answer, answer), d.unsaid || !said
}

// notePrompts notes a member with prompts: a text, an array of ids, an array with either of several, or an array of ids
// and texts that are one prompt together.
func (d *Demand) notePrompts(value []byte, kind rawjson.Kind) {
	if kind != rawjson.Array {
		d.LongestText = max(d.LongestText, len(value))
		return
	}
	prompts, text, ids := 0, 0, 0
	own, ownBytes := 0, 0 // the ids in the array itself
	each := rawjson.Elements(value)
	for each.Next() {
		if each.Kind == rawjson.Number {
			own++
			ownBytes += len(each.Value) + 1
			continue
		}
		prompts++
		inner, bytes := idsIn(each.Value)
		d.IDs += inner
		d.IDBytes += bytes
		ids, text = max(ids, inner), max(text, len(each.Value)-bytes)
	}
	d.IDs += own
	d.IDBytes += min(ownBytes, len(value))
	d.Prompts = max(d.Prompts, prompts, 1)
	d.LongestIDs, d.LongestText = max(d.LongestIDs, own+ids), max(d.LongestText, text)
}

// idsIn returns how many numbers an array has, and how many bytes they take with a comma each.
func idsIn(value []byte) (ids, bytes int) {
	each := rawjson.Elements(value)
	for each.Next() {
		if each.Kind == rawjson.Number {
			ids++
			bytes += len(each.Value) + 1
		}
	}
	return ids, min(bytes, len(value))
}

// promptsIn returns how many prompts a value has. The ids in an array are one prompt together.
func promptsIn(value []byte) int {
	n := 0
	each := rawjson.Elements(value)
	for each.Next() {
		if each.Kind != rawjson.Number {
			n++
		}
	}
	return max(n, 1)
}

// noteNumber notes a member that says how long the answer may be.
func (b *Body) noteNumber(key string, v value) {
	var to *int
	switch key {
	case "n":
		to = &b.choices
	case "max_tokens", "max_completion_tokens":
		to = &b.maxTokens
	case "max_output_tokens":
		to = &b.maxOutputTokens
	default:
		return
	}
	*to = max(*to, atMost(v.kind, v.raw))
}

// atMost returns the number that a value stands for, at most [contract.MaxContextLength], and 0 for null. Anything but
// a whole number counts as that maximum: some servers read "5", 5.0 or -1 as a number of their own.
func atMost(kind rawjson.Kind, text []byte) int {
	if kind == rawjson.Null {
		return 0
	}
	n, err := strconv.Atoi(rawjson.View(text))
	if kind != rawjson.Number || err != nil || n < 0 {
		return contract.MaxContextLength
	}
	return min(n, contract.MaxContextLength)
}
