package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// object is a JSON object with its members in order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", m.name, mustJSON(m.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

var _ json.Marshaler = object{}
