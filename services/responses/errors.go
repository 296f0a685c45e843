package responses

import (
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// failure is [refusal.OfStore] with the service's log.
func (s *Service) failure(err error, param string, missing *openai.Error) *openai.Error {
	return refusal.OfStore(s.log, err, param, missing)
}

func writeError(w http.ResponseWriter, e *openai.Error) {
	w.Header().Set("content-type", "application/json")
	retry := e.RetryAfter
	if retry == "" && e.Status == http.StatusServiceUnavailable {
		retry = "1"
	}
	if retry != "" {
		w.Header().Set("retry-after", retry)
	}
	w.WriteHeader(e.Status)
	w.Write(e.AppendJSON(nil))
}
