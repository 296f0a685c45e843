package record

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// MaxFrames is the largest body of frames, in bytes. maxReading is how many bodies are read at once; others wait.
const (
	MaxFrames  = 8 << 20
	maxReading = 16
)

// Handler returns what answers the filters: POST of frames with the key. Anything else is refused, before any of its
// body is read.
func (r *Recorder) Handler(key string) http.Handler {
	want := sha256.Sum256([]byte(key))
	reading := make(chan struct{}, maxReading)
	var complained sync.Once
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+tap.Path, func(w http.ResponseWriter, q *http.Request) {
		got := sha256.Sum256([]byte(q.Header.Get(tap.KeyHeader)))
		if key == "" || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			http.Error(w, "the header "+tap.KeyHeader+" does not have this recorder's key", http.StatusForbidden)
			return
		}
		vm := q.Header.Get(tap.VMHeader)
		if !IsID(vm) {
			http.Error(w, "the header "+tap.VMHeader+" is no number", http.StatusBadRequest)
			return
		}
		select {
		case reading <- struct{}{}:
			defer func() { <-reading }()
		case <-q.Context().Done():
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, MaxFrames))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			http.Error(w, "the frames are larger than 8 MiB", http.StatusRequestEntityTooLarge)
		case err != nil:
			http.Error(w, "the frames broke off", http.StatusBadRequest)
		case r.take(vm, body) != nil:
			complained.Do(func() {
				r.options.Log.Warn("a filter sent frames that cannot be read; does it have this program's version?", "vm", vm)
			})
			http.Error(w, tap.ErrBroken.Error(), http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	return mux
}
