//go:build e2e

package up

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestUpContext checks that requests without max_tokens are answered by servers with a smaller context than the default,
// on both hosts, and that the list of models has that context.
func TestUpContext(t *testing.T) {
	const context = 4096
	_, server := lab.RunSim(t, sim.Options{MaxModelLen: context})
	args := []string{"--model", lab.Model, "--backend", "vllm=" + server}
	// With Envoy a request may come before the control plane has heard of the server.
	answered := func(t *testing.T, url string, patience time.Duration) {
		t.Helper()
		client := lab.HTTP1(t)
		for end := time.Now().Add(patience); ; {
			a := lab.AskChat(client, url)
			if a.Status == http.StatusOK {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("got %+v", a)
			}
			time.Sleep(lab.Pause)
		}
		if a := lab.Do(client, http.MethodGet, url+"/v1/models", nil, nil); !strings.Contains(a.Body, `"max_model_len":4096`) {
			t.Errorf("the list of models is %s", a.Body)
		}
	}
	t.Run("envoy", func(t *testing.T) {
		up, url := lab.StartUp(t, args...)
		answered(t, url, lab.Patience)
		up.Stop(t, syscall.SIGTERM)
	})
	t.Run("wazero", func(t *testing.T) {
		up, url := lab.StartUp(t, append(args, "--host", "wazero")...)
		answered(t, url, 0)
		lab.StopWazero(t, up)
	})
	t.Run("more than they have", func(t *testing.T) {
		up, url := lab.StartUp(t, append(args, "--context-length", "8192")...)
		if a := lab.AskChat(lab.HTTP1(t), url); a.Status != http.StatusBadRequest {
			t.Errorf("got %+v", a)
		}
		up.Stop(t, syscall.SIGTERM)
		if want := "is smaller than the model's"; !strings.Contains(up.Stderr.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, up.Stderr.String())
		}
	})
}
