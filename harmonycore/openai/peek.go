package openai

import "github.com/harmonyedge/harmonyedge/harmonycore/jsontext"

// Peek makes the checks that come before anything else is known of a body: that it is JSON, that it is an object,
// that no second model, messages, input or stream hides behind the first, and which model it names.
func Peek(body []byte) (model string, err *Error) {
	root, err := open(body)
	if err != nil {
		return "", err
	}
	return topLevel(root)
}

// open makes the whole of a body readable.
func open(body []byte) (value, *Error) {
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
