//go:build e2e

package cases

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

var (
	idPattern = regexp.MustCompile(`\b(chatcmpl|resp|rs|msg|fc|ctc|lsh|tsc|call|toolu)[-_][0-9A-Za-z_-]{16,}`)
	// errorID is the id of a request in the body of an error of Messages.
	errorID     = regexp.MustCompile(`"request_id":"[^"]+"`)
	timePattern = regexp.MustCompile(`"(created|created_at|completed_at)":\d+`)
)

// Normalise replaces what differs from run to run: ids by their order of appearance, times by 0.
func Normalise(s string) string {
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
	s = errorID.ReplaceAllString(s, `"request_id":"<1>"`)
	return timePattern.ReplaceAllString(s, `"$1":0`)
}

// Send performs the case's request and returns the client's view of the answer, as [Normalise] leaves it.
func (c *Case) Send(client *http.Client, base string) (view string, err error) {
	request, err := http.NewRequest(c.Method, base+c.Target, bytes.NewReader(c.Body))
	if err != nil {
		return "", err
	}
	request.Header = c.Header.Clone()
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
	if route := response.Header.Get(contract.RouteHeader); route != "" {
		fmt.Fprintf(&out, "%s: %s\n", contract.RouteHeader, route)
	}
	body, err := io.ReadAll(response.Body)
	fmt.Fprintf(&out, "\n%s\n", Normalise(string(body)))
	// Clients of Chat stop reading at the last word; see TestEarlyEnd for those that do not.
	if err != nil && !lab.SaysLastWord(string(body)) {
		out.WriteString("cut short\n")
	}
	return out.String(), nil
}
