package exchange

import (
	"strings"
	"testing"
)

// TestAmbiguousPaths checks that a path that can be read in two ways is refused, for every method and before any body.
// All other paths pass.
func TestAmbiguousPaths(t *testing.T) {
	for _, path := range []string{
		"/v1/..%2fmetrics", "/v1/..%2Fmetrics", "/v1/%2e%2e%2fmetrics", "/v1/%2E%2E/metrics", "/v1/../metrics",
		"/v1/./completions", "/v1/.",
		"/v1/%252e%252e%252fmetrics", "/v1/%2563ompletions", "/v1%2fcompletions", "/v1%252fcompletions", "/v1/..\\metrics",
		"/v1/..%5cmetrics",
		"/v1//completions", "//v1/completions", "/./v1/completions", "/x/../v1/completions", "/x%2f..%2fv1/completions",
		"/v1/..;/metrics",
		"/v1/..;a=b/metrics", "/v1/completions%00", "/v1/completions\x00", "/v1/\x7f", "/v1/%0acompletions", "/v1/comple%ti",
		"/v1/x%", "/V1/..%2fmetrics",
		"/tokenize/..%2fmetrics", "/generate%2f", "/v1/models/..%2f..%2fmetrics", "/v1/models/a%2f..%2f..%2f..%2fmetrics",
		"/v1/models/%2e%2e/x",
		"/v1/models/a%5c..", "/v1/models/openai%252Fgpt", "/v1/models/a%00", "/v1/models//a", "/v1/models/a%2f%2fb",
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			x := testGateway(func(o *Options) { o.Passthrough = true }).Begin(method, path+"?x=%2f..%00")
			if x == nil {
				t.Errorf("%s %q is left alone", method, path)
				continue
			}
			reply := x.RequestHeaders().Reply
			if reply == nil || reply.Status != 400 || !strings.Contains(string(reply.Body), `"code":"invalid_request"`) {
				t.Errorf("%s %q: got %+v", method, path, reply)
			}
			x = testGateway(nil).Begin(method, path)
			if a := x.Request(nil, Host{Now: testNow, ID: testID}); a.Reply == nil || a.Reply.Status != 400 {
				t.Errorf("%s %q without a body: got %+v", method, path, a)
			}
		}
	}
	for _, path := range []string{"/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/tokenize"} {
		for _, method := range []string{"post", "Post", "get"} {
			if x := testGateway(nil).Begin(method, path); x == nil || x.RequestHeaders().Reply == nil {
				t.Errorf("%s %s is not refused", method, path)
			}
		}
	}
	for _, path := range []string{
		"/", "/v1/embeddings", "/v1/models/openai%2Fgpt", "/v1/models/openai/gpt", "/v1/models/gpt-4%2E1", "/v1/files/a%20b",
		"/v1/files/a.b..c", "/v1/files/100%25",
		"/v1/batches/", "/v1/x;y=1", "/other/..%2fmetrics", "/a//b", "/a/%2e%2e/b", "/v1x/..%2fmetrics", "/files/%00",
	} {
		if x := testGateway(func(o *Options) { o.Passthrough = true }).Begin("POST", path); x != nil {
			t.Errorf("%q is not left alone", path)
		}
	}
}

// TestUnlistedPromptPaths: a model of ours is refused wherever a server may take a prompt for it.
func TestUnlistedPromptPaths(t *testing.T) {
	taken := `{"model":"` + testModel + `","prompt":"x"}`
	for _, path := range []string{
		"/v1/completions/", "/v1/completions/batch", "/v1/completions;a", "/V1/Completions", "/v1/%63ompletions",
		"/v1/chat/completions/", "/v1/chat/completions/batch",
		"/v1/responses/", "/v1/responses/compact/", "/generate/", "/generate/stream", "/completion/x",
		"/inference/v1/generate/", "/v1/completions;a/b",
	} {
		begin := func() *Exchange { return testGateway(func(o *Options) { o.Passthrough = true }).Begin("POST", path) }
		x := begin()
		if x == nil {
			t.Errorf("%q is left alone", path)
			continue
		}
		if !x.RequestHeaders().Hold {
			t.Errorf("%q is not held", path)
		}
		for body, code := range map[string]string{
			taken: "raw_prompt_not_allowed", `{"model":"other","model":"` + testModel + `"}`: "duplicate_key",
			taken[1:]: "invalid_json",
		} {
			a := begin().Request([]byte(body), Host{Now: testNow, ID: testID})
			if a.Reply == nil || !strings.Contains(string(a.Reply.Body), `"code":"`+code+`"`) {
				t.Errorf("%q with %s: got %+v", path, body, a)
			}
		}
		for _, body := range []string{"", `{"model":"other","prompt":"x"}`, `{"metadata":{}}`} {
			if a := begin().Request([]byte(body), Host{Now: testNow, ID: testID}); a.Reply != nil || a.Forward != nil || a.Hold {
				t.Errorf("%q with %q: got %+v", path, body, a)
			}
		}
	}
	for _, path := range []string{"/v1/completionsx", "/v1/embeddings", "/v1/audio/transcriptions", "/v1/responsesx"} {
		if x := testGateway(func(o *Options) { o.Passthrough = true }).Begin("POST", path); x != nil {
			t.Errorf("%q is not left alone", path)
		}
	}
}
