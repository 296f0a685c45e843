package store

import (
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// statusOf serves the metrics, whether the program runs, and whether what is stored can be read.
func statusOf(p *Part) http.Handler {
	mux := cli.StatusMux(p)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET "+contract.ServiceReadyPath, func(w http.ResponseWriter, r *http.Request) {
		if s := p.Service(); s != nil {
			s.ServeReady(w, r)
			return
		}
		http.Error(w, "the service has not begun", http.StatusServiceUnavailable)
	})
	return mux
}

// openAccessLog opens the access log. It returns nil if there is none.
func openAccessLog(path string) (io.WriteCloser, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, &config.Error{Field: "responses_service.access_log", Reason: err.Error()}
	}
	return f, nil
}
