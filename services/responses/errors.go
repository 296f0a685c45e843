package responses

import (
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/relay"
)

// failure is [refusal.OfStore] with the service's log.
func (s *Service) failure(err error, param string, missing *openai.Error) *openai.Error {
	return refusal.OfStore(s.log, err, param, missing)
}

// writeErrorFor writes an error in the form of the API whose path was asked.
func writeErrorFor(w http.ResponseWriter, r *http.Request, e *openai.Error) {
	switch r.URL.Path {
	case contract.MessagesPath, contract.CountTokensPath:
		id := showRequestID(w, r)
		writeErrorAs(w, e, func(dst []byte, e *openai.Error) []byte { return anthropic.AppendError(dst, e, id) })
		return
	}
	writeError(w, e)
}

func writeError(w http.ResponseWriter, e *openai.Error) { writeErrorAs(w, e, relay.Chat.AppendError) }

func writeErrorAs(w http.ResponseWriter, e *openai.Error, form func([]byte, *openai.Error) []byte) {
	w.Header().Set("content-type", "application/json")
	retry := e.RetryAfter
	if retry == "" && e.Status == http.StatusServiceUnavailable {
		retry = "1"
	}
	if retry != "" {
		w.Header().Set("retry-after", retry)
	}
	w.WriteHeader(e.Status)
	w.Write(form(nil, e))
}
