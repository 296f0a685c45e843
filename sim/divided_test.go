package sim

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// pair starts a server for each role.
func pair(t *testing.T, kind string) (prefill, decode *Server, prefillURL, decodeURL string) {
	t.Helper()
	prefill, prefillURL = start(t, Options{Kind: kind, Role: RolePrefill, TransferTimeout: 5 * time.Second})
	decode, decodeURL = start(t, Options{Kind: kind, Role: RoleDecode, TransferTimeout: 5 * time.Second,
		TimeToFirstToken: time.Hour}) // nobody waits so long for a prompt that has been read
	return prefill, decode, prefillURL, decodeURL
}

// TestVLLMDivided: what the first server answers lets the second one answer, once.
func TestVLLMDivided(t *testing.T) {
	const remote = `"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,` +
		`"remote_block_ids":null,"remote_host":null,"remote_port":null}`
	for kind, bodies := range map[string][2]string{
		VLLM: {`{"model":"gpt-oss-120b","prompt":` + idsOf(hello) + `,"max_tokens":1,`,
			`{"model":"gpt-oss-120b","prompt":` + idsOf(hello) + `,"max_tokens":100,"return_token_ids":true,"stream":true,`},
		VLLMGenerate: {`{"model":"gpt-oss-120b","token_ids":` + idsOf(hello) + `,"sampling_params":{"max_tokens":1},`,
			`{"model":"gpt-oss-120b","token_ids":` + idsOf(hello) + `,"sampling_params":{"max_tokens":100},"stream":true,`},
	} {
		prefill, decode, first, second := pair(t, kind)
		path := protocolOf(Options{Kind: kind}).Path()
		status, answer := ask(t, first+path, bodies[0]+remote+"}")
		var found struct {
			Params json.RawMessage `json:"kv_transfer_params"`
		}
		if err := json.Unmarshal([]byte(answer), &found); err != nil || status != 200 || prefill.Kept() != 1 ||
			!strings.Contains(string(found.Params),
				`"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[1,`) {
			t.Fatalf("%s: %d %s, %v", kind, status, answer, err)
		}
		sent := bodies[1] + `"kv_transfer_params":` + string(found.Params) + "}"
		status, answer = ask(t, second+path, sent)
		if status != 200 || !strings.Contains(answer, "[DONE]") || strings.Contains(answer, "error") ||
			prefill.Kept() != 0 || prefill.Transfers() != 1 {
			t.Errorf("%s: %d %s", kind, status, answer)
		}
		if q := await(t, decode, completed)[0]; q.PromptFrom != prefill.TransferAddress() {
			t.Errorf("%s: the prompt is from %q", kind, q.PromptFrom)
		}
		if _, answer = ask(t, second+path, sent); !strings.Contains(answer, "nothing is kept for req-") {
			t.Errorf("%s: a second time: %s", kind, answer)
		}
	}
}

// TestSGLangDivided: both servers get the same request, in any order, and the second one's answer is the whole one.
func TestSGLangDivided(t *testing.T) {
	for kind, begin := range map[string]string{
		SGLang:            `{"input_ids":` + idsOf(hello) + `,"sampling_params":{"max_new_tokens":100},`,
		SGLangCompletions: `{"model":"gpt-oss-120b","prompt":` + idsOf(hello) + `,"max_tokens":100,"return_token_ids":true,`,
	} {
		prefill, decode, first, second := pair(t, kind)
		path := protocolOf(Options{Kind: kind}).Path()
		host, port, err := net.SplitHostPort(prefill.TransferAddress())
		if err != nil {
			t.Fatal(err)
		}
		at := func(room string) string {
			return begin + `"stream":true,"rid":"r` + room + `","bootstrap_host":"` + host + `","bootstrap_port":` + port +
				`,"bootstrap_room":` + room + `}`
		}
		for _, order := range [][2]string{{first, second}, {second, first}} {
			const room = "9223372036854775807"
			early := make(chan string)
			go func() {
				_, answer := ask(t, order[0]+path, at(room))
				early <- answer
			}()
			_, later := ask(t, order[1]+path, at(room))
			one, other := <-early, later
			if order[0] == second {
				one, other = other, one
			}
			if strings.Count(one, "200005") != 1 || !strings.Contains(other, "200002") || strings.Contains(one+other, "error") {
				t.Errorf("%s: the servers answer %s\nand %s", kind, one, other)
			}
		}
		if prefill.Transfers() != 2 || prefill.Kept() != 0 {
			t.Errorf("%s: %d transfers, %d are kept", kind, prefill.Transfers(), prefill.Kept())
		}
		if q := decode.Requests()[0]; q.PromptFrom != prefill.TransferAddress() {
			t.Errorf("%s: the prompt is from %q", kind, q.PromptFrom)
		}
		// Neither server answers alone.
		for _, url := range []string{first, second} {
			if _, answer := ask(t, url+path, begin+`"stream":true}`); !strings.Contains(answer, "without bootstrap room id") {
				t.Errorf("%s: got %s", kind, answer)
			}
		}
	}
}

// TestSGLangAbort: a request that waits for the other server ends when it is aborted by its id, and when its client
// leaves.
func TestSGLangAbort(t *testing.T) {
	prefill, _, url, _ := pair(t, SGLang)
	body := `{"input_ids":` + idsOf(hello) + `,"rid":"x","stream":true,"bootstrap_host":"127.0.0.1","bootstrap_port":1,` +
		`"bootstrap_room":5}`
	running := func(n int) func([]Request) bool {
		return func(all []Request) bool { return len(all) == n && all[n-1].PromptIDs != nil }
	}
	go func() { _, _ = ask(t, url+"/generate", body) }()
	await(t, prefill, running(1))
	ask(t, url+"/abort_request", `{"rid":"x"}`)
	if q := await(t, prefill, func(all []Request) bool { return all[0].Done })[0]; !q.Aborted {
		t.Errorf("got %+v", q)
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+"/generate", strings.NewReader(body))
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
		}
	}()
	await(t, prefill, running(3))
	leave()
	<-gone
	await(t, prefill, func(all []Request) bool { return all[2].Done && all[2].Aborted })
	if prefill.Kept() != 0 {
		t.Errorf("%d are kept", prefill.Kept())
	}
}
