//go:build e2e

package grammar

import (
	"strings"
	"testing"
)

// TestWithoutSigns: a quiet stream is its plain one with signs of life, and each promise about these is looked at.
func TestWithoutSigns(t *testing.T) {
	plain := wantedStream(t, "responses_preamble_stream")
	events := strings.SplitAfter(plain, "\n\n")
	sign := events[1]
	for at := 2; at < len(events)-1; at++ {
		quiet := stream(append(append(append([]string{}, events[:at]...), sign, sign), events[at:]...))
		if rest, signs, err := WithoutSigns(quiet); err != nil || signs != 2 || rest != plain {
			t.Errorf("with two signs before event %d: %d, %v", at, signs, err)
		}
	}
	if rest, signs, err := WithoutSigns(plain); err != nil || signs != 0 || rest != plain {
		t.Errorf("without signs: %d, %v", signs, err)
	}
	other := strings.Replace(sign, `"id":"resp_<1>"`, `"id":"resp_<2>"`, 1)
	for what, events := range map[string][]string{
		"another response": append(append(append([]string{}, events[:4]...), other), events[4:]...),
	} {
		if _, _, err := WithoutSigns(stream(events)); err == nil {
			t.Errorf("accepted: %s", what)
		}
	}
	if _, _, err := WithoutSigns(plain[:len(events[0])+len(events[1])] + sign); err == nil {
		t.Error("accepted: a number twice")
	}
	if rest, n := WithoutComments(": keep-alive\n\ndata: 1\n\n: b\n\n"); rest != "data: 1\n\n" || n != 2 {
		t.Errorf("%d comments, %q", n, rest)
	}
}
