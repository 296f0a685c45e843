//go:build e2e

package faults

import (
	"bytes"
	"compress/gzip"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// broken is a response as no healthy server sends it.
type broken struct {
	// status and contentType are the response's, and encoding its content encoding.
	status                int
	contentType, encoding string
	// body is what is sent, and again is sent after it until the client leaves.
	body, again string

	// wantStatus is the status for a client that has nothing yet, and wantCode the error's code. 200 is a whole answer.
	wantStatus int
	wantCode   string
	// late reports whether a client that wants a stream may have its beginning. repaired reports whether the answer is
	// whole although it has a token that no model has.
	late, repaired bool
	// cut reports whether the answer is whole and then cut off, because the server does not close its stream.
	cut bool
}

// laterEvent is the place of an event after the first text, also where a server holds some of it back.
const laterEvent = 7

// brokenAnswers returns the responses of a kind of server that are broken in all ways, by name. request is a request
// for a stream, as a server of the kind gets it. two is one for two choices, or empty.
func brokenAnswers(kind *contract.Kind, request, two string) map[string]broken {
	a := genuineAnswer(kind, request)
	whole := strings.Join(a.frames, "")
	under200, statusUnder200 := ask(kind, request, "error-200-json").Body.String(), http.StatusBadGateway
	if strings.Contains(under200, `"code":500`) {
		statusUnder200 = http.StatusInternalServerError
	}
	otherStream := "application/x-ndjson"
	if kind.StreamType() == otherStream {
		otherStream = "text/event-stream"
	}
	const html = "<html><body><h1>It works!</h1>\n\n<p>data: none</p>\n\n</body></html>\n"
	all := map[string]broken{
		"whole":             {body: whole, wantStatus: 200},
		"HTML with 200":     {contentType: "text/html", body: html},
		"HTML as a stream":  {body: html},
		"HTML with 502":     {status: 502, contentType: "text/html; charset=utf-8", body: html},
		"gzip":              {encoding: "gzip", body: zipped(whole)},
		"gzip, not said":    {body: zipped(whole)},
		"nothing":           {},
		"nothing at all":    {contentType: "-"},
		"another stream":    {contentType: otherStream, body: whole},
		"200 with an error": {contentType: "application/json", body: under200, wantStatus: statusUnder200},
	}
	if at := strings.Index(whole, "😀"); at >= 0 {
		all["cut within a character"] = broken{body: whole[:at+2], late: true}
	}
	finish := 0
	for at := range a.frames {
		if a.event(at) != nil && finishes(a.event(at)) {
			finish = at
		}
	}
	until := strings.Join(a.frames[:finish+1], "")
	all["finish twice"] = broken{body: until + strings.Join(a.frames[finish:], ""), wantStatus: 200}
	last := len(a.frames) - 1
	all["endless after the end"] = broken{body: whole, again: strings.Repeat(a.frames[last], 100), wantStatus: 200,
		cut: true}
	if finish < last {
		all["endless ends"] = broken{body: until, again: strings.Repeat(a.frames[finish], 100), late: true}
	}
	for _, at := range []int{0, laterEvent} {
		for name, b := range a.brokenAt(at) {
			b.late = at > 0
			all[name+" at event "+strconv.Itoa(at)] = b
		}
	}
	if two != "" {
		a := genuineAnswer(kind, two)
		for _, n := range []any{-1, 2, 128, 1 << 40, "0", nil} {
			if stream, ok := a.edited(0, index(n)); ok {
				all["index "+text(n)] = broken{body: stream}
			}
		}
	}
	for name, b := range all {
		if b.status == 0 {
			b.status = http.StatusOK
		}
		switch b.contentType {
		case "":
			b.contentType = a.contentType
		case "-":
			b.contentType = ""
		}
		if b.wantStatus == 0 {
			b.wantStatus = http.StatusBadGateway
		}
		b.wantCode = contract.CodeServerError
		all[name] = b
	}
	return all
}

// brokenAt returns the responses that are broken in the event in this place.
func (a *genuine) brokenAt(at int) map[string]broken {
	event := text(a.event(at))
	large := `{"x":"` + strings.Repeat("x", 5<<20)
	all := map[string]broken{
		"an error event": {body: ask(a.kind, a.request, "error-event:"+strconv.Itoa(at)).Body.String(),
			wantStatus: http.StatusInternalServerError},
		"5 MB":                {body: a.with(at, large+`",`+event[1:])},
		"5 MB without an end": {body: strings.Join(a.frames[:at], "") + strings.TrimSuffix(a.framed(large), a.end)},
		"endless": {body: strings.Join(a.frames[:at], "") + strings.TrimSuffix(a.framed(`{"x":"`), a.end),
			again: strings.Repeat("x", 64<<10)},
		"no UTF-8": {body: a.with(at, `{"x":"`+"\xff\xfe"+`",`+event[1:])},
	}
	for _, other := range []string{event[:len(event)/2], "[" + event + "]", "[]", "{}", "7", `"x"`, "null", "<html>"} {
		all["cut JSON or another type: "+clipped(other)] = broken{body: a.with(at, other)}
	}
	if stream, ok := a.edited(at, otherTypes); ok {
		all["what was generated of another type"] = broken{body: stream}
	}
	if stream, ok := a.edited(at, empty); ok {
		without := strings.SplitAfter(stream, a.end)[at]
		all["endless events without tokens"] = broken{body: strings.Join(a.frames[:at], ""),
			again: strings.Repeat(without, 100)}
	}
	if a.kind.TextAnswers {
		return all
	}
	for _, id := range []any{-1, 1.5, 201088, 4294967296, 4295167298, 1e300, "7", nil} {
		if stream, ok := a.edited(at, lastID(id)); ok {
			all["id "+text(id)] = broken{body: stream, wantStatus: http.StatusOK, repaired: true}
		}
	}
	return all
}

// finishes reports whether an event says that generation has ended.
func finishes(event map[string]any) bool {
	found := false
	_, _ = edit(event, func(name string, value any) any {
		found = found || value != nil && value != "" &&
			slices.Contains([]string{"finish_reason", "done_reason", "stop_type"}, name)
		return value
	})
	return found
}

func clipped(s string) string { return s[:min(len(s), 12)] }

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

// namesOf returns the names of responses in a fixed order.
func namesOf(all map[string]broken) []string { return slices.Sorted(maps.Keys(all)) }

// ServeHTTP sends the response.
func (b *broken) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = nil
	if b.contentType != "" {
		w.Header().Set("Content-Type", b.contentType)
	}
	if b.encoding != "" {
		w.Header().Set("Content-Encoding", b.encoding)
	}
	w.WriteHeader(b.status)
	_, err := w.Write([]byte(b.body))
	for b.again != "" && err == nil {
		_, err = w.Write([]byte(b.again))
	}
}
