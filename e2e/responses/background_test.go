//go:build e2e

package responses

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestBackground makes responses in the background: polled, streamed, resumed, continued.
func TestBackground(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		g := start(t, host, database, "", sim.Options{Keep: 100, Script: answers()})
		one := g.Create(`"input":"first question","background":true`)
		if one.Status != "queued" || !one.Background || len(one.Output) != 0 {
			t.Errorf("%+v", one)
		}
		if r := g.Await(one.ID); r.Status != "completed" || r.Text() != "answer one" {
			t.Errorf("%+v", r)
		}
		two, events := g.Stream(`"input":"second question","background":true,"previous_response_id":"` + one.ID + `"`)
		if two.Text() != "answer two" || !two.Background {
			t.Errorf("%+v", two)
		}
		// The stream can be resumed from anywhere.
		frames := strings.SplitAfter(events, "\n\n")
		frames = frames[:len(frames)-1]
		for _, after := range []int{-1, 0, len(frames) / 2, len(frames) - 2, len(frames) - 1, len(frames) + 5} {
			path := "responses/" + two.ID + "?stream=true"
			if after >= 0 {
				path += "&starting_after=" + strconv.Itoa(after)
			}
			got := g.Do("GET", path, "", 200).Body
			if want := strings.Join(frames[min(after+1, len(frames)):], ""); got != want {
				t.Errorf("after %d: %s\nwant %s", after, got, want)
			}
		}
		three := g.Create(`"input":"third question","previous_response_id":"` + two.ID + `"`)
		if three.Text() != "answer three" || !strings.Contains(g.LastPrompt(), "answer two") {
			t.Errorf("%+v", three)
		}
		g.Refused("GET", "responses/"+three.ID+"?stream=true", "", 400, "invalid_value")
		g.Refused("GET", "responses/"+one.ID+"?stream=true", "", 400, "invalid_value")
		g.Refused("POST", "responses/"+three.ID+"/cancel", "", 400, "invalid_value")
		g.Refused("POST", "responses/"+one.ID+"/cancel", "", 400, "invalid_value")
		g.Refused("POST", "responses/resp_unknown/cancel", "", 404, "")
		g.Refused("POST", "responses", g.Body(`"input":"x","background":true,"store":false`), 400, "unsupported_parameter")
		g.Refused("POST", "responses", g.Body(`"input":"x","background":true,"temperature":9`), 400, "invalid_value")
		// A response that the gateway refuses later has failed.
		if r := g.Await(g.Create(`"input":"x","background":true,"max_output_tokens":100000000`).ID); r.Status != "failed" &&
			r.Status != "completed" {
			t.Errorf("%+v", r)
		}
	})
}

// TestCancel cancels a response in mid-answer, whose stream a client reads.
func TestCancel(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		g := start(t, host, database, "", sim.Options{HoldAfter: 5, Keep: 100, Script: answers()})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/v1/responses",
			strings.NewReader(g.Body(`"input":"first question","background":true,"stream":true`)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("content-type", "application/json")
		answer, err := g.Client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var body strings.Builder
		id := ""
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			body.WriteString(lines.Text() + "\n")
			if id == "" && strings.Contains(lines.Text(), `"delta"`) {
				_, rest, _ := strings.Cut(body.String(), `"id":"resp_`)
				id, _, _ = strings.Cut(rest, `"`)
				id = "resp_" + id
				cancelled := &response{}
				g.Object("Response", g.Do("POST", "responses/"+id+"/cancel", "", 200), cancelled)
				if cancelled.Status != "cancelled" || len(cancelled.Output) != 0 {
					t.Errorf("%+v", cancelled)
				}
			}
		}
		frames := strings.Split(strings.TrimSpace(body.String()), "\n\n")
		last := frames[len(frames)-1]
		if !strings.HasPrefix(last, "event: response.failed\n") || !strings.Contains(last, `"status":"cancelled"`) {
			t.Errorf("the stream ends with %s", last)
		}
		r := &response{}
		g.Object("Response", g.Do("GET", "responses/"+id, "", 200), r)
		if r.Status != "cancelled" || len(r.Output) != 0 {
			t.Errorf("%+v", r)
		}
		again := &response{}
		g.Object("Response", g.Do("POST", "responses/"+id+"/cancel", "", 200), again)
		// The model's server is let go.
		ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
		defer cancel()
		if _, err := g.Sim.Await(ctx, func([]sim.Request) bool {
			all := lab.Completions(g.Sim)
			return len(all) == 1 && all[0].Aborted
		}); err != nil {
			t.Errorf("the model's server still works for it: %v", err)
		}
		g.Sim.Release()
		next := g.Create(`"input":"second question","previous_response_id":"` + id + `"`)
		if next.Text() != "answer two" || !strings.Contains(g.LastPrompt(), "first question") {
			t.Errorf("%+v: %s", next, g.LastPrompt())
		}
	})
}

// TestHangUp: a client that hangs up cancels its response, unless it is made in the background.
func TestHangUp(t *testing.T) {
	g := start(t, "wazero", "", "", sim.Options{HoldAfter: 3, Keep: 100, Script: answers()})
	for _, tt := range []struct{ members, want string }{
		{`"input":"first question","stream":true`, "cancelled"},
		{`"input":"first question","stream":true,"background":true`, "completed"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/v1/responses", strings.NewReader(g.Body(tt.members)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("content-type", "application/json")
		answer, err := g.Client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(answer.Body)
		id := ""
		for id == "" && lines.Scan() {
			if _, rest, ok := strings.Cut(lines.Text(), `"id":"resp_`); ok {
				id, _, _ = strings.Cut(rest, `"`)
				id = "resp_" + id
			}
		}
		cancel()
		answer.Body.Close()
		if tt.want == "completed" {
			g.Sim.Release()
		}
		for end := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
			if a := lab.Do(g.Client, "GET", g.URL+"/v1/responses/"+id, nil, nil); strings.Contains(a.Body,
				`"status":"`+tt.want+`"`) && a.Status == 200 {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%s: %d %s", tt.want, a.Status, a.Body)
			}
		}
	}
}
