package exchange

import (
	"fmt"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRoutes: each kind of request comes to its endpoint, by its method and path. A name, an id and the path of a raw
// prompt are what the pattern leaves open.
func TestRoutes(t *testing.T) {
	stores := func(o *Options) { o.ResponsesService = contract.ResponsesService{Pool: "service", Stores: true} }
	passthrough := func(o *Options) { o.Passthrough = true }
	for _, tt := range []struct {
		change       func(*Options)
		method, path string
		api, want    string
	}{
		{nil, "POST", "/v1/chat/completions", "chat", "generation"},
		{nil, "POST", "/v1/responses?x=/v1/models", "responses", "generation"},
		{nil, "POST", "/v1/responses/input_tokens", "tokens", "count"},
		{nil, "POST", "/tokenize", "tokens", "count"}, {nil, "POST", "/detokenize", "tokens", "count"},
		{nil, "GET", "/tokenizer_info", "tokens", "*exchange.tokenizerInfo"},
		{passthrough, "GET", "/tokenizer_info", "", ""}, {nil, "POST", "/tokenizer_info", "other", "refused"},
		{nil, "GET", "/v1/models", "models", "models"}, {nil, "GET", "/v1/models/a%2Fb/c", "models", "model a/b/c"},
		{nil, "GET", "/v1/models/", "", ""}, {passthrough, "GET", "/v1/models/a", "", ""},
		{passthrough, "GET", "/v1/models/" + testModel, "models", "model " + testModel},
		{nil, "GET", "/v1/responses/r%201", "responses", "stored r 1"},
		{nil, "DELETE", "/v1/responses/r", "responses", "stored r"},
		{nil, "GET", "/v1/responses/input_tokens", "responses", "stored input_tokens"},
		{nil, "POST", "/v1/responses/r/cancel", "responses", "stored r"},
		{nil, "GET", "/v1/responses/r/input_items", "responses", "stored r"},
		{nil, "GET", "/v1/responses/r/other", "", ""}, {nil, "GET", "/v1/responses/", "", ""},
		{nil, "POST", "/v1/responses/r/other", "completions", "raw /v1/responses/r/other"},
		{passthrough, "GET", "/v1/responses/r", "", ""}, {passthrough, "POST", "/v1/responses/r/cancel", "", ""},
		{nil, "POST", "/v1/conversations", "", ""}, {stores, "POST", "/v1/conversations", "responses", "stored "},
		{stores, "GET", "/v1/conversations/c/items", "responses", "stored "}, {stores, "GET", "/v1/conversationsx", "", ""},
		{stores, "PUT", "/v1/conversations", "", ""},
		{nil, "POST", "/v1/completions", "completions", "raw /v1/completions"},
		{nil, "POST", "/generate", "completions", "raw /generate"},
		{nil, "POST", "/completion", "completions", "raw /completion"},
		{nil, "POST", "/inference/v1/generate", "completions", "raw /inference/v1/generate"},
		{nil, "POST", "/api/generate", "completions", "raw /api/generate"},
		{nil, "POST", "/api/chat", "completions", "raw /api/chat"}, {nil, "POST", "/api/pull", "", ""},
		{nil, "POST", "/v1/messages?beta=true", "messages", "generation"},
		{nil, "POST", "/v1/messages/count_tokens?beta=true", "tokens", "count"},
		{nil, "GET", "/v1/messages", "other", "refused"}, {nil, "POST", "/v1/messages/batches", "other", "refused"},
		{nil, "DELETE", "/v1/messages/batches/x", "other", "refused"}, {nil, "OPTIONS", "/v1/messages", "", ""},
		{passthrough, "GET", "/v1/messages/batches", "", ""},
		{passthrough, "POST", "/v1/messages/batches", "completions", "raw /v1/messages/batches"},
		{nil, "POST", "/Generate/x", "completions", "raw /Generate/x"},
		{nil, "POST", "generate", "completions", "raw generate"},
		{nil, "PUT", "/v1/completions", "completions", "raw /v1/completions"},
		{nil, "PUT", "/generate", "completions", "raw /generate"},
		{nil, "PUT", "/Generate/x", "completions", "raw /Generate/x"},
		{nil, "PUT", "/v1/chat/completions/x", "", ""}, {nil, "PATCH", "/generate", "", ""},
		{nil, "GET", "/generate", "", ""}, {nil, "POST", "/v1/embeddings", "", ""}, {nil, "GET", "/metrics", "", ""},
		{nil, "post", "/v1/models", "other", "refused"}, {nil, "GET", "/v1//models", "other", "refused"},
	} {
		x := testGateway(tt.change).Begin(tt.method, tt.path)
		if x != nil && tt.want != "refused" && x.Route() == "" {
			t.Errorf("%s %s has no route", tt.method, tt.path)
		}
		api, got := "", ""
		if x != nil {
			api = x.Report().API
			switch e := x.endpoint.(type) {
			case *generation:
				got = "generation"
			case *tokenCount:
				got = "count"
			case *modelList:
				got = "models"
			case *oneModel:
				got = "model " + e.name
			case *stored:
				got = "stored " + e.id
			case *rawPrompt:
				got = "raw " + e.path
			case *refusal:
				got = "refused"
			default:
				got = fmt.Sprintf("%T", e)
			}
		}
		if api != tt.api || got != tt.want {
			t.Errorf("%s %s: %s, %q, want %s, %q", tt.method, tt.path, api, got, tt.api, tt.want)
		}
	}
}
