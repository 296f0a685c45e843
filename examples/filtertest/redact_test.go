package filtertest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// redact is the filter's module, built by TestMain: these tests never test an old one.
var redact string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redact-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	redact = filepath.Join(dir, "redact.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", redact, "./redact")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

const redactConfig = `{"header":"x-api-key","word":"secret"}`

func TestRefusesWithoutHeader(t *testing.T) {
	host := filtertest.New(t, redact, redactConfig)
	x := host.Request("GET", "/", "")
	if got := x.Client(); got.Status != 401 || got.Body() != "this needs x-api-key\n" {
		t.Error(got)
	}
	if got := x.Server(); got.State != filtertest.Nothing {
		t.Errorf("the server has got %s", got)
	}
}

func TestLetsIn(t *testing.T) {
	host := filtertest.New(t, redact, redactConfig)
	x := host.Request("POST", "/things", `{"a":1}`, "x-api-key", "k", "accept-encoding", "gzip")
	got := x.Server()
	if got.State != filtertest.Complete || got.Body() != `{"a":1}` || got.Header("accept-encoding") != "" {
		t.Errorf("the server has got %s", got)
	}
}

// TestEveryCut: wherever the network cuts the response, the client gets the same, and every cut reaches the filter.
func TestEveryCut(t *testing.T) {
	const body = "data: a secret, two secrets\n\ndata: s sec secre\n\n"
	const want = "data: a [redacted], two [redacted]s\n\ndata: s sec secre\n\n"
	for _, protocol := range []filtertest.Protocol{filtertest.HTTP1, filtertest.HTTP2} {
		host := filtertest.New(t, redact, redactConfig, filtertest.Protocols(protocol, protocol))
		cuts := 0
		for pieces := range filtertest.Cuts(body) {
			x := host.Request("GET", "/", "", "x-api-key", "k")
			x.BeginResponse(200, "content-type", "text/event-stream")
			x.EndResponse(pieces...)
			if got := x.Client(); got.Body() != want || got.State != filtertest.Complete {
				t.Errorf("%s, cut into %q: %s", protocol, pieces, got)
			}
			if n := x.Callbacks().ResponseBody; n < len(pieces) {
				t.Errorf("%s, cut into %q: the filter was called %d times only", protocol, pieces, n)
			}
			cuts++
		}
		if got := host.Metrics()["redact.words"]; got != uint64(2*cuts) {
			t.Errorf("%s: %d words in %d responses", protocol, got, cuts)
		}
	}
}

// TestNothingWaits: what cannot be the word goes at once.
func TestNothingWaits(t *testing.T) {
	host := filtertest.New(t, redact, redactConfig)
	x := host.Request("GET", "/", "", "x-api-key", "k")
	x.BeginResponse(200)
	var seen []string
	for _, piece := range []string{"one, ", "two sec", "ond, ", "three"} {
		x.SendResponse(piece)
		seen = append(seen, x.Client().Body())
	}
	if got := strings.Join(seen, "|"); got != "one, |one, |one, two second, |one, two second, three" {
		t.Error(got)
	}
}

// TestTrailers: a response that ends with trailers has no last body callback, and what waits must not be lost.
func TestTrailers(t *testing.T) {
	host := filtertest.New(t, redact, redactConfig, filtertest.Protocols(filtertest.HTTP2, filtertest.HTTP2))
	x := host.Request("GET", "/", "", "x-api-key", "k")
	x.BeginResponse(200)
	x.SendResponse("a secret sec")
	x.ResponseTrailers("x-checksum", "1")
	if got := x.Client().String(); got != `200 | "a [redacted] sec" | x-checksum: 1 | complete` {
		t.Error(got)
	}
}

// TestKilledServer: the client must see that something is missing, and never the word.
func TestKilledServer(t *testing.T) {
	host := filtertest.New(t, redact, redactConfig)
	x := host.Request("GET", "/", "", "x-api-key", "k")
	x.BeginResponse(200)
	x.SendResponse("first, ", "a sec")
	x.KillServer(filtertest.ConnectionTermination)
	if got := x.Client(); got.State != filtertest.Reset || got.Body() != "first, " {
		t.Error(got)
	}
	x = host.Request("GET", "/", "", "x-api-key", "k")
	x.KillServer(filtertest.ConnectionFailure)
	if got := x.Client(); got.Status != 503 || got.State != filtertest.Complete {
		t.Error(got)
	}
}

// TestConfiguration: a wrong one is refused with a reason, and the environment says what stands in the word's place.
func TestConfiguration(t *testing.T) {
	_, err := filtertest.Start(t, redact, `{"header":"x-api-key"}`)
	if !errors.Is(err, filtertest.ErrRefused) || !strings.Contains(err.Error(), "wants a header and a word") {
		t.Error(err)
	}
	host := filtertest.New(t, redact, redactConfig, filtertest.Environment(map[string]string{"REDACT_MASK": "***"}))
	x := host.Request("GET", "/", "", "x-api-key", "k")
	x.Respond(200, "a secret")
	if got := x.Client().Body(); got != "a ***" {
		t.Error(got)
	}
}
