package schema

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

func parse(t testing.TB, text string) *rawjson.Value {
	t.Helper()
	v, err := rawjson.Parse([]byte(text), rawjson.MaxDepth)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestFits(t *testing.T) {
	const person = `{"type":"object","required":["name"],"additionalProperties":false,` +
		`"properties":{"name":{"type":"string"},` +
		`"age":{"type":["integer","null"]},"unit":{"enum":["c","f",1,null,{"a":[1,2],"b":0}]},"tags":{"type":"array",` +
		`"items":{"type":"string"}},"of":{"const":1.0}}}`
	for _, tt := range []struct {
		schema, value string
		fits          bool
	}{
		{person, `{"name":"x"}`, true}, {person, `{}`, false}, {person, `[]`, false}, {person, `{"name":1}`, false},
		{person, `{"name":"x","age":1}`, true}, {person, `{"name":"x","age":null}`, true},
		{person, `{"name":"x","age":1.5}`, false},
		{person, `{"name":"x","age":1.0}`, true}, {person, `{"name":"x","age":2e3}`, true},
		{person, `{"name":"x","age":"1"}`, false},
		{person, `{"name":"x","unit":"c"}`, true}, {person, `{"name":"x","unit":"k"}`, false},
		{person, `{"name":"x","unit":1.0}`, true},
		{person, `{"name":"x","unit":null}`, true}, {person, `{"name":"x","unit":{"b":0,"a":[1,2]}}`, true},
		{person, `{"name":"x","unit":{"b":0,"a":[2,1]}}`, false}, {person, `{"name":"x","unit":{"a":[1,2]}}`, false},
		{person, `{"name":"x","tags":[]}`, true}, {person, `{"name":"x","tags":["a",2]}`, false},
		{person, `{"name":"x","tags":{}}`, false},
		{person, `{"name":"x","of":1}`, true}, {person, `{"name":"x","of":2}`, false},
		{person, `{"name":"x","more":1}`, false},
		{`{"type":"object","additionalProperties":{"type":"number"}}`, `{"a":1}`, true},
		{`{"type":"object","additionalProperties":{"type":"number"}}`, `{"a":"1"}`, false},
		{`{"additionalProperties":false,"patternProperties":{"^x":{}}}`, `{"xa":1}`, true},
		{`{"properties":{"a":false}}`, `{"a":1}`, false}, {`{"properties":{"a":true}}`, `{"a":1}`, true},
		{`true`, `1`, true}, {`false`, `1`, false}, {`7`, `1`, true}, {`{}`, `1`, true},
		{`{"type":"boolean"}`, `true`, true}, {`{"type":"boolean"}`, `0`, false}, {`{"enum":[true]}`, `false`, false},
		// Unknown keywords and meaningless values count as satisfied.
		{`{"type":"date"}`, `1`, true}, {`{"type":7}`, `1`, true}, {`{"type":[]}`, `1`, true}, {`{"enum":7}`, `1`, true},
		{`{"required":"a","properties":[1],"items":7}`, `{"b":1}`, true}, {`{"required":[1]}`, `{}`, true},
		{`{"items":[{"type":"string"}]}`, `[1]`, true},
		{`{"$ref":"#/x","anyOf":[false],"minimum":5}`, `1`, true},
	} {
		if got := Fits(parse(t, tt.schema), parse(t, tt.value)); got != tt.fits {
			t.Errorf("%s fits %s: %v", tt.value, tt.schema, got)
		}
	}
}

// TestWorkIsBounded shows that the check of a large schema and a large value ends early, and that the value then fits.
func TestWorkIsBounded(t *testing.T) {
	var properties, members strings.Builder
	for i := range 5000 {
		if i > 0 {
			properties.WriteByte(',')
			members.WriteByte(',')
		}
		properties.WriteString(`"p` + strconv.Itoa(i) + `":{"type":"string"}`)
		members.WriteString(`"m` + strconv.Itoa(i) + `":1`)
	}
	schema := parse(t, `{"additionalProperties":{"type":"number"},"properties":{`+properties.String()+`}}`)
	c := checker{budget: maxWork}
	if !c.fits(schema, parse(t, `{`+members.String()+`}`), 0) || c.budget > 0 {
		t.Errorf("%d looks left", c.budget)
	}
}

// FuzzFits shows that no schema and no value make the check panic.
func FuzzFits(f *testing.F) {
	f.Add(`{"type":"object","required":["a"],"properties":{"a":{"enum":[1,{"b":[]}]}}}`, `{"a":{"b":[]}}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := rawjson.Parse([]byte(schema), rawjson.MaxDepth)
		if err != nil {
			return
		}
		v, err := rawjson.Parse([]byte(value), rawjson.MaxDepth)
		if err != nil {
			return
		}
		Fits(s, v)
	})
}
