package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestReadingStops checks that the body of a request for one of the gateway's models is read only up to the value that
// exceeds the maximum. Another model's body passes unchanged, however many values it has.
func TestReadingStops(t *testing.T) {
	body := func(model, end string) string {
		return `{"model":"` + model + `","messages":[` + strings.Repeat("0,", 200_000) + `0]` + end
	}
	for _, tt := range []struct {
		name, body string
		passes     bool
		code       string
	}{
		{"ours", body(testModel, "}"), false, "max_values_exceeded"},
		{"ours, and then no JSON", body(testModel, "]]"), false, "max_values_exceeded"},
		{"ours, beside a passthrough server", body(testModel, "]]"), true, "max_values_exceeded"},
		{"another's", body("x", "}"), true, ""},
		{"another's, and then no JSON", body("x", "]]"), true, "invalid_json"},
		{"another's, and then ours", body("x", `,"model":"`+testModel+`"}`), true, "max_values_exceeded"},
		{"ours, and then another's", body(testModel, `,"model":"x"}`), true, "duplicate_key"},
	} {
		g := testGateway(func(o *Options) { o.Passthrough = tt.passes })
		a := g.Begin("POST", "/v1/chat/completions").Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		switch {
		case tt.code == "" && (a.Reply != nil || a.Forward != nil):
			t.Errorf("%s: %+v", tt.name, a)
		case tt.code != "" && (a.Reply == nil || !strings.Contains(string(a.Reply.Body), `"code":"`+tt.code+`"`)):
			t.Errorf("%s: %+v", tt.name, a.Reply)
		}
	}
}

// TestMinMemoryLimit: with the least memory that an operator can set, the largest request is admitted.
func TestMinMemoryLimit(t *testing.T) {
	const vocabulary = 5 << 20
	for _, limit := range []int{1 << 10, 1 << 20, contract.DefaultBodyLimit, contract.MaxBodyLimit} {
		if need, minimum := vocabulary+limit+memoryFor(limit,
			min(limit, openai.MaxValues)), contract.MinMemoryLimit(limit); need > minimum {
			t.Errorf("a request of %d bytes may take %d, and the least memory limit is %d", limit, need, minimum)
		}
	}
	if minimum := contract.MinMemoryLimit(contract.DefaultBodyLimit); minimum > contract.DefaultMemoryLimit {
		t.Errorf("the default body limit wants a memory limit of %d, and the default is %d", minimum,
			contract.DefaultMemoryLimit)
	}
	if minimum := contract.MinMemoryLimit(contract.MaxBodyLimit); minimum > contract.MaxMemoryLimit {
		t.Errorf("the largest body limit needs a memory limit of %d, over the largest", minimum)
	}
}

// TestEveryServerKind checks that the gateway can speak to every kind of server that a configuration may name.
func TestEveryServerKind(t *testing.T) {
	for _, kind := range contract.ServerKinds() {
		if k, ok := backend.Named(kind); !ok || k.Facts().Name != kind {
			t.Errorf("the gateway cannot speak to %s", kind)
		}
	}
}
