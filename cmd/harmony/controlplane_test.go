package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	right := writeFile(t, "right.yaml", "models:\n  - name: a\n    servers: [vllm=http://h:1, vllm=http://h:2]\n")
	for _, tt := range []struct{ name, text, want string }{
		{"unknown.yaml", "models:\n  - name: a\n    server: [vllm=http://h:1]\n", "unknown.yaml:3: server is not a setting"},
		{"word.yaml", "mode: half\nmodels:\n  - name: a\n    servers: [vllm=http://h:1]\n", "word.yaml:1: mode: "},
		{"none.yaml", "mode: full\n", "none.yaml: models: no model"},
		{"size.yaml", "body_limit: 3 cats\n", "size.yaml:1: body_limit: "},
		{"server.yaml", "models:\n  - name: a\n    servers:\n      - vllm=http://h:1\n      - http://h:2\n", "server.yaml:5: models[0].servers[1]: "},
	} {
		var out, failed bytes.Buffer
		wrong := writeFile(t, tt.name, tt.text)
		if code := run(t.Context(), []string{"controlplane", "validate", right, wrong}, &out, &failed); code != exitUsage {
			t.Errorf("%s: status %d", tt.name, code)
		}
		if !strings.Contains(failed.String(), tt.want) || strings.Contains(failed.String(), "right.yaml") {
			t.Errorf("%s: %s", tt.name, &failed)
		}
		if out.String() != right+": right; models: 1, pools: 1, servers: 2\n" {
			t.Errorf("%s: %s", tt.name, &out)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"controlplane", "validate"}, &out, &out); code != exitUsage {
		t.Errorf("without a file: status %d, %s", code, &out)
	}
	if code := run(t.Context(), []string{"controlplane", "validate", "../../examples/config.yaml"}, &out, &out); code != 0 {
		t.Errorf("the example: status %d, %s", code, &out)
	}
}

func TestPrintSchema(t *testing.T) {
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"controlplane", "schema"}, &out, &failed); code != 0 || !json.Valid(out.Bytes()) {
		t.Errorf("status %d, %s%s", code, &failed, &out)
	}
}
