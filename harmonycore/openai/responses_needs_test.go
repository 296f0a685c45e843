package openai

import "testing"

func TestResponsesNeeds(t *testing.T) {
	kept := Needs{Store: true}
	state := Needs{Store: true, State: true}
	for _, tt := range []struct {
		members string
		want    Needs
	}{
		{`"input":"Hi"`, kept},
		{`"store":null`, kept},
		{`"store":true`, kept},
		{`"store":false`, Needs{}},
		{`"store":"no"`, Needs{}}, // the decoder refuses it
		{`"previous_response_id":"resp_1"`, state},
		{`"previous_response_id":null,"conversation":null,"background":false,"tools":null,"input":null`, kept},
		{`"previous_response_id":7,"conversation":7,"background":1,"tools":{},"input":7`, kept},
		{`"previous\u005fresponse_id":"resp_1","store":false`, Needs{State: true}},
		{`"previous_response_id":"resp_1","previous_response_id":null`, state},
		{`"conversation":"conv_1"`, state},
		{`"conversation":{"id":"conv_1"}`, state},
		{`"background":true`, state},
		{`"input":[{"role":"user","content":"item_reference"},7,{"type":["item_reference"]}]`, kept},
		{`"stream":true,"context_management":null`, Needs{Store: true, Stream: true}},
		{`"stream":"yes"`, kept},
		{`"context_management":[{"type":"compaction"}]`, state},
		{`"input":[{"role":"user","content":"Hi"},{"type":"compaction_trigger"}]`, state},
		{`"input":[{"type":"compaction","encrypted_content":"x"}]`, state},
		{`"input":[{"id":"msg_1"}]`, state},
		{`"input":[{"id":"msg_1","type":null}]`, state},
		{`"input":[{"id":"msg_1","role":"user","content":"Hi"},{"id":"rs_1","type":"reasoning","summary":[]},{"id":7,` +
			`"type":7},{}]`, kept},
		{`"input":[{"role":"user","content":"Hi"},{"id":"msg_1","type":"item\u005freference"}]`, state},
		{`"tools":[{"type":"function","name":"web_search"},{"type":"custom"},{"type":"local_shell"},{"type":"namespace",` +
			`"tools":[]},{"type":"builtin","name":"browser"}]`, kept},
		{`"tools":[{"type":"function"},{"type":"mcp"},{"type":"web_search"}]`,
			Needs{Store: true, HostedTool: "tools[1].type", HostedKind: "mcp"}},
		{`"tools":[{"type":"function","name":"f","defer_loading":true}]`, Needs{Store: true, Deferred: true}},
		{`"tools":[{"type":"function"},{"type":"namespace","tools":[7,{"type":"custom","defer_loading":true}]}]`,
			Needs{Store: true, Deferred: true}},
		{`"tools":[{"type":"function","defer_loading":1},{"type":"custom","defer_loading":false},` +
			`{"type":"namespace","tools":7}]`, kept},
		{`"tools":[{"type":"custom","defer_loading":true},{"type":"tool_search","execution":"client"}]`, kept},
		{`"tools":[{"type":"custom","defer_loading":true},{"type":"tool_search"}]`,
			Needs{Store: true, HostedTool: "tools[1].type", HostedKind: "tool_search"}},
		{`"tools":[7,{},{"type":1},{"type":""},{"name":"a","type":"unheard_of"}]`,
			Needs{Store: true, HostedTool: "tools[4].type", HostedKind: "unheard_of"}},
	} {
		b, err := Open([]byte(`{"model":"m",` + tt.members + `}`))
		if err != nil {
			t.Fatalf("%s: %v", tt.members, err)
		}
		if got, err := b.ResponsesNeeds(); err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v", tt.members, got, err)
		}
	}
}

// TestResponsesNeedsLeaveTheBody checks that reading the needs leaves the body unchanged for the next reader.
func TestResponsesNeedsLeaveTheBody(t *testing.T) {
	const body = `{"model":"m","previous_response_id":"r\u0065sp","input":[{"type":"item\u005freference",` +
		`"id":"\u0061"}],"tools":[{"type":"m\u0063p"}]}`
	data := []byte(body)
	b, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if needs, err := b.ResponsesNeeds(); err != nil || !needs.State || needs.HostedKind != "mcp" {
		t.Fatalf("got %+v, %v", needs, err)
	}
	if string(data) != body {
		t.Errorf("the body is %s", data)
	}
}

// FuzzResponsesNeeds checks that reading the needs does not change the request, and that a request that needs a store
// is never taken for one that does not.
func FuzzResponsesNeeds(f *testing.F) {
	f.Add([]byte(`{"model":"m","input":[{"type":"item_reference","id":"i"},{"role":"user","content":"x"}],` +
		`"previous_response_id":"r","store":false}`))
	f.Add([]byte(`{"model":"m","input":"x","background":true,"conversation":{"id":"c"},"tools":[{"type":"function",` +
		`"name":"f"},{"type":"mcp","server_label":"\u0061"}]}`))
	f.Add([]byte(`{"model":"m","input":"x","store":null,"tools":[{"type":"web_search","type":"custom","name":"f"}],` +
		`"background":false}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		b, opened := Open(body)
		if opened != nil {
			return
		}
		before := string(body)
		needs, err := b.ResponsesNeeds()
		checkDecoded(t, body, err == nil, err)
		if string(body) != before {
			t.Fatalf("%q has become %q", before, body)
		}
		if _, err := DecodeResponsesRequest(b); err == nil && needs.State {
			t.Fatalf("%q needs no store", before)
		}
	})
}
