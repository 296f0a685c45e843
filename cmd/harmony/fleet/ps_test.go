package fleet

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
)

// TestPsAsksAtOnce checks that a slow program delays no other: each page answers when both have been asked.
func TestPsAsksAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	var runs []cli.Run
	for range 2 {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			both.Done()
			both.Wait()
			server.WriteStatus(w, goodStatus())
		}))
		t.Cleanup(page.Close)
		runs = append(runs, cli.Run{Page: page.Listener.Addr().String()})
	}
	if all := runningHere(t.Context(), runs); len(all) != 2 {
		t.Errorf("got %+v", all)
	}
}

// TestPs lists two runs of harmony up, of which one page does not answer.
func TestPs(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, second := startPage(t), startPage(t)
	all := runningHere(t.Context(), []cli.Run{{Page: first, Gateway: "http://10.0.0.1:80"}, {Page: "127.0.0.1:1"},
		{Page: second}})
	if len(all) != 2 || all[0].Program != "up, wazero" || all[0].Ready != 1 || all[0].Servers != 2 ||
		strings.Join(all[0].Models, " ") != "a b" {
		t.Fatalf("got %+v", all)
	}
	var out bytes.Buffer
	if err := printRunning(&screen{Writer: &out, width: psWidth}, all, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PROGRAM", "  http://10.0.0.1:80  ", "  -  ", "http://" + first + "/",
		"http://" + second + "/", "1 of 2", "a, b"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
	out.Reset()
	if err := printRunning(&screen{Writer: &out, width: psWidth}, nil, time.Now()); err != nil || out.String() !=
		"nothing runs here\n" {
		t.Errorf("%v, %s", err, &out)
	}
	var failed bytes.Buffer
	out.Reset()
	if code := run(t.Context(), []string{"ps"}, &out, &failed); code != 0 || !strings.Contains(out.String(), first) {
		t.Errorf("%d, %s%s", code, &out, &failed)
	}
}
