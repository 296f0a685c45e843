//go:build e2e

package controlplane

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// longPatience is what all that happens while streams run may take on a busy machine.
const longPatience = 10 * time.Minute

// longStreams are answers that take as long as a test wants them to.
type longStreams struct {
	texts  []string // that each must have in the end
	got    []longEnd
	all    sync.WaitGroup
	ended  atomic.Int32
	tokens atomic.Int64 // pieces of text that have come to clients
}

// longEnd is how a stream has ended for its client.
type longEnd struct {
	text string
	at   time.Time
	err  error // of the transport
	last bool  // the answer is complete and well, up to its own last word
}

// longAnswer is what the server says to the stream of a number, each answer unlike all others and each word of it too.
func longAnswer(stream, words int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Stream %03d", stream)
	for i := range words {
		fmt.Fprintf(&b, " %d", i)
	}
	return b.String()
}

// longPrompt asks for the answer of a stream.
func longPrompt(stream int) string { return fmt.Sprintf("Tell me about stream %03d.", stream) }

// longScript is what servers say to so many streams, and "Well." to everything else.
func longScript(streams, words int) *sim.Script {
	lines := make([]sim.Line, 0, streams+1)
	for i := range streams {
		lines = append(lines, sim.Line{Match: longPrompt(i),
			Tokens: lab.Tokens("<|channel|>final<|message|>" + longAnswer(i, words) + "<|return|>")})
	}
	return sim.NewScript(append(lines, sim.Line{
		Match: "Hi", Tokens: lab.Tokens("<|channel|>final<|message|>Well.<|return|>")})...)
}

// openStreams begins one stream for each client and returns when the first word of each has come.
func openStreams(t *testing.T, words int, clients []streamClient) *longStreams {
	t.Helper()
	s := &longStreams{got: make([]longEnd, len(clients))}
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	t.Cleanup(func() {
		cancel()
		s.all.Wait()
	})
	var begun sync.WaitGroup
	begun.Add(len(clients))
	for i, c := range clients {
		s.texts = append(s.texts, longAnswer(i, words))
		s.all.Go(func() {
			once := sync.OnceFunc(begun.Done)
			defer once()
			defer s.ended.Add(1)
			s.got[i] = c.stream(ctx, longPrompt(i), func() {
				s.tokens.Add(1)
				once()
			})
		})
	}
	begun.Wait()
	if n := s.ended.Load(); n > 0 {
		s.all.Wait()
		t.Fatalf("%d of %d streams have ended before they were to: %+v", n, len(clients), s.got)
	}
	return s
}

// streamClient is a client of one gateway.
type streamClient struct {
	http *http.Client
	url  string
}

// stream asks for a streamed Chat answer and reads it to its end. piece is called for each piece of its text.
func (c streamClient) stream(ctx context.Context, prompt string, piece func()) longEnd {
	body := `{"stream":true,` + lab.ChatBody(lab.Model, prompt)[1:]
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+lab.ChatPath, strings.NewReader(body))
	if err != nil {
		return longEnd{err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return longEnd{at: time.Now(), err: err}
	}
	defer response.Body.Close()
	var all strings.Builder
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `"content":"`) {
			piece()
		}
	}
	r := lab.Read(all.String())
	return longEnd{text: r.Text, at: time.Now(), err: lines.Err(), last: r.Finished()}
}

// running fails the test when a stream has ended.
func (s *longStreams) running(t *testing.T) {
	t.Helper()
	if n := s.ended.Load(); n > 0 {
		t.Errorf("%d of %d streams have ended before they were to", n, len(s.texts))
	}
}

// finish waits for the streams' end, and wants each to have come whole: every word once, in its order.
func (s *longStreams) finish(t *testing.T) {
	t.Helper()
	s.all.Wait()
	for i := range s.got {
		s.wantWhole(t, i)
	}
}

func (s *longStreams) wantWhole(t *testing.T, i int) {
	t.Helper()
	if end, want := s.got[i], s.texts[i]; end.err != nil || !end.last || end.text != want {
		t.Errorf("stream %d: %v, complete: %t, with %d bytes of text for %d, the same up to byte %d",
			i, end.err, end.last, len(end.text), len(want), common(end.text, want))
	}
}

// common is how many bytes two texts have in common at their beginnings.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
