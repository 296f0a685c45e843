package store

import (
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/responses"
)

// statusOf serves the metrics, whether the program runs, and whether what is stored can be read.
func statusOf(s *responses.Service) http.Handler {
	mux := cli.StatusMux(s.Metrics())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET "+contract.ServiceReadyPath, s.ServeReady)
	return mux
}

// openAccessLog opens the access log, to which the program writes until it ends. It returns nil if there is none.
func openAccessLog(path string) (io.Writer, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("responses_service.access_log: %w", err)
	}
	return f, nil
}
