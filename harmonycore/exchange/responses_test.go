package exchange

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestCompletedAt: a response is completed when the server has ended it, and not when it was asked for.
func TestCompletedAt(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		x := forwarded(t, testGateway(nil), "/v1/responses", `{"model":"`+testModel+`","input":"Hi"`+stream+`}`)
		x.ResponseHeaders(eventStream, testNow+2_000)
		events := strings.SplitAfter(answerOf("<|channel|>final<|message|>Hi<|return|>"), "\n\n")
		var body []byte
		for i, event := range events[:len(events)-1] {
			body = append(body, x.ResponseBody([]byte(event), false, testNow+3_000+int64(i)*1_000).Body...)
		}
		_, last, _ := strings.Cut(string(body), "event: response.completed\ndata: ")
		if stream == "" {
			last = `{"response":` + string(body) + "}"
		}
		var got struct {
			Response struct {
				Created   int64 `json:"created_at"`
				Completed int64 `json:"completed_at"`
			}
		}
		if err := json.Unmarshal([]byte(last), &got); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		ended := int64(testNow/1_000 + 3 + len(events) - 2)
		if got.Response.Created != testNow/1_000 || got.Response.Completed != ended {
			t.Errorf("got %+v, want %d and %d", got.Response, testNow/1_000, ended)
		}
	}
}
