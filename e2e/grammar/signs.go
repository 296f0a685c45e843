//go:build e2e

package grammar

import (
	"encoding/json"
	"fmt"
	"strings"
)

// WithoutSigns returns a Responses stream as it would be if it had never been quiet: without the events in_progress
// that follow the first one, and with the numbers that the others have then. It returns how many there were. Its error
// says that one is not the first one again, or that a number is not the next.
func WithoutSigns(body string) (rest string, signs int, err error) {
	var b strings.Builder
	var begun string
	for n, event := range strings.SplitAfter(body, "\n\n") {
		if event == "" {
			continue
		}
		name, data, _ := strings.Cut(event, "\ndata: ")
		var e struct {
			Number   int `json:"sequence_number"`
			Response json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return "", 0, fmt.Errorf("event %d: %w: %s", n, err, event)
		}
		if e.Number != n {
			return "", 0, fmt.Errorf("event %d has the number %d", n, e.Number)
		}
		switch {
		case name != "event: response.in_progress":
		case begun == "":
			begun = string(e.Response)
		case begun != string(e.Response):
			return "", 0, fmt.Errorf("event %d is not the first in_progress again: %s", n, event)
		default:
			signs++
			continue
		}
		b.WriteString(strings.Replace(event, fmt.Sprintf(`"sequence_number":%d`, n),
			fmt.Sprintf(`"sequence_number":%d`, n-signs), 1))
	}
	return b.String(), signs, nil
}

// WithoutComments returns a stream without its comments, and how many it had. Each stands alone between events.
func WithoutComments(body string) (rest string, comments int) {
	var b strings.Builder
	for _, event := range strings.SplitAfter(body, "\n\n") {
		if strings.HasPrefix(event, ":") && strings.Count(event, "\n") == 2 {
			comments++
			continue
		}
		b.WriteString(event)
	}
	return b.String(), comments
}
