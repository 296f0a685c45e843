package up

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// sightedUp returns a run whose one server is never asked.
func sightedUp(stdout, stderr io.Writer) *up {
	u := &up{config: config.Default(), adjust: func(*config.Config) error { return nil }, stdout: stdout, stderr: stderr}
	u.config.Models = []config.Model{config.DefaultModel("m", "vllm=http://127.0.0.1:1")}
	return u
}

// TestSightTaps checks what the filter tells the recorder, and that reading the configuration again does not change it.
func TestSightTaps(t *testing.T) {
	for _, tt := range []struct {
		flags sightFlags
		want  string
	}{
		{sightFlags{}, contract.TapNone}, {sightFlags{watch: true}, contract.TapSummary},
		{sightFlags{watch: true, verbose: true}, contract.TapEverything},
		{sightFlags{record: t.TempDir()}, contract.TapEverything},
	} {
		var stderr bytes.Buffer
		u := sightedUp(io.Discard, &stderr)
		u.config.Tap.URL = "http://10.0.0.8:9903"
		s, err := u.startSight(&tt.flags)
		if err != nil {
			t.Fatal(err)
		}
		again := config.Default()
		again.Tap.URL = "http://10.0.0.9:9903"
		if err := u.adjust(again); err != nil {
			t.Fatal(err)
		}
		if u.config.Tap.All != tt.want || again.Tap != u.config.Tap || !strings.HasPrefix(again.Tap.URL, "http://127.0.0.1:") {
			t.Errorf("%+v: the filter gets %+v, and later %+v", tt.flags, u.config.Tap, again.Tap)
		}
		if key := s.environment()[contract.TapKeyVariable]; len(key) < contract.MinTapKey || key == u.config.Tap.URL {
			t.Errorf("the key is %q", key)
		}
		if !strings.Contains(stderr.String(), "note: tap.url is not used") {
			t.Errorf("it says %q", &stderr)
		}
		s.stop()
	}
}

// TestSightStops checks that a run ends even if the output of --watch is not read.
func TestSightStops(t *testing.T) {
	unread, stdout := io.Pipe()
	defer unread.Close()
	u := sightedUp(stdout, io.Discard)
	s, err := u.startSight(&sightFlags{watch: true})
	if err != nil {
		t.Fatal(err)
	}
	frames := tap.Append(nil, tap.Frame{Kind: tap.Request, Stream: 1, Payload: []byte(`{}`)})
	frames = tap.Append(frames, tap.Frame{Kind: tap.End, Stream: 1, Payload: []byte(`{"status":200,"first_token_ms":-1}`)})
	request, err := http.NewRequest(http.MethodPost, u.config.Tap.URL+tap.Path, bytes.NewReader(frames))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(tap.KeyHeader, s.key)
	request.Header.Set(tap.VMHeader, "1")
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatalf("%v, %v", response, err)
	}
	_ = response.Body.Close()
	if _, err := unread.Read(make([]byte, 1)); err != nil { // the line has begun, and nobody reads the rest
		t.Fatal(err)
	}
	s.settle()
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestSightAbout checks which models the page offers, and where the playground asks.
func TestSightAbout(t *testing.T) {
	shown := about(cli.HostWazero, []server.Pool{{Models: []string{"a", "b"}}, {Models: []string{"b", "c"}}})
	if got := strings.Join(shown.Models, " "); got != "a b c" || shown.Host != cli.HostWazero || shown.Admin {
		t.Errorf("got %+v", shown)
	}
	for listener, want := range map[string]string{"0.0.0.0:80": "127.0.0.1:80", "[::]:80": "[::1]:80",
		"10.0.0.1:80": "10.0.0.1:80", "[fe80::1]:80": "[fe80::1]:80"} {
		if got := localAddress(listener); got != want {
			t.Errorf("%s is reached at %s, want %s", listener, got, want)
		}
	}
}
