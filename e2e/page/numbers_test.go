//go:build e2e

package page

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// addNumbers records what servers, pools and clients had of late, and a server of half an hour ago.
func addNumbers(h *history.History, now time.Time) {
	for i, address := range []string{"10.0.0.7:8000", "10.0.0.8:8000", "10.0.0.9:8000"} {
		for _, n := range []float64{0, 1} {
			h.SetServer(now, "h200", address, history.ServerReading{Running: float64(20 + i), Waiting: 8 * n, Cache: .42,
				FirstTokens: 100 * n, FirstTokenMS: 34_000 * n})
		}
		h.AddServer(now, "h200", address, float64(400+i), float64(8*i))
	}
	h.SetServer(now.Add(-30*time.Minute), "h200", "10.0.0.99:8000", history.ServerReading{Running: 1, Waiting: -1,
		Cache: -1, FirstTokens: -1, FirstTokenMS: -1})
	for _, n := range []float64{0, 1} {
		h.Add(now, "edge-fra-1", history.Families{
			{Name: "harmony_pool_requests_total", Samples: []history.Sample{
				{Labels: map[string]string{"pool": "h200", "class": "2xx"}, Value: 990 * n},
				{Labels: map[string]string{"pool": "h200", "class": "5xx"}, Value: 10 * n}}},
			{Name: "harmony_client_requests_total", Samples: []history.Sample{
				{Labels: map[string]string{"client": "team-search", "class": "served"}, Value: 700 * n},
				{Labels: map[string]string{"client": "team-search", "class": "limited"}, Value: 33 * n}}},
			{Name: "harmony_client_tokens_total", Samples: []history.Sample{
				{Labels: map[string]string{"client": "team-search"}, Value: 123_456 * n}}},
		})
	}
}

// TestNumbers sees the numbers of servers, pools and clients, and those of a longer window.
func TestNumbers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFleet(t, fake.Well(now))
	addNumbers(f.history, now)
	b := open(t, f.serve(t), "/#/load")
	sees := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			b.until(`document.querySelector(".numbers table").innerText.includes(` + lab.Quote(text) + `)`)
		}
	}
	choose := func(what, value string) {
		b.do(`document.querySelector('input[name="numbers-` + what + `"][value="` + value + `"]').click()`)
	}
	sees("10.0.0.7:8000", "22", "400", "8 (2 %)", "4, at most 8", "42 %", "340 ms")
	if text := eval[string](b, `document.querySelector(".numbers").innerText`); strings.Contains(text, "10.0.0.99") {
		t.Error("a server of half an hour ago is shown in five minutes")
	}
	choose("in", "60")
	sees("10.0.0.99:8000")
	choose("of", "pool")
	sees("h200", "1,000", "10 (1 %)", "42 %", "340 ms")
	choose("of", "client")
	sees("team-search", "733", "33", "123K")
	choose("of", "model")
	b.until(`document.querySelector(".numbers").innerText.includes("No model has had a request") ||
		document.querySelector(".numbers tbody tr")`)
}

// TestNumbersKnown: the page says which part of a window it has, and nothing when it has all of it.
func TestNumbersKnown(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFleet(t, fake.Well(now))
	f.history = history.New(history.Options{})
	for _, ago := range []time.Duration{8, 7, 6, 2, 1, 0} {
		f.history.SetServer(now.Add(-ago*time.Minute), "h200", "10.0.0.7:8000", history.ServerReading{Running: 3})
	}
	b := open(t, f.serve(t), "/#/load")
	b.do(`document.querySelector('input[name="numbers-in"][value="60"]').click()`)
	b.see("Only 6 minutes of these 60 are known: nothing was recorded before " +
		now.Add(-8*time.Minute).UTC().Format("15:04"))
	b.see("the program did not run in 3 minutes since")
	whole := newFleet(t, fake.Well(now))
	for ago := range time.Duration(60) {
		whole.history.SetServer(now.Add(-ago*time.Minute), "h200", "10.0.0.7:8000", history.ServerReading{Running: 3})
	}
	b = open(t, whole.serve(t), "/#/load")
	b.see("10.0.0.7:8000")
	b.until(`document.querySelector(".numbers .hint").hidden`)
}
