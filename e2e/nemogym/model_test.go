//go:build e2e

package nemogym

import (
	"net/http"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestModelMissing: unlike a VLLMModel, the gateway has no model for a request that names none.
func TestModelMissing(t *testing.T) {
	server := runScripted(t)
	host := lab.RunNative(t, configuration(t, &vector{}, server.url))
	for path, body := range map[string]string{
		lab.ResponsesPath: `{"input":"Hello"}`,
		lab.ChatPath:      `{"messages":[{"role":"user","content":"Hello"}]}`,
	} {
		lab.WantRefused(t, lab.Ask(lab.HTTP1(t), host.URL+path, body), http.StatusBadRequest, "missing_required_parameter")
	}
}
