package exchange

import (
	"strings"
	"testing"
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
		"the path":  {`{"detail":"Not Found"}`, "server_error", "Not Found"},
		"something": {`<html>`, "server_error", "the inference server answered with status 404"},
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
