package openai

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// guided is a constraint on the answer by one of the inference servers' own parameters. The zero value is no
// constraint.
type guided struct {
	// at is the place of the parameter.
	at     string
	format TextFormat
	// member is the parameter as the client sent it.
	member RawMember
}

// paramStructuredOutputs is one of these parameters. vLLM has structured_outputs, and had guided_* before. The others
// belong to SGLang and llama.cpp. Each is enforced or refused, never ignored: a client would take an answer of another
// form for the one it asked for (RATIONALE.md#44).
const paramStructuredOutputs = "structured_outputs"

// guidedKinds maps members of structured_outputs, and parameters of their own, to the kind of constraint.
var guidedKinds = map[string]string{
	"json": "json", "guided_json": "json", "json_schema": "json",
	"json_object": "json_object", "guided_json_object": "json_object",
	"regex": "regex", "guided_regex": "regex",
	"choice": "choice", "guided_choice": "choice",
	"grammar": "grammar", "guided_grammar": "grammar", "ebnf": "grammar",
}

// guidedNames are the parameters at the top level of the body.
var guidedNames = []string{
	paramStructuredOutputs, "guided_json", "guided_json_object", "guided_regex", "guided_choice", "guided_grammar",
	"json_schema", "regex", "ebnf", "grammar",
}

// read reads a parameter at the top level. known reports whether it is one of [guidedNames].
func (g *guided) read(name string, v value) (known bool, err *Error) {
	for _, n := range guidedNames {
		known = known || n == name
	}
	if !known || !v.given() || v.kind != rawjson.Object && v.isEmpty() {
		return known, nil // an empty text or list asks for nothing
	}
	g.member = RawMember{name, v.json()}
	if name != paramStructuredOutputs {
		return true, g.readKind(name, guidedKinds[name], v)
	}
	forms := 0
	err = v.members(name, func(key []byte, v value) *Error {
		kind := string(key)
		at := join(name, kind)
		switch {
		case !v.given():
			return nil
		case kind == "structural_tag":
			return Unsupported(at, "Unsupported parameter: '"+at+"' is the gateway's own to write, since it holds the "+
				"model's channels too. Use 'json', 'regex', 'choice', 'grammar' or tools.")
		case kind == "whitespace_pattern", kind == "disable_any_whitespace" && v.isTrue(),
			kind == "disable_additional_properties" && v.isTrue():
			return Unsupported(at, "Unsupported parameter: '"+at+"' cannot be enforced; leave it out.")
		case guidedKinds[kind] != kind:
			return nil // a detail of the enforcement, or unknown
		}
		forms++
		return g.readKind(at, kind, v)
	})
	if err == nil && forms == 0 {
		err = Invalid(name, "Invalid '"+name+"': expected one of 'json', 'regex', 'choice', 'grammar', and 'json_object'.")
	}
	return true, err
}

// exclusive returns a 400 for a parameter that cannot be combined with another one.
func exclusive(param, first, second string) *Error {
	return badRequest(contract.CodeMutuallyExclusive, param,
		"Mutually exclusive parameters. Ensure you are only providing one of: '"+first+"' or '"+second+"'.")
}

func (g *guided) readKind(at, kind string, v value) *Error {
	if g.at != "" && g.at != at {
		return exclusive(at, g.at, at)
	}
	f := TextFormat{StrictAt: at}
	var err *Error
	switch kind {
	case "json":
		err = f.readGuidedSchema(at, v)
	case "json_object":
		on := false
		if err = v.boolean(at, &on); err != nil || !on {
			return err
		}
		f.Name, f.Schema = kind, anyObject
	case "regex":
		err = v.form(at, &f.Pattern)
	case "choice":
		err = v.readChoices(at, &f.Choices)
	case "grammar":
		if err = v.form(at, &f.Grammar); err == nil && !hasRoot(f.Grammar) {
			err = Unsupported(at, "Unsupported grammar: '"+at+"' must be EBNF with a rule 'root ::= …'; servers cannot be "+
				"held to a Lark grammar here.")
		}
	}
	g.at, g.format = at, f
	return err
}

// hasRoot reports whether a grammar has EBNF's rule root. A Lark grammar does not.
func hasRoot(grammar string) bool {
	for rest := grammar; ; {
		before, after, found := strings.Cut(rest, "::=")
		if !found {
			return false
		}
		name, ok := strings.CutSuffix(strings.TrimRight(before, " \t"), "root")
		if ok && (name == "" || strings.IndexByte(" \t\n", name[len(name)-1]) >= 0) {
			return true
		}
		rest = after
	}
}

// form reads a text that describes the answer's form.
func (v value) form(at string, dst *string) *Error {
	if len(v.raw) > maxGrammar {
		return tooLong(at, maxGrammar)
	}
	if err := v.text(at, dst); err != nil {
		return err
	}
	if *dst == "" {
		return Invalid(at, "Invalid '"+at+"': empty string. Expected what the answer looks like.")
	}
	return nil
}

// readGuidedSchema reads a schema, or a string that holds one.
func (t *TextFormat) readGuidedSchema(at string, v value) *Error {
	if len(v.raw) > maxFormat {
		return tooLong(at, maxFormat)
	}
	if v.kind == rawjson.String {
		text := []byte(strings.TrimLeft(rawjson.Unescape(v.raw), " \t\r\n"))
		if len(text) == 0 || text[0] != '{' {
			return Invalid(at, "Invalid '"+at+"': expected a JSON schema that is an object, or its text.")
		}
		v = value{kind: rawjson.Object, raw: text}
	}
	if v.kind != rawjson.Object {
		return wrongType(at, "one of a string or an object", v)
	}
	if err := rawjson.Validate(v.raw, MaxSchemaDepth); err != nil {
		return syntaxError(at, "Invalid '"+at+"': ", err)
	}
	t.Name, t.Schema = "json", v.compact()
	return nil
}

// maxAnswers is the maximum number of texts that a choice can have.
const maxAnswers = 1024

func (v value) readChoices(at string, dst *[]string) *Error {
	if len(v.raw) > maxGrammar {
		return tooLong(at, maxGrammar)
	}
	if err := v.elements(at, func(i int, at string, v value) *Error {
		if i >= maxAnswers {
			return Invalid(at, "Invalid '"+at+"': array too long. Expected at most "+strconv.Itoa(maxAnswers)+" elements.")
		}
		if v.kind != rawjson.String {
			return wrongType(at, "a string", v)
		}
		text := rawjson.Unescape(v.raw)
		if text == "" {
			return Invalid(at, "Invalid '"+at+"': empty string. Expected an answer.")
		}
		*dst = append(*dst, text)
		return nil
	}); err != nil {
		return err
	}
	if len(*dst) == 0 {
		return Invalid(at, "Invalid '"+at+"': empty array. Expected an array with minimum length 1.")
	}
	return nil
}

// setGuided copies the constraint in g into t. param names OpenAI's own parameter, which must not be given as well.
func (t *TextFormat) setGuided(g *guided, param string) *Error {
	switch {
	case g.format.StrictAt == "":
		return nil
	case t.Name != "":
		return exclusive(g.at, param, g.at)
	}
	*t = g.format
	return nil
}
