package responses

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// frames returns the frames of a response, without what differs each time.
func (w *wire) frames() string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	var all strings.Builder
	for {
		_, data, err := w.ws.Read(ctx)
		if err != nil {
			w.t.Fatalf("%v after\n%s", err, all.String())
		}
		frame := string(data)
		all.WriteString(steady(frame) + "\n")
		for _, end := range []string{`"type":"response.completed"`, `"type":"response.failed"`, `"type":"error"`} {
			if strings.HasPrefix(frame, "{"+end) {
				return all.String()
			}
		}
	}
}

// resumeOverWebSocket cuts responses that are made over a connection, stored ones and others, each after the one
// before it on the same connection. The client gets the frames that one server would have given it.
func resumeOverWebSocket(t *testing.T) {
	step := 29
	if os.Getenv("HARMONY_RESUME_ALL") != "" {
		step = 1
	}
	const tools = `"tools":[{"type":"function","name":"lookup","parameters":{"type":"object"}}],`
	for _, tt := range []struct {
		name, text, members string
		fault               sim.FaultKind
	}{
		{"text", resumeThoughts + resumeFinal, `"store":false,"top_logprobs":2,"include":["message.output_text.logprobs"],`,
			sim.FaultClose},
		{"call", resumeThoughts + resumeCall, tools, sim.FaultReset},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ids := o200k.Tokenizer().AppendEncodeSpecial(nil, tt.text)
			var places []int
			for at := 1; at < len(ids); at += step {
				places = append(places, at)
			}
			r := startResumable(t, tt.text, places, tt.fault, "")
			r.change(func(s *Settings) { s.WebSocket = true })
			w, _ := dial(t, r.url, nil)
			want := ""
			for _, place := range append([]int{resumeNone}, places...) {
				w.ask(fmt.Sprintf(tt.members+`"temperature":0,"input":"cut at %03d."`, place))
				got := w.frames()
				if want == "" {
					want = got
				}
				if got != want {
					t.Fatalf("cut after %d of %d:\n%s", place, len(ids), firstDifference(got, want))
				}
			}
			if !strings.Contains(want, `"type":"response.completed"`) || strings.Contains(want, "relay") {
				t.Errorf("got %s", want)
			}
			if n := series(t, r.s)["resumed_total{api=responses,outcome=resumed}"]; int(n) != len(places) {
				t.Errorf("%v answers were resumed, want %d", n, len(places))
			}
			t.Logf("%d places, %d bytes", len(places), len(want))
		})
	}
}
