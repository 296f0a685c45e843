package page

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/sight/history"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

// About says what the page is of. It is the answer of GET /api/about.
type About struct {
	// Host is the host of the filter, "envoy" or "wazero", or "controlplane" for the page of a fleet.
	Host string `json:"host"`
	// Version is the version of this program.
	Version string `json:"version"`
	// Gateway is the gateway's URL for clients. It is empty if the page has no playground. [Handler] sets it.
	Gateway string `json:"gateway"`
	// Models are the names of the models that clients may ask for.
	Models []string `json:"models"`
	// Records reports whether the page shows requests. [Handler] sets it.
	Records bool `json:"records"`
	// Admin reports whether Envoy's admin interface is behind the same address.
	Admin bool `json:"admin"`
}

// Source is where the page gets what it shows.
type Source struct {
	// About describes the gateway. It is called for each request, because models change.
	About func() About
	// Status returns the state as GET /api/status shows it: a controlplane/server.Status.
	Status func() any
	// History has the last hour. If it is nil, the page has no plots.
	History *history.History
	// Records has the requests that are recorded. If it is nil, the page shows none.
	Records *record.Recorder
	// Gateway is the URL of the gateway to which the playground talks, without a path. If it is empty, there is no
	// playground.
	Gateway string
	// TapKey is the key with which the playground's requests are tapped. If it is empty, they are not.
	TapKey string
	// Names are host names by which browsers may reach the page, besides localhost and addresses.
	Names []string
	// Fallback serves what the page does not know. If it is nil, that is answered 404.
	Fallback http.Handler
	// OwnNames serves the fallback too only under names of the page. Otherwise programs may read it under any name.
	OwnNames bool
}

// Handler serves the page. Browsers get it only under a name of its own, and its API only from itself. Close the
// contexts of its requests (see [http.Server.BaseContext]) to end the streams of its viewers.
func Handler(s Source) http.Handler { return handler(s, statusPace) }

func handler(s Source, pace time.Duration) http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("GET /api/about", func(w http.ResponseWriter, _ *http.Request) {
		about := s.About()
		about.Gateway, about.Records = s.Gateway, s.Records != nil
		if about.Models == nil {
			about.Models = []string{}
		}
		writeJSON(w, about)
	})
	api.HandleFunc("GET /api/status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Status()) })
	api.HandleFunc("GET /api/history", func(w http.ResponseWriter, _ *http.Request) {
		if s.History == nil {
			writeJSON(w, history.Page{IntervalS: 5, Times: []int64{}, Series: []history.Series{}})
			return
		}
		writeJSON(w, s.History.Page())
	})
	api.HandleFunc("GET /api/numbers", func(w http.ResponseWriter, r *http.Request) {
		minutes, err := strconv.Atoi(r.URL.Query().Get("minutes"))
		if err != nil || s.History == nil {
			minutes = 5
		}
		if s.History == nil {
			writeJSON(w, history.Window{Minutes: minutes, Rows: []history.Numbers{}})
			return
		}
		writeJSON(w, s.History.Window(minutes))
	})
	api.Handle("GET /api/live", newLive(s, pace))
	if s.Records != nil {
		r := &records{recorder: s.Records, open: make(chan struct{}, maxFollowed)}
		r.register(api)
	}
	if s.Gateway != "" {
		api.Handle("POST "+gatewayPrefix+"/", newGateway(s.Gateway, s.TapKey))
	}
	api.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "the page's API has no "+r.Method+" "+r.URL.Path)
	})

	origin := origins{names: s.Names, strict: s.OwnNames}
	mux := http.NewServeMux()
	mux.Handle("/api/", origin.own(api))
	mux.Handle("GET /page/", origin.own(http.StripPrefix("/page/", assets())))
	mux.Handle("GET /{$}", origin.page(index()))
	if s.Fallback != nil {
		mux.Handle("/", origin.fallback(s.Fallback))
	}
	return mux
}

// writeJSON answers with the JSON of v.
func writeJSON(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "internal_error", err.Error())
		return
	}
	w.Header().Set("content-type", "application/json")
	w.Header().Set("cache-control", "no-store")
	writeAll(w, text)
}

// refuse answers with an error in the shape of the gateway's own.
func refuse(w http.ResponseWriter, status int, code, message string) {
	text, _ := json.Marshal(map[string]any{"error": map[string]any{ // strings can always be marshalled
		"message": message, "type": "page_error", "param": nil, "code": code,
	}})
	w.Header().Set("content-type", "application/json")
	w.Header().Set("cache-control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
