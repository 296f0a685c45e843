package backend

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTransferParams(t *testing.T) {
	for _, tt := range []struct{ body, params, host string }{
		{`{"kv_transfer_params":{"remote_host":"a\u0062","x":[1, 2]}}`, `{"remote_host":"a\u0062","x":[1, 2]}`, "ab"},
		{`{"id":1,"kv_transfer_params" : {} ,"z":null}`, `{}`, ""},
		{`{"kv_transfer_params":{"remote_host":7}}`, `{"remote_host":7}`, ""},
		{`{"kv_transfer_params":null}`, "", ""}, {`{"kv_transfer_params":"x"}`, "", ""}, {`{}`, "", ""}, {``, "", ""},
		{`[{"kv_transfer_params":{}}]`, "", ""}, {`{"kv_transfer_params":{}`, "", ""},
		{`{"a":{"kv_transfer_params":{}}}`, "", ""},
		{strings.Repeat(`{"kv_transfer_params":`, 1000) + "1" + strings.Repeat("}", 1000), "", ""},
	} {
		params, host := TransferParams([]byte(tt.body))
		if string(params) != tt.params || host != tt.host {
			t.Errorf("%.100s: got %s from %q", tt.body, params, host)
		}
	}
}

// FuzzTransferParams: whatever a server answers, the request to the other one is JSON.
func FuzzTransferParams(f *testing.F) {
	for _, s := range []string{`{"kv_transfer_params":{"remote_host":"a","b":[[1,2],{}]}}`, `{"kv_transfer_params":{"a":1}} `,
		`{"kv_transfer_params":{"a":"\"}"}}`, "", `{"kv_transfer_params":{},"kv_transfer_params":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		params, _ := TransferParams(body)
		sent := AppendTransferParams([]byte(`{"model":"m"`), params)
		if !json.Valid(sent) {
			t.Errorf("%q: got %q", body, sent)
		}
	})
}

func TestAppendBootstrap(t *testing.T) {
	got := string(AppendBootstrap([]byte(`{"stream":true}`), &Bootstrap{Host: "[::1]", Port: 1, Room: 1<<63 - 1, ID: "i"}))
	const want = `{"stream":true,"rid":"i","bootstrap_host":"[::1]","bootstrap_port":1,"bootstrap_room":9223372036854775807}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
