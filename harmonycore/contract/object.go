//go:build !wasm

package contract

import (
	"bytes"
	"encoding/json"
	"errors"
)

// UnmarshalYAML reads an object from a file. The filter, which must do without reflection, reads no YAML.
func (o *Object) UnmarshalYAML(decode func(any) error) error {
	var members map[string]any
	if err := decode(&members); err != nil {
		return err
	}
	*o = ""
	if len(members) == 0 {
		return nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(members); err != nil {
		return errors.New("an object holds .nan or .inf, which JSON does not have; remove it")
	}
	*o = Object(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return nil
}
