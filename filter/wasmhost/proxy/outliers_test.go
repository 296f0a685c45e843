package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestOutliers: an answer of a bad server is asked elsewhere. After some in a row the server gets no requests for a
// time, which grows. A server is out only while others are left.
func TestOutliers(t *testing.T) {
	asked := 0
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer bad.Close()
	well := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "well")
	}))
	defer well.Close()
	first, second := strings.TrimPrefix(bad.URL, "http://"), strings.TrimPrefix(well.URL, "http://")
	outliers := Outliers{Failures: 3, Statuses: []int{503}, Time: time.Second, Max: 2 * time.Second, Percent: 50}
	c := newCluster(Cluster{Endpoints: []Endpoint{{Address: first}, {Address: second}}, Outliers: outliers}, time.Minute, 3)
	defer c.close()
	now := time.Now()
	c.now = func() time.Time { return now }
	send := func(again []int) int {
		t.Helper()
		a := attempts{cluster: c, again: again, make: func(e *endpoint) *http.Request {
			r, err := http.NewRequest(http.MethodPost, "http://"+e.Address, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}}
		response, release, err := a.send(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		defer response.Body.Close()
		return response.StatusCode
	}
	if got := send(nil); got != 503 || asked != 1 {
		t.Fatalf("a status that is final: %d after %d requests", got, asked)
	}
	for _, step := range []struct {
		later time.Duration
		asked int
	}{
		{0, 2}, {0, 3}, {0, 3}, {900 * time.Millisecond, 3}, // out after three
		{200 * time.Millisecond, 4}, {0, 5}, {0, 6}, {1900 * time.Millisecond, 6}, // out again, for longer
		{200 * time.Millisecond, 7}, {0, 8}, {0, 9}, {1900 * time.Millisecond, 9}, {200 * time.Millisecond, 10}, // no longer
	} {
		now = now.Add(step.later)
		if got := send([]int{503}); got != 200 || asked != step.asked {
			t.Fatalf("%+v: got %d, and the bad server was asked %d times", step, got, asked)
		}
	}
	c.endpoints = c.endpoints[:1]
	if got := send([]int{503}); got != 503 {
		t.Errorf("the last server: got %d", got)
	}
	if n := c.endpoints[0].active.Load(); n != 0 {
		t.Errorf("%d requests are left over", n)
	}
}
