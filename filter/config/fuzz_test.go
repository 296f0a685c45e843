package config

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"
)

// FuzzParse: whatever a configuration says is refused with the place of what is wrong, or is read; and what was read is
// written so that it is read as the same again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{`, `[]`, `{"schema":2}`, `{"schema":1,"x\u000a":{"y":1}}`,
		`{"schema":1,"models":[{"name":"a","answers":{"strict":null}}]}`,
		`{"schema":1,"mode":"reduced","models":[{"name":"a","server_extras":["top_k"],"reasoning_efforts":{"none":"low"}}]}`,
		`{"schema":1,"body_limit":1e3,"reasoning_ratio_alert":0.50,"seal":{"lifetime_s":60,"tenant_header":"x-tenant"},` +
			`"responses_service":{"pool":"p","stores":false},"hosted_tools":"refuse","passthrough":true,"tap":{"cluster":"t","all":"summary"},` +
			`"models":[{"name":"a\u0000\"","pool":"b","system":{"identity":"","date":"2026-01-02","effort":"low"}},` +
			`{"name":"c"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(bytes.Clone(data))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Reason == "" || strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		written := AppendJSON(nil, c)
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("%q is read, and written as %s: %v", data, written, err)
		}
		if rewritten := AppendJSON(nil, again); !bytes.Equal(rewritten, written) {
			t.Fatalf("%q is written as\n%s\nand then as\n%s", data, written, rewritten)
		}
	})
}
