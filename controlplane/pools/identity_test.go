package pools

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// replaceable is a server that can become another one, as a restart does, or go away.
type replaceable struct {
	*httptest.Server
	handler   atomic.Pointer[http.Handler] // nil: the server is away
	tokenized atomic.Int64                 // requests for ids
}

func newReplaceable(t *testing.T) *replaceable {
	s := &replaceable{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := s.handler.Load()
		if h == nil {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path == "/tokenize" {
			s.tokenized.Add(1)
		}
		(*h).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// become starts a simulated server in place of the one before.
func (s *replaceable) become(t *testing.T, o sim.Options) {
	o.Models = append(o.Models, "m")
	simulated := sim.New(o)
	t.Cleanup(simulated.Close)
	h := simulated.Handler()
	s.handler.Store(&h)
}

func (s *replaceable) away() { s.handler.Store(nil) }

const otherVocabulary = `other vocabulary: "Hello, world!" has the ids [75 104 111 111 114 47 35 122 …] there, and ` +
	`[13225 11 2375 0] here`

// TestVocabulary checks that a server with another vocabulary gets no requests, and that it is compared once after each
// start. A start is seen by the server's absence, or by another list of models.
func TestVocabulary(t *testing.T) {
	s := newReplaceable(t)
	w, log := watcher(t, nil)
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, s.URL), Models: []string{"m"}, TokenIDs: true}}))
	s.become(t, sim.Options{})
	await(t, w, Ready, "")
	if got := server(t, w); got.Program != "vLLM "+sim.Version || got.Context != sim.DefaultMaxModelLen ||
		got.Vocabulary != SameVocabulary {
		t.Errorf("got %+v", got)
	}
	if n := s.tokenized.Load(); n != 4 {
		t.Errorf("it was asked for the ids of %d texts", n)
	}

	s.become(t, sim.Options{Models: []string{"another"}, Kind: sim.SGLang}) // too soon for an absence to be seen
	eventually(t, "SGLang", func() bool { return server(t, w).Program == "SGLang "+sim.SGLangVersion })
	if got := server(t, w); got.Vocabulary != SameVocabulary || s.tokenized.Load() != 8 {
		t.Errorf("%d texts, %+v", s.tokenized.Load(), got)
	}

	s.away()
	eventually(t, "absence", func() bool { return !server(t, w).Silent.IsZero() })
	s.become(t, sim.Options{OtherVocabulary: true})
	await(t, w, NotReady, otherVocabulary)
	if got := server(t, w); got.Vocabulary != OtherVocabulary {
		t.Errorf("got %+v", got)
	}
	w.Close()
	if log.count("a server has been identified") != 3 || log.count("level=WARN") != 1 ||
		!strings.Contains(log.String(), `program="SGLang `+sim.SGLangVersion+`" context=131072 vocabulary=same`) {
		t.Errorf("the log is\n%s", log)
	}
}

// TestMendedVocabulary checks that a server with another vocabulary comes back although it is never seen away, as
// behind an address that several servers share. It is asked in each interval, and logged once.
func TestMendedVocabulary(t *testing.T) {
	s := newReplaceable(t)
	w, log := watcher(t, nil)
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, s.URL), Models: []string{"m"}, TokenIDs: true}}))
	s.become(t, sim.Options{OtherVocabulary: true})
	await(t, w, NotReady, otherVocabulary)
	eventually(t, "another comparison", func() bool { return s.tokenized.Load() >= 12 })
	s.become(t, sim.Options{})
	await(t, w, Ready, "")
	w.Close()
	if log.count("a server has been identified") != 2 || log.count("level=WARN") != 1 {
		t.Errorf("the log is\n%s", log)
	}
}

// TestVocabularyNotAsked checks servers that cannot be asked for their vocabulary, or need not be. They are ready.
func TestVocabularyNotAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		ids    bool
		answer http.HandlerFunc // of /tokenize; nil: the simulator's
	}{
		"no such path":   {true, replies(404, "{}")},
		"a key":          {true, replies(401, "{}")},
		"no ids":         {true, replies(200, `{"tokens":[]}`)},
		"a web page":     {true, replies(200, "<html>")},
		"a redirect":     {true, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }},
		"too much":       {true, replies(200, `{"tokens":[1]}`+strings.Repeat(" ", maxAnswer))},
		"a closed line":  {true, repliesRaw("")},
		"a kind of text": {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			simulated := sim.New(sim.Options{OtherVocabulary: true, Models: []string{"m"}})
			t.Cleanup(simulated.Close)
			s := newReplaceable(t)
			var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/tokenize" && tt.answer != nil {
					tt.answer(w, r)
					return
				}
				simulated.Handler().ServeHTTP(w, r)
			})
			s.handler.Store(&h)
			w, _ := watcher(t, nil)
			must(t, w.Set([]Pool{{Name: "p", Servers: []config.Endpoint{endpoint(t, s.URL)}, Models: []string{"m"},
				TokenIDs: tt.ids}}))
			await(t, w, Ready, "")
			if got := server(t, w); got.Vocabulary != VocabularyNotAsked || got.Program != "vLLM "+sim.Version {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestIncompleteIdentity checks that a server which has not answered in time keeps the vocabulary that was found last,
// and is asked again.
func TestIncompleteIdentity(t *testing.T) {
	var s Server
	other := &identity{complete: true}
	other.texts.Other = 1
	s.set(other)
	s.set(&identity{})
	if s.Vocabulary != OtherVocabulary {
		t.Errorf("the vocabulary is %q", s.Vocabulary)
	}
	w, _ := watcher(t, nil)
	m := &member{probe: &probe{}, Server: s}
	w.updateIdentity(m, &identity{}, nil, nil)
	if m.identified != nil {
		t.Error("it is not asked again")
	}
}
