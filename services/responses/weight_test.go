package responses

import (
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestManyValues: a body or a frame is refused for its values, though its text is small.
func TestManyValues(t *testing.T) {
	f := start(t, Options{Settings: Settings{WebSocket: true, Memory: 4 << 20}})
	objects := `"input":[` + strings.Repeat("{},", 30_000) + `{}]`
	f.wants(429, "service_overloaded", "POST", "/v1/responses", `{"model":"m",`+objects+`}`)
	f.wants(429, "service_overloaded", "POST", "/v1/responses/compact", `{"model":"m",`+objects+`}`)
	f.wants(429, "service_overloaded", "POST", "/v1/conversations", `{`+strings.Replace(objects, "input", "items", 1)+`}`)
	w, _ := dial(t, f.url, nil)
	w.ask(`"store":false,` + objects)
	w.refused("service_overloaded")
	await(t, func() bool { return f.s.memory.InUse() == 0 })

	f = start(t, Options{})
	numbers := strings.Repeat("1,", openai.MaxValues) + "1"
	f.wants(400, "max_values_exceeded", "POST", "/v1/responses", `{"model":"m","input":[`+numbers+`]}`)
	f.wants(400, "max_values_exceeded", "POST", "/v1/conversations", `{"items":[`+numbers+`]}`)
	keys := strings.Repeat(`"a":1,`, 256)
	f.wants(400, "max_values_exceeded", "POST", "/v1/responses", `{"model":"m","input":[{`+keys+`"type":"message"}]}`)
	f.wants(400, "max_depth_exceeded", "POST", "/v1/responses", `{"model":"m","input":`+strings.Repeat("[", 200)+
		strings.Repeat("]", 200)+`}`)
	f.wants(400, "invalid_value", "POST", "/v1/conversations", `{"items":[`+strings.Repeat("1,", 20)+`1]}`)
}

// TestManyTinyMessages: the messages that a frame may hold are not four times as large for the gateway.
func TestManyTinyMessages(t *testing.T) {
	f := start(t, Options{Settings: Settings{WebSocket: true}})
	w, _ := dial(t, f.url, nil)
	list := strings.Repeat(`{"role":"user","content":"x"},`, 30_000) + `{"role":"user","content":"x"}`
	w.ask(`"store":false,"input":[` + list + `]`)
	w.answer()
	if asked := <-f.asked; len(asked) > len(list)+1000 {
		t.Errorf("a frame of %d bytes is %d bytes for the gateway", len(list), len(asked))
	}
}

// TestTooLongForGateway: a request that fits alone is not refused for its own size.
func TestTooLongForGateway(t *testing.T) {
	f := startAt(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = w.Write([]byte(`{"error":{"message":"large","type":"invalid_request_error","code":"request_too_large"}}`))
	}))
	f.wants(400, "context_length_exceeded", "POST", "/v1/responses", `{"model":"m","input":"x"}`)
}
