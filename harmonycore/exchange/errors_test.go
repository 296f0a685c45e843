package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestServersNotFound: a server's 404 is about what the gateway asked it, of which the client knows nothing.
func TestServersNotFound(t *testing.T) {
	for name, tt := range map[string]struct{ body, code, message string }{
		"the model, vLLM": {`{"error":{"message":"The model ` + "`openai/gpt-oss`" +
			` does not exist.","type":"NotFoundError","param":"model","code":404}}`, "server_model_not_found",
			"by the name 'openai/gpt-oss'"},
		"the model, older vLLM": {`{"object":"error","message":"The model ` + "`openai/gpt-oss`" +
			` does not exist.","type":"NotFoundError","param":null,"code":404}`, "server_model_not_found", "--server-model"},
		"the model, by its code": {`{"error":{"message":"no such thing","code":"model_not_found"}}`, "server_model_not_found",
			"server_model in the configuration"},
		"the model, Ollama": {`{"error":"model 'openai/gpt-oss' not found"}`, "server_model_not_found",
			"by the name 'openai/gpt-oss'"},
		"the path, FastAPI": {`{"detail":"Not Found"}`, "server_path_not_found", "The kind may be wrong: harmony probe"},
		"the path, llama.cpp": {`{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`,
			"server_path_not_found", "POST /v1/completions"},
		"the path, OpenAI": {`{"error":{"message":"Invalid URL (POST /v1/completions)","type":"invalid_request_error"}}`,
			"server_path_not_found", "the kind vllm"},
		"the path, a gateway": {`{"error":{"message":"elsewhere","code":"unknown_url"}}`, "server_path_not_found", "vllm"},
		"something":           {`<html>`, "server_path_not_found", "(status 404)"},
		"nothing":             {``, "server_path_not_found", "(status 404)"},
		"another thing": {`{"error":{"message":"No provider is available.","code":404}}`, "server_error",
			"No provider is available."},
	} {
		t.Run(name, func(t *testing.T) {
			x := testGateway(nil).Begin("POST", "/v1/chat/completions")
			if a := x.Request([]byte(`{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}]}`),
				Host{Now: testNow, ID: testID}); a.Reply != nil {
				t.Fatalf("got %s", a.Reply.Body)
			}
			x.ResponseHeaders(ResponseHead{Status: 404, ContentType: "application/json"})
			a := x.ResponseBody([]byte(tt.body), true)
			got := string(a.Body)
			if a.Reply != nil {
				got = string(a.Reply.Body)
			}
			status := 0
			switch {
			case a.Reply != nil:
				status = a.Reply.Status
			case a.Head != nil:
				status = a.Head.Status
			}
			if status != 502 || !strings.Contains(got, `"code":"`+tt.code+`"`) || !strings.Contains(got, tt.message) ||
				!strings.Contains(got, `"type":"server_error","param":null`) {
				t.Errorf("%d %s", status, got)
			}
		})
	}
}

// clientGets sends a request to a gateway and returns the status and the body that its client gets for a server's answer.
func clientGets(t *testing.T, g *Gateway, path, body string, h ResponseHead, answer string) (int, string) {
	t.Helper()
	x := g.Begin("POST", path)
	x.Header("authorization", "Bearer the-clients-own")
	if a := x.Request([]byte(body), Host{Now: testNow, ID: testID}); a.Reply != nil {
		t.Fatalf("refused: %s", a.Reply.Body)
	}
	head, got := h.Status, ""
	for _, a := range []ResponseAction{x.ResponseHeaders(h), x.ResponseBody([]byte(answer), true)} {
		switch {
		case a.Reply != nil:
			head, got = a.Reply.Status, string(a.Reply.Body)
		case a.Head != nil:
			head = a.Head.Status
		}
		if a.Reply == nil {
			got += string(a.Body)
		}
	}
	return head, got
}

// TestServersRefuseTheGateway checks that no client gets a server's 401 or 403 for the gateway's own key, on no path and
// with no kind of server, nor a word of the server's, which may repeat a part of the key. A client whose own key goes to
// the servers gets the server's answer.
func TestServersRefuseTheGateway(t *testing.T) {
	const words = `{"error":{"message":"Incorrect API key provided: sk-secret","type":"x","code":"invalid_api_key"}}`
	chat := `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}]}`
	settings := func(kind string, alter func(*contract.Model)) *Gateway {
		return testGateway(func(o *Options) {
			o.Kind = nil
			for i := range o.Models {
				m := &o.Models[i]
				if m.Server = kind; alter != nil {
					alter(m)
				}
			}
		})
	}
	type request struct{ path, body string }
	requests := map[string]request{
		"chat": {"/v1/chat/completions", chat}, "responses": {"/v1/responses", `{"model":"gpt-oss-120b","input":"Hi"}`}}
	check := func(name string, g *Gateway, r request, status int, code string) {
		t.Helper()
		head, got := clientGets(t, g, r.path, r.body, ResponseHead{Status: status, ContentType: "application/json"}, words)
		if head != 502 || !strings.Contains(got, `"code":"`+code+`"`) || strings.Contains(got, "sk-secret") {
			t.Errorf("%s, %d: got %d %s", name, status, head, got)
		}
	}
	const refused = "server_refused_credentials"
	for _, kind := range contract.ServerKinds() {
		for name, r := range requests {
			check(kind+", "+name, settings(kind, nil), r, 401, refused)
			if kind == contract.VLLMGenerate || kind == contract.VLLMRender {
				check(kind+", "+name, settings(kind, nil), r, 403, "server_path_not_found")
			} else {
				check(kind+", "+name, settings(kind, nil), r, 403, refused)
			}
			own := settings(kind, func(m *contract.Model) { m.ForwardAuthorization = true })
			head, got := clientGets(t, own, r.path, r.body, ResponseHead{Status: 401, ContentType: "application/json"}, words)
			if head != 401 || !strings.Contains(got, `"code":"invalid_api_key"`) || !strings.Contains(got, "sk-secret") {
				t.Errorf("%s, %s, the client's own key: got %d %s", kind, name, head, got)
			}
		}
	}
	for _, status := range []int{401, 403} {
		raw := settings(contract.VLLM, func(m *contract.Model) { m.RawPrompts = contract.RawPromptsAllow })
		check("raw", raw, request{"/v1/completions", `{"model":"gpt-oss-120b","prompt":"Hi"}`}, status, refused)
		check("untranslated", settings(contract.VLLM, func(m *contract.Model) { m.Translate = "0%" }), requests["chat"],
			status, refused)
		check("observed", settings(contract.VLLM, func(m *contract.Model) { m.Translate = contract.TranslateObserve }),
			requests["chat"], status, refused)
	}
	// Envoy's own 401, of a filter of the operator's, is the client's.
	head, got := clientGets(t, settings(contract.VLLM, nil), "/v1/chat/completions", chat,
		ResponseHead{Status: 401, Local: true, ContentType: "text/plain"}, "Jwt is missing")
	if head != 401 || !strings.Contains(got, "Jwt is missing") || !strings.Contains(got, `"code":"invalid_api_key"`) {
		t.Errorf("the proxy's own 401: got %d %s", head, got)
	}
	_, got = clientGets(t, settings(contract.VLLMGenerate, nil), "/v1/chat/completions", chat,
		ResponseHead{Status: 403, ContentType: "application/json"}, words)
	if !strings.Contains(got, "--enable-scale-out") || !strings.Contains(got, "POST /inference/v1/generate") {
		t.Errorf("vLLM's 403: got %s", got)
	}
}
