package anthropic

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// place is a place in a request. Its name is made only for an error.
type place struct {
	// name is a member of the body, or of the block if there is one. If that is an array, number is that of its element,
	// from 1, and inner is a member of the element.
	name, inner string
	number      int
	// path has the indices of a message, of a block in it and of a part of that, as many as depth.
	path  [3]int
	depth int
}

// Place returns the name of a block of a message. Anthropic's own errors name places so.
func Place(message, block int) string {
	p := inMessage(message)
	return p.at(block).String()
}

// top is a member of the body.
func top(name string) place { return place{name: name} }

func inMessage(i int) place { return place{path: [3]int{i}, depth: 1} }

// at returns the place of an element of the content at p.
func (p place) at(i int) place {
	if p.depth < len(p.path) {
		p.path[p.depth] = i
		p.depth++
	}
	return p
}

// part returns the place of a part: an element of the content at p, or of the member of it that p is.
func (p place) part(i int) place {
	if p.name == "" {
		return p.at(i)
	}
	return p.element(i)
}

// element returns the place of an element of the array at p.
func (p place) element(i int) place {
	if p.number > 0 {
		return p.in(strconv.Itoa(i))
	}
	p.number = i + 1
	return p
}

// in returns the place of a member of the value at p.
func (p place) in(name string) place {
	if p.number > 0 {
		p.inner = joined(p.inner, name)
	} else {
		p.name = joined(p.name, name)
	}
	return p
}

// joined returns the name of a member of what has a name, or of what has none.
func joined(name, member string) string {
	switch {
	case name == "":
		return member
	case member == "":
		return name
	}
	return name + "." + member
}

// String returns the name of the place: messages.1.content.0.text.
func (p place) String() string {
	s := ""
	for i, n := range p.path[:p.depth] {
		if i == 0 {
			s = "messages."
		} else {
			s += ".content."
		}
		s += strconv.Itoa(n)
	}
	s = joined(s, p.name)
	if p.number > 0 {
		s = joined(joined(s, strconv.Itoa(p.number-1)), p.inner)
	}
	return s
}

func badRequest(code string, p place, message string) *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: code, Param: p.String(), Message: message,
	}
}

// missing, wrongType and invalid return the errors of Anthropic's API, in its words. The place stands before them.
func missing(p place) *openai.Error {
	return badRequest(contract.CodeMissingParameter, p, "Field required")
}

func wrongType(p place, want string) *openai.Error {
	return badRequest(contract.CodeInvalidType, p, "Input should be "+want)
}

func invalid(p place, message string) *openai.Error {
	return badRequest(contract.CodeInvalidValue, p, message)
}

// unsupported returns the error for what the API allows and the gateway does not do.
func unsupported(p place, message string) *openai.Error {
	return badRequest(contract.CodeUnsupportedParameter, p, message)
}

// tooMany refuses more messages and blocks than [openai.MaxEntries]. Claude Code compacts a conversation if the message
// begins so.
func tooMany(p place) *openai.Error {
	return badRequest(contract.CodeContextLengthExceeded, p, "prompt is too long: more than "+
		strconv.Itoa(openai.MaxEntries)+" messages and content blocks, which no context has room for")
}

// requireText refuses a value that is no string. A missing one is refused too.
func requireText(v *rawjson.Part, p place) *openai.Error {
	switch v.Kind {
	case 0:
		return missing(p)
	case rawjson.String:
		return nil
	}
	return wrongType(p, "a valid string")
}

// text reads a string.
func text(v *rawjson.Part, p place, dst *string) *openai.Error {
	if err := requireText(v, p); err != nil {
		return err
	}
	*dst = rawjson.Unescape(v.Value)
	return nil
}

// borrow is text for strings that may be as long as the body. The string lies in the body, whose bytes borrow
// overwrites, so v can be read only once.
func borrow(v *rawjson.Part, p place, dst *string) *openai.Error {
	if err := requireText(v, p); err != nil {
		return err
	}
	*dst = rawjson.Borrow(v.Value)
	return nil
}

// boolean reads a boolean. An absent one and null leave *dst unchanged.
func boolean(v *rawjson.Part, p place, dst *bool) *openai.Error {
	switch {
	case !v.Given():
		return nil
	case v.Kind != rawjson.Bool:
		return wrongType(p, "a valid boolean")
	}
	*dst = len(v.Value) > 0 && v.Value[0] == 't'
	return nil
}

// integer reads a whole number of at least minimum, and caps it at 31 bits.
func integer(v *rawjson.Part, p place, minimum int, dst *int) *openai.Error {
	if v.Kind != rawjson.Number {
		return wrongType(p, "a valid integer")
	}
	digits := v.Value
	for i, c := range digits {
		if (c < '0' || c > '9') && (i > 0 || c != '-') {
			return wrongType(p, "a valid integer")
		}
	}
	n, err := strconv.ParseInt(string(digits[:min(len(digits), 20)]), 10, 32)
	if err != nil { // it is a number, so it has too many digits
		n = maxInteger
		if digits[0] == '-' {
			n = -maxInteger
		}
	}
	if int(n) < minimum {
		return invalid(p, "Input should be greater than or equal to "+strconv.Itoa(minimum))
	}
	*dst = int(n)
	return nil
}

const maxInteger = 1<<31 - 1
