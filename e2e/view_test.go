//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// lastWord ends Chat's streams.
const lastWord = "data: [DONE]\n\n"

// saidLastWord reports whether a stream of Chat, of chunks or of channel events, says that it is complete.
func saidLastWord(body string) bool {
	events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	return strings.HasSuffix(body, lastWord) ||
		strings.HasSuffix(body, "\n\n") && strings.HasPrefix(events[len(events)-1], "event: done\n")
}

var (
	idPattern   = regexp.MustCompile(`\b(chatcmpl|resp|rs|msg|fc|ctc|lsh|call)[-_][0-9A-Za-z_-]{16,}`)
	timePattern = regexp.MustCompile(`"(created|created_at|completed_at)":\d+`)
)

func normalise(s string) string {
	names := map[string]string{}
	counts := map[string]int{}
	s = idPattern.ReplaceAllStringFunc(s, func(id string) string {
		if _, ok := names[id]; !ok {
			kind := idPattern.FindStringSubmatch(id)[1]
			counts[kind]++
			names[id] = fmt.Sprintf("%s_<%d>", kind, counts[kind])
		}
		return names[id]
	})
	return timePattern.ReplaceAllString(s, `"$1":0`)
}

// send performs the case's request and returns the client's view of the answer, with what differs from run to run replaced: ids by
// their order of appearance, times by 0.
func (c *testCase) send(client *http.Client, base string) (view string, err error) {
	request, err := http.NewRequest(c.method, base+c.target, bytes.NewReader(c.body))
	if err != nil {
		return "", err
	}
	request.Header = c.header.Clone()
	response, err := client.Do(request)
	if err != nil {
		// The transport's words carry addresses and differ between hosts; that there was no answer does not.
		return "no answer\n", nil
	}
	defer response.Body.Close()
	var out strings.Builder
	fmt.Fprintf(&out, "%d\ncontent-type: %s\n", response.StatusCode, response.Header.Get("content-type"))
	if retry := response.Header.Get("retry-after"); retry != "" {
		fmt.Fprintf(&out, "retry-after: %s\n", retry)
	}
	body, err := io.ReadAll(response.Body)
	fmt.Fprintf(&out, "\n%s\n", normalise(string(body)))
	// Clients of Chat stop reading at the last word; see TestEarlyEnd for those that do not.
	if err != nil && !saidLastWord(string(body)) {
		out.WriteString("cut short\n")
	}
	return out.String(), nil
}
