package config

import (
	"os"
	"reflect"
	"testing"
)

// TestDefaultsStay: within a schema no setting gets another default, and none goes away. Filter and control plane need
// not be of one version, and what is left out one side takes for granted.
func TestDefaultsStay(t *testing.T) {
	data, err := os.ReadFile("testdata/defaults.json")
	if err != nil {
		t.Fatal(err)
	}
	spelled, err := Parse(data)
	if err != nil {
		t.Fatalf("an older control plane may write this: %v", err)
	}
	const minimal = `{"schema":1,"models":[{"name":"m"}]}`
	silent, err := Parse([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(silent, spelled) {
		t.Errorf("an older filter reads\n%+v\nwhere this one reads\n%+v", spelled, silent)
	}
	if got := string(AppendJSON(nil, spelled)); got != minimal {
		t.Errorf("written is %s, want %s: an older filter must know every word of it", got, minimal)
	}
}

// TestOnlyWhatDiffers: what is set is written, and nothing beside it.
func TestOnlyWhatDiffers(t *testing.T) {
	for _, text := range []string{
		`{"schema":1}`,
		`{"schema":1,"mode":"reduced","models":[{"name":"a"}]}`,
		`{"schema":1,"stall_timeout_ms":0,"reasoning_ratio_alert":1,"responses_service":{"pool":"p"},` +
			`"models":[{"name":"a"},{"name":"b","pool":"a"}]}`,
		`{"schema":1,"seal":{"tenant_header":"x-tenant"},"responses_service":{"pool":"p","stores":false,` +
			`"websocket":true,"messages":true},"hosted_tools":"refuse"}`,
		`{"schema":1,"tap":{"cluster":"t"},"hosted_tools":"refuse"}`, `{"schema":1,"tap":{"cluster":"t","all":"summary"}}`,
		`{"schema":1,"passthrough":true,"models":[{"name":"a","server_extras":[]},{"name":"b","server_extras":["top_k"]}]}`,
		`{"schema":1,"models":[{"name":"a","reasoning_efforts":{"max":"low"},"answers":{"strict":true},` +
			`"system":{"identity":""}}]}`,
	} {
		c, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := string(AppendJSON(nil, c)); got != text {
			t.Errorf("written is %s, want %s", got, text)
		}
	}
}
