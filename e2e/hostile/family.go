package hostile

import (
	"math/rand/v2"
)

// Model is the model that the families ask for. Other is a model that the gateway does not serve.
const (
	Model = "gpt-oss-120b"
	Other = "another-model"
)

// Family is a kind of request that can be made of any size.
type Family struct {
	// Name is unique among [All].
	Name string
	// Path is where the request is sent, with POST.
	Path string

	head, tail, separator string
	piece                 piece
}

// piece makes piece number i of a body.
type piece func(i int, rng *rand.Rand) string

// Body returns a request of exactly size bytes: as many pieces as fit, then spaces. The same size and seed give the
// same body.
func (f *Family) Body(size int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 7))
	body := make([]byte, 0, size+1)
	body = append(body, f.head...)
	for i := 0; ; i++ {
		p := f.piece(i, rng)
		more := len(p)
		if i > 0 {
			more += len(f.separator)
		}
		if len(p) == 0 || len(body)+more+len(f.tail) > size {
			break
		}
		if i > 0 {
			body = append(body, f.separator...)
		}
		body = append(body, p...)
	}
	body = append(body, f.tail...)
	for len(body) < size {
		body = append(body, ' ')
	}
	return body
}

// All returns the families, ordered by path and then by the part of the request.
func All() []Family {
	var all []Family
	for _, list := range [][]Family{
		textFamilies(), brokenFamilies(), chatFamilies(), toolFamilies(), fieldFamilies(), inputFamilies(),
		blockFamilies(), saidFamilies(), messagesFieldFamilies(), messagesToolFamilies(),
		countFamilies(), countTokensFamilies(), otherFamilies(),
	} {
		all = append(all, list...)
	}
	return all
}

// same returns a piece that is always the same.
func same(text string) piece { return func(int, *rand.Rand) string { return text } }

// inChat returns a family of Chat requests with the pieces inside one member.
func inChat(name, before, after, separator string, p piece) Family {
	return Family{Name: "chat: " + name, Path: "/v1/chat/completions", separator: separator, piece: p,
		head: `{"model":"` + Model + `",` + before, tail: after + `}`}
}

// inResponses is [inChat] for Responses.
func inResponses(name, before, after, separator string, p piece) Family {
	return Family{Name: "responses: " + name, Path: "/v1/responses", separator: separator, piece: p,
		head: `{"model":"` + Model + `",` + before, tail: after + `}`}
}

// at returns the family with another path and name.
func (f Family) at(path, name string) Family {
	f.Path, f.Name = path, name
	return f
}
