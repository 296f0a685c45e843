package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// demand is what a request asks for whose prompt the gateway does not render.
type demand struct {
	// prompts is how many prompts it has, choices how many answers it wants to each, and answer how many tokens each answer
	// may have at most, or 0 if that is not said, at least not of all.
	prompts, choices, answer int
	unsaid                   bool
}

// demandOf returns the demand of a request to the API. The other API's name of a number does not count: servers would
// not read it.
func demandOf(api string, b *openai.Body) demand {
	d := demand{prompts: 1, choices: max(b.Choices, 1), answer: b.MaxTokens}
	if api == apiResponses {
		d.answer = b.MaxOutputTokens
	}
	return d
}

// rawDemand returns the demand of a request with prompts of the client's own. body is a valid JSON object.
func rawDemand(path string, body []byte) demand {
	d := demand{prompts: 1, choices: 1}
	in, name := rawLimit(path)
	if in == "" {
		d.note(body, name)
	}
	said := in == ""
	members := rawjson.Members(body)
	for members.Next() {
		switch key := rawjson.View(members.Key); key {
		case "prompt", "text", "input_ids", "token_ids", "input_embeds", "prompt_embeds":
			d.prompts = max(d.prompts, promptsIn(members.Value))
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
		d.answer = 0
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
func (d *demand) note(object []byte, name string) {
	answer, said := 0, false
	members := rawjson.Members(object)
	for members.Next() {
		switch key := rawjson.View(members.Key); {
		case key == "n" || key == "best_of":
			d.choices = max(d.choices, openai.AtMost(members.Kind, members.Value))
		case key == name && name != "":
			answer = max(answer, openai.AtMost(members.Kind, members.Value))
			said = said || members.Kind != rawjson.Null
		}
	}
	d.answer, d.unsaid = max(d.answer, answer), d.unsaid || !said
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
