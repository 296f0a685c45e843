//go:build e2e

package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// serverAnswer is what a server said to a case, to be played again.
type serverAnswer struct {
	head exchange.ResponseHead
	body []byte
	// ended says that the body came to its end.
	ended bool
}

// cutStep is how far apart the places are at which one answer is cut: 1 is every place. Without HARMONY_SOAK it is a
// part of them, which begins elsewhere in each answer.
var cutStep = map[bool]int{true: 1, false: 7}[lab.AtLength()]

// TestSuiteAtEveryCut plays the server's answer of every case to the exchange itself, whole, in single bytes, and cut
// at every place. The output must not depend on it. Streams are also played in events of other sizes, and then the
// client must get the same, though in other pieces.
func TestSuiteAtEveryCut(t *testing.T) { everyCutOf(t, cases.All(t)) }

func everyCutOf(t *testing.T, all []*cases.Case) {
	var played atomic.Int64
	for _, c := range all {
		if c.Settings["stall_timeout_ms"] != "" {
			t.Logf("%s has no answer to be cut: its server falls silent", c.Name)
			continue
		}
		for _, mode := range []string{contract.ModeFull, contract.ModeReduced} {
			t.Run(c.Name+"/"+mode, func(t *testing.T) { played.Add(int64(everyCut(t, c, mode))) })
		}
	}
	if played.Load() == 0 {
		t.Fatal("no answer was cut")
	}
	t.Logf("%d cuts", played.Load())
}

// everyCut returns how often the answer was played.
func everyCut(t *testing.T, c *cases.Case, mode string) int {
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	config.Mode = mode
	g := exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary})
	action, _ := c.Begin(g)
	if action.Forward == nil || action.Forward.Body == nil {
		if c.Member("prompt") != "none\n" {
			t.Error("no request for the server")
		}
		return 0 // answered without a server
	}
	answer := askServer(t, c, action.Forward.Body, 0)
	if mode == contract.ModeReduced {
		_, played := playAtEveryCut(t, g, c, answer, piece)
		return played
	}
	whole, played := playAtEveryCut(t, g, c, answer, longPiece)
	for _, tokens := range c.OtherGroupings() {
		other, n := playAtEveryCut(t, g, c, askServer(t, c, action.Forward.Body, tokens), piece)
		if got, want := foldPlayed(other), foldPlayed(whole); got != want {
			t.Errorf("with %d tokens in an event\n%s\nwant\n%s", tokens, got, want)
		}
		played += n
	}
	return played
}

// foldPlayed folds what play returns, whose head is one line.
func foldPlayed(played string) string {
	head, body, _ := strings.Cut(played, "\n")
	return cases.Fold(head + "\n\n" + cases.Normalise(body))
}

// A stream is cut everywhere with few plays by cutting it at many places at once, so far apart: piece is several events
// of one token. A text no longer than longPiece is cut at one place only.
const (
	piece     = 997
	longPiece = 1999
)

// playAtEveryCut returns what the client gets of an answer, and how often it was played. Every place is cut once; what
// is before and after it comes in pieces of so many bytes.
func playAtEveryCut(t *testing.T, g *exchange.Gateway, c *cases.Case, answer serverAnswer, size int) (string, int) {
	whole := play(g, c, answer, len(answer.body))
	single := play(g, c, answer, 1)
	if single != whole {
		t.Errorf("in single bytes\n%s\nwant\n%s", single, whole)
	}
	last := min(size, len(answer.body)-1)
	var next, played atomic.Int64
	first := len(answer.body) % cutStep
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				at := first + cutStep*int(next.Add(1)-1)
				if at > last {
					return
				}
				if at == 0 {
					continue // that is the whole answer
				}
				played.Add(1)
				if got := play(g, c, answer, at, size); got != whole {
					t.Errorf("cut at %d\n%s\nwant\n%s", at, got, whole)
					return
				}
			}
		})
	}
	workers.Wait()
	return whole, int(played.Load()) + 1
}

// askServer lets the case's server answer once, with so many tokens in an event; 0 is as the case says.
func askServer(t *testing.T, c *cases.Case, body []byte, tokens int) serverAnswer {
	t.Helper()
	server, err := c.Server(0, tokens)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	listener := httptest.NewServer(server.Handler())
	defer listener.Close()
	response, err := http.Post(listener.URL+c.ServerPath(), "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	a := serverAnswer{head: exchange.ResponseHead{
		Status: response.StatusCode, ContentType: response.Header.Get("content-type"),
		RetryAfter: response.Header.Get("retry-after"),
	}}
	a.body, err = io.ReadAll(response.Body)
	a.ended = err == nil
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return a
}

// play gives an answer to a new exchange in pieces of these sizes, the last of them again and again, and returns
// what the client would get.
func play(g *exchange.Gateway, c *cases.Case, a serverAnswer, sizes ...int) string {
	_, x := c.Begin(g)
	var out strings.Builder
	goesOn := func(action exchange.ResponseAction, piece []byte) bool {
		switch {
		case action.Reply != nil:
			fmt.Fprintf(&out, "reply %d %s\n%s", action.Reply.Status, action.Reply.RetryAfter, action.Reply.Body)
			return false
		case action.Reset:
			if !lab.SaysLastWord(out.String()) {
				out.WriteString("reset")
			}
			return false
		case action.Head != nil:
			fmt.Fprintf(&out, "%d %s\n", action.Head.Status, action.Head.ContentType)
		case action.Pass && out.Len() == 0:
			fmt.Fprintf(&out, "%d %s\n", a.head.Status, a.head.ContentType)
		}
		if action.Pass {
			out.Write(piece)
		} else {
			out.Write(action.Body)
		}
		return true
	}
	if !goesOn(x.ResponseHeaders(a.head), nil) {
		return out.String()
	}
	for rest := a.body; len(rest) > 0; {
		size := min(sizes[0], len(rest))
		if len(sizes) > 1 {
			sizes = sizes[1:]
		}
		// The exchange may overwrite what it is given.
		piece := bytes.Clone(rest[:size])
		rest = rest[size:]
		if !goesOn(x.ResponseBody(piece, false), piece) {
			return out.String()
		}
	}
	if a.ended {
		goesOn(x.ResponseBody(nil, true), nil)
	}
	return out.String()
}
