//go:build e2e

package tracing

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ofTrace returns the spans of a trace, in the order of their beginnings.
func ofTrace(spans []span, trace string) []span {
	all := slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return hex.EncodeToString(s.TraceId) != trace })
	slices.SortStableFunc(all, func(a, b span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	return all
}

// tree returns the spans of a trace as a tree: each with its service and name, below the span that has begun it. show adds
// to a line. The test fails if the trace is not one tree.
func tree(t *testing.T, spans []span, show func(span) string) string {
	t.Helper()
	var text strings.Builder
	shown := 0
	var add func(parent []byte, depth int)
	add = func(parent []byte, depth int) {
		for _, s := range spans {
			if string(s.ParentSpanId) == string(parent) {
				shown++
				fmt.Fprintf(&text, "%s%s: %s%s\n", strings.Repeat("  ", depth), s.service, s.Name, show(s))
				add(s.SpanId, depth+1)
			}
		}
	}
	add(nil, 0)
	if shown != len(spans) {
		t.Errorf("%d of %d spans are in the tree of their trace:\n%s", shown, len(spans), &text)
		for _, s := range spans {
			t.Logf("%x below %x: %s: %s", s.SpanId, s.ParentSpanId, s.service, s.Name)
		}
	}
	return text.String()
}

// names is for [tree], whose lines then have nothing more.
func names(span) string { return "" }

// attributesOf is for [tree], whose lines then have the attributes of the conventions for generative AI and of harmony.
func attributesOf(s span) string {
	var shown []string
	for name, value := range attributes(s.Attributes) {
		for _, prefix := range []string{"gen_ai.", "harmony.", "http.route", "http.url", "http.response", "mcp."} {
			if strings.HasPrefix(name, prefix) {
				shown = append(shown, fmt.Sprintf("%s=%v", name, value))
			}
		}
	}
	slices.Sort(shown)
	return fmt.Sprintf(" (%.1f ms) %s", float64(s.EndTimeUnixNano-s.StartTimeUnixNano)/1e6, strings.Join(shown, " "))
}
