package openai

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Body is a request's body that has passed the checks that do not depend on the API. Only [Open] and [OpenWithin] make
// one, so every decoder of a Body reads JSON that our own scanner has accepted.
type Body struct {
	// Model is the model that the request names.
	Model string
	// ModelInOtherCase reports whether there is another member whose name is "model" but for the case. Some servers take
	// it for the model.
	ModelInOtherCase bool
	// Streams reports whether the request asks for its answer as a stream.
	Streams bool
	// Values is the number of JSON values in the body, the body itself included.
	Values int
	root   value
	// maxTokens and maxOutputTokens are the number of tokens that the request asks for at most in each choice, by the
	// names of Chat Completions and by the name of Responses. choices is the number of choices. All are 0 if the request
	// does not say, and never less than what any server may read.
	maxTokens, maxOutputTokens, choices int
	// cacheKey is the prompt_cache_key as it is spelled in the body.
	cacheKey []byte
	// noModel is the error for a body that names no model. unnamed is the value of [Body.Unnamed].
	noModel *Error
	unnamed bool
	// tokenized reports whether the body is a [TokenizeRequest] whose add_generation_prompt has been read.
	tokenized bool
	// memory has the tools of earlier requests. It may be nil.
	memory ToolMemory
	// follows is nil if the body has the whole conversation.
	follows *Follows
}

// CacheKey returns the prompt_cache_key, or nil. It must be called before the body is decoded, since decoding
// overwrites texts.
func (b *Body) CacheKey() []byte {
	if bytes.IndexByte(b.cacheKey, '\\') < 0 {
		return b.cacheKey
	}
	return rawjson.AppendUnescaped(nil, b.cacheKey)
}

// Root returns the body as a value, for an API that is read in a package of its own.
func (b *Body) Root() rawjson.Part { return b.root.ends.Part(b.root.raw, b.root.at) }

// Size returns the length of the body, in bytes.
func (b *Body) Size() int { return len(b.root.raw) }

// Open checks that body is a JSON object, that model, messages, input and stream appear at most once at the top level,
// and which model it names. The Body lies in the same memory.
func Open(body []byte) (*Body, *Error) { return OpenWithin(body, math.MaxInt) }

// OpenWithin is [Open] with a limit: it stops when the body holds more than maxValues values.
func OpenWithin(body []byte, maxValues int) (*Body, *Error) {
	b, err := OpenUnnamed(body, maxValues)
	if err == nil && b.noModel != nil {
		return nil, b.noModel
	}
	return b, err
}

// OpenUnnamed is [OpenWithin] for a body that need not name a model. Its Model is then empty.
func OpenUnnamed(body []byte, maxValues int) (*Body, *Error) {
	root, values, err := object(body, maxValues)
	if err != nil {
		return nil, err
	}
	b := &Body{Values: values, root: root}
	if err := b.readTop(); err != nil {
		return nil, err
	}
	return b, nil
}

// NamesModel returns an error, for which [Error.NoModel] is true, if the body names no model.
func (b *Body) NamesModel() *Error { return b.noModel }

// Unnamed reports whether the body says nothing about its model: there is none, null or an empty name.
func (b *Body) Unnamed() bool { return b.unnamed }

// NoModel reports whether e is an error of [Open] for a body without a model name. The model is then missing, empty or
// not a string.
func (e *Error) NoModel() bool {
	switch e.Code {
	case contract.CodeMissingParameter, contract.CodeInvalidType, contract.CodeInvalidValue:
		return e.Param == "model"
	}
	return false
}

// object checks the whole body and counts its values.
func object(body []byte, maxValues int) (root value, values int, failure *Error) {
	ends, values, err := rawjson.CountEnds(body, rawjson.MaxDepth, maxValues)
	if values > maxValues {
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
	return value{kind: rawjson.Object, raw: body[at:], ends: ends, at: at}, values, nil
}

// MaxValues is the maximum number of JSON values in a request, the body itself included. A decoder takes memory and
// time for each of them. 500 tools of 100 values each and 10,000 messages are below the limit.
const MaxValues = 1 << 17

// Bounded returns an error if the body holds more than [MaxValues] values. The first free values do not count.
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

// Named returns the model that a body seems to name, or empty. The body may be invalid JSON, so the result counts only
// if [Open] returns the same.
func Named(body []byte) string {
	at := rawjson.Space(body, 0)
	if at == len(body) || body[at] != '{' {
		return ""
	}
	name := ""
	root := value{kind: rawjson.Object, raw: body[at:]}
	_ = root.members("", func(key []byte, v value) *Error {
		if rawjson.View(key) == "model" && v.kind == rawjson.String {
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

// DuplicateKey returns the error for a member of the body that may be there only once.
func DuplicateKey(name string) *Error {
	return badRequest(contract.CodeDuplicateKey, name, "Duplicate key: '"+name+"' stands more than once in the body.")
}

const cacheKeyName = "prompt_cache_key"

// readTop reads what [Open] checks of the body's own members.
func (b *Body) readTop() *Error {
	singles := [...]string{"model", "messages", "input", "stream"}
	var seen [len(singles)]bool
	var named value
	err := b.root.members("", func(key []byte, v value) *Error {
		if name := rawjson.View(key); len(name) == len("model") && name != "model" && strings.EqualFold(name, "model") {
			b.ModelInOtherCase = true
		}
		if rawjson.View(key) == cacheKeyName && v.kind == rawjson.String {
			b.cacheKey = v.raw
		}
		b.noteNumber(rawjson.View(key), v)
		for i, name := range singles {
			if rawjson.View(key) != name {
				continue
			}
			if seen[i] {
				return DuplicateKey(name)
			}
			seen[i] = true
			switch name {
			case "model":
				named = v
			case "stream":
				b.Streams = v.kind == rawjson.Bool && v.raw[0] == 't'
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.noModel = b.readModel(named)
	b.unnamed = !named.given() || named.kind == rawjson.String && b.Model == ""
	return nil
}

func (b *Body) readModel(named value) *Error {
	if named.kind == 0 {
		return missing("model")
	}
	if named.kind != rawjson.String {
		return wrongType("model", "a string", named)
	}
	if b.Model = rawjson.Unescape(named.raw); b.Model == "" {
		return Invalid("model", "Invalid 'model': empty string. Expected the name of a model.")
	}
	return nil
}
