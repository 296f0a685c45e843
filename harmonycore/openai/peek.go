package openai

import "github.com/harmonyedge/harmonyedge/harmonycore/jsontext"

// Body is a request's body that has passed the checks which come before its API is known. Only Open makes one, so
// whatever reads a Body reads JSON that our own scanner has accepted.
type Body struct {
	// Model is the model that the request is for.
	Model string
	root  value
}

// Open checks that body is JSON and an object, that no second model, messages, input or stream hides behind the
// first, and which model it names. The Body lies in the same memory.
func Open(body []byte) (*Body, *Error) {
	root, err := object(body)
	if err != nil {
		return nil, err
	}
	model, err := topLevel(root)
	if err != nil {
		return nil, err
	}
	return &Body{Model: model, root: root}, nil
}

// NoModel reports that Open could read a body, in which no model is named: model is not there, or no name.
func (e *Error) NoModel() bool {
	switch e.Code {
	case CodeMissingParameter, CodeInvalidType, CodeInvalidValue:
		return e.Param == "model"
	}
	return false
}

// object makes the whole of a body readable.
func object(body []byte) (value, *Error) {
	if err := jsontext.Validate(body, jsontext.MaxDepth); err != nil {
		return value{}, syntaxError("", "We could not parse the JSON body of your request: ", err)
	}
	at := 0
	for at < len(body) && (body[at] == ' ' || body[at] == '\t' || body[at] == '\n' || body[at] == '\r') {
		at++
	}
	if at == len(body) || body[at] != '{' {
		return value{}, badRequest(CodeInvalidType, "", "Invalid body: expected a JSON object.")
	}
	return value{jsontext.Object, body[at:]}, nil
}

func syntaxError(param, prefix string, err error) *Error {
	code := CodeInvalidJSON
	if e, ok := err.(*jsontext.SyntaxError); ok {
		switch e.Kind {
		case jsontext.BadUTF8:
			code = CodeInvalidUTF8
		case jsontext.TooDeep:
			code = CodeMaxDepthExceeded
		}
		if param == "" && code != CodeInvalidJSON {
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
				return badRequest(CodeDuplicateKey, name, "Duplicate key: '"+name+"' stands more than once in the body.")
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
	if named.kind != jsontext.String {
		return "", wrongType("model", "a string", named)
	}
	if model = jsontext.Unescape(named.raw); model == "" {
		return "", Invalid("model", "Invalid 'model': empty string. Expected the name of a model.")
	}
	return model, nil
}
