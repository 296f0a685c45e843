//go:build e2e

package rules

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// sideView is what one side has seen of one message.
type sideView struct {
	first    string
	header   [][2]string
	body     []string // as it came, where that is visible
	trailers [][2]string
	end      string
}

// maxPieces is up to which size a body is shown in its pieces; the pieces of a large one depend on the reads.
const maxPieces = 1 << 10

// hidden are headers that say nothing of the rules, or what no two hosts can agree on.
var hidden = []string{"date", "server", "x-request-id", "x-forwarded-proto", "x-probe", "x-probe-id", "user-agent"}

func (v *sideView) text(side string) string {
	out := strings.TrimSpace(side+": "+v.first) + "\n"
	alike := 0
	for _, h := range v.header {
		if "x-"+h[1] == h[0] {
			alike++
		}
	}
	if alike > 0 {
		out += fmt.Sprintf("  x-N: N, %d times\n", alike)
	}
	for _, h := range v.header {
		if "x-"+h[1] == h[0] {
			continue
		}
		if !slices.Contains(hidden, h[0]) {
			out += fmt.Sprintf("  %s: %s\n", h[0], brief(h[1]))
		}
	}
	whole := strings.Join(v.body, "")
	switch {
	case whole == "":
	case len(whole) > maxPieces:
		out += "  body " + briefBody(whole) + "\n"
	default:
		shown := ""
		for _, piece := range v.body {
			if piece != "" {
				shown += " " + briefBody(piece)
			}
		}
		out += "  body" + shown + "\n"
	}
	for _, h := range v.trailers {
		out += fmt.Sprintf("  trailer %s: %s\n", h[0], brief(h[1]))
	}
	return out + "  " + v.end + "\n"
}

func brief(text string) string {
	if len(text) <= 120 {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:20], len(text))
}

// briefBody counts long runs of one character.
func briefBody(text string) string {
	if len(text) <= 120 {
		return fmt.Sprintf("%q", text)
	}
	out := ""
	for len(text) > 0 {
		run := 1
		for run < len(text) && text[run] == text[0] {
			run++
		}
		if run < 20 {
			out += text[:run]
		} else {
			out += fmt.Sprintf("[%c*%d]", text[0], run)
		}
		text = text[run:]
	}
	return out
}

// sorted is a header map as a view shows it.
func sorted(header http.Header) [][2]string {
	var out [][2]string
	for name, values := range header {
		for _, value := range values {
			out = append(out, [2]string{strings.ToLower(name), value})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int {
		return strings.Compare(a[0]+": "+a[1], b[0]+": "+b[1])
	})
	return out
}
