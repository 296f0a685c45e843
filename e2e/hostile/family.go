package hostile

import (
	"math/rand/v2"
)

// Model is the model that families ask for, and Other one that is not the gateway's.
const (
	Model = "gpt-oss-120b"
	Other = "another-model"
)

// Family is one kind of request that can be made as large as one likes.
type Family struct {
	// Name is unique among All.
	Name string
	// Path is where the request goes, by POST.
	Path string

	head, tail, separator string
	piece                 piece
}

// piece makes the piece number i of a body.
type piece func(i int, rng *rand.Rand) string

// Body is a request of exactly size bytes: as many pieces as fit, and spaces behind the last. It is the same for the same
// size and seed.
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

// All are the families, in the order of the paths and then of the parts of a request.
func All() []Family {
	var all []Family
	for _, list := range [][]Family{
		textFamilies(), chatFamilies(), toolFamilies(), fieldFamilies(), inputFamilies(), countFamilies(), otherFamilies(),
	} {
		all = append(all, list...)
	}
	return all
}

// same is a piece that is always the same.
func same(text string) piece { return func(int, *rand.Rand) string { return text } }

// inChat is a family of Chat requests with pieces inside one member.
func inChat(name, before, after, separator string, p piece) Family {
	return Family{Name: "chat: " + name, Path: "/v1/chat/completions", separator: separator, piece: p,
		head: `{"model":"` + Model + `",` + before, tail: after + `}`}
}

// inResponses is inChat for Responses.
func inResponses(name, before, after, separator string, p piece) Family {
	return Family{Name: "responses: " + name, Path: "/v1/responses", separator: separator, piece: p,
		head: `{"model":"` + Model + `",` + before, tail: after + `}`}
}

// at is the family at another path, under another name.
func (f Family) at(path, name string) Family {
	f.Path, f.Name = path, name
	return f
}
