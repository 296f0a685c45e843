package openai

import (
	"math"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Body is a request's body that has passed the checks which come before its API is known. Only Open makes one, so
// whatever reads a Body reads JSON that our own scanner has accepted.
type Body struct {
	// Model is the model that the request is for.
	Model string
	// Values is how many JSON values the body holds, itself included.
	Values int
	root   value
	// tokenized says that it is a TokenizeRequest, and how its prompt ends has been read.
	tokenized bool
}

// Open checks that body is JSON and an object, that no second model, messages, input or stream hides behind the
// first, and which model it names. The Body lies in the same memory.
func Open(body []byte) (*Body, *Error) { return OpenWithin(body, math.MaxInt) }

// OpenWithin is Open for a body of which no more than most values would be read: it stops at the first that is more.
func OpenWithin(body []byte, most int) (*Body, *Error) {
	root, values, err := object(body, most)
	if err != nil {
		return nil, err
	}
	model, err := topLevel(root)
	if err != nil {
		return nil, err
	}
	return &Body{Model: model, Values: values, root: root}, nil
}

// NoModel reports that Open could read a body, in which no model is named: model is not there, or no name.
func (e *Error) NoModel() bool {
	switch e.Code {
	case contract.CodeMissingParameter, contract.CodeInvalidType, contract.CodeInvalidValue:
		return e.Param == "model"
	}
	return false
}

// object makes the whole of a body readable, and counts its values.
func object(body []byte, most int) (root value, values int, failure *Error) {
	values, err := rawjson.Count(body, rawjson.MaxDepth, most)
	if values > most {
		return value{}, 0, tooManyValues()
	}
	if err != nil {
		return value{}, 0, syntaxError("", "We could not parse the JSON body of your request: ", err)
	}
	at := 0
	for at < len(body) && (body[at] == ' ' || body[at] == '\t' || body[at] == '\n' || body[at] == '\r') {
		at++
	}
	if at == len(body) || body[at] != '{' {
		return value{}, 0, badRequest(contract.CodeInvalidType, "", "Invalid body: expected a JSON object.")
	}
	return value{rawjson.Object, body[at:]}, values, nil
}

// MaxValues is the most JSON values of a request, itself included. What reads a request takes memory for each of them, and
// time. 500 tools of 100 values each and 10,000 messages stay below it.
const MaxValues = 1 << 17

// Bounded returns an error when the body holds more than [MaxValues] values, of which free do not count.
func (b *Body) Bounded(free int) *Error {
	if b.Values-free <= MaxValues {
		return nil
	}
	return tooManyValues()
}

func tooManyValues() *Error {
	return badRequest(contract.CodeMaxValuesExceeded, "", "The request holds more than "+strconv.Itoa(MaxValues)+
		" JSON values, which is the limit. Send fewer messages, content parts, tools or other values.")
}

// Named is the model that a body seems to name, which may be no JSON at all: what it says counts only when Open agrees.
func Named(body []byte) string {
	at := rawjson.Space(body, 0)
	if at == len(body) || body[at] != '{' {
		return ""
	}
	name := ""
	root := value{rawjson.Object, body[at:]}
	_ = root.members("", func(key []byte, v value) *Error {
		if string(key) == "model" && v.kind == rawjson.String {
			name = rawjson.Unescape(v.raw)
		}
		return nil
	})
	return name
}

func syntaxError(param, prefix string, err error) *Error {
	code := contract.CodeInvalidJSON
	if e, ok := err.(*rawjson.SyntaxError); ok {
		switch e.Kind {
		case rawjson.BadUTF8:
			code = contract.CodeInvalidUTF8
		case rawjson.TooDeep:
			code = contract.CodeMaxDepthExceeded
		}
		if param == "" && code != contract.CodeInvalidJSON {
			param = e.Member
		}
	}
	return badRequest(code, param, prefix+err.Error()+".")
}

func topLevel(root value) (model string, err *Error) {
	singles := [...]string{"model", "messages", "input", "stream"}
	var seen [len(singles)]bool
	var named value
	err = root.members("", func(key []byte, v value) *Error {
		for i, name := range singles {
			if string(key) != name {
				continue
			}
			if seen[i] {
				return badRequest(contract.CodeDuplicateKey, name, "Duplicate key: '"+name+"' stands more than once in the body.")
			}
			seen[i] = true
			if i == 0 {
				named = v
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if named.kind == 0 {
		return "", missing("model")
	}
	if named.kind != rawjson.String {
		return "", wrongType("model", "a string", named)
	}
	if model = rawjson.Unescape(named.raw); model == "" {
		return "", Invalid("model", "Invalid 'model': empty string. Expected the name of a model.")
	}
	return model, nil
}
