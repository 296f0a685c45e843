package harmony

import (
	"errors"
	"strings"
	"testing"
)

// TestSchema: a schema is written as it was read, but for white space and spellings of characters.
func TestSchema(t *testing.T) {
	schema, err := ParseSchema([]byte(`{ "b": [1.50,null,true,false,"\u00e9\n"], "a": {} }`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(schema.AppendJSON(nil)), `{"b":[1.50,null,true,false,"é\n"],"a":{}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, text := range []string{"", "{", `{"a":1,}`, strings.Repeat("[", 129) + strings.Repeat("]", 129)} {
		var input *InputError
		if _, err := ParseSchema([]byte(text)); !errors.As(err, &input) || input.Message == "" {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}
