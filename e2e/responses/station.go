//go:build e2e

package responses

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/store/storetest"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The questions of the benchmark, and how many tokens their answers have.
const (
	shortQuestion, shortAnswer = "Say forty words.", 40
	longQuestion, longAnswer   = "Say a thousand words.", 1000
	// pacedAnswer comes from a server that answers at pace, which is a reader's.
	pacedQuestion, pacedAnswer, pace = "Say two hundred words.", 200, 50
)

// station is a fleet of one replica that is measured.
type station struct {
	*fleet
	name     string
	database string
	postgres *lab.Postgres // nil for SQLite
	db       *storetest.DB
	envoy    int // its process id
}

// startStations starts a station on each database. Its server answers at a rate in tokens a second; 0 is as fast as it
// can.
func startStations(t *testing.T, rate float64) []*station {
	postgres := lab.StartPostgres(t)
	stations := []*station{
		{name: "SQLite", database: filepath.Join(t.TempDir(), "responses.db")},
		{name: "PostgreSQL", database: postgres.Database("bench"), postgres: postgres},
	}
	say := func(match string, n int) sim.Line {
		return sim.Line{Match: match, Tokens: lab.Tokens("<|channel|>analysis<|message|>" + strings.Repeat(" think", 8) +
			"<|end|><|start|>assistant<|channel|>final<|message|>" + strings.Repeat(" word", n) + "<|return|>")}
	}
	for _, s := range stations {
		s.fleet = startFleet(t, "envoy", s.database, "  background: 200\n", 1, sim.Options{Keep: -1, TokensPerSecond: rate,
			Script: sim.NewScript(say(longQuestion, longAnswer), say(pacedQuestion, pacedAnswer),
				say(shortQuestion, shortAnswer))})
		s.db = storetest.OpenSQL(t, s.database)
		text, err := os.ReadFile(s.Program.PIDs)
		if err != nil {
			t.Fatal(err)
		}
		pids := strings.Fields(string(text)) // the last one serves; another has told its version
		if s.envoy, err = strconv.Atoi(pids[len(pids)-1]); err != nil {
			t.Fatal(err)
		}
	}
	return stations
}

// open opens the station's store beside the service.
func (s *station) openStore() *store.Store {
	s.T.Helper()
	keys, err := seal.ParseKeys(strings.TrimPrefix(service.StoreKeys, store.KeysVariable+"="))
	if err != nil {
		s.T.Fatal(err)
	}
	st, err := store.Open(s.T.Context(), store.Options{URL: s.database, Keys: keys})
	if err != nil {
		s.T.Fatal(err)
	}
	return st
}

// spent is the processor time of a station's processes. SQLite runs in the service.
type spent struct{ envoy, service, database time.Duration }

func (s *station) spent() (used spent) {
	s.T.Helper()
	for pid, into := range map[int]*time.Duration{s.envoy: &used.envoy, s.replicas[0].Cmd.Process.Pid: &used.service} {
		var err error
		if *into, err = lab.ProcessTime(pid); err != nil {
			s.T.Fatal(err)
		}
	}
	if s.postgres != nil {
		used.database = s.postgres.ProcessTime()
	}
	return used
}

// disk returns the size of the tables and their indices, in bytes.
func (s *station) disk() (size int64) {
	s.T.Helper()
	query := "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' " +
		"AND relnamespace = 'public'::regnamespace"
	if s.postgres == nil {
		query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	}
	s.query(&size, query)
	return size
}

// sample is what some turns have cost.
type sample struct {
	turns     int
	wall      time.Duration
	spent     spent
	disk      int64
	latencies []time.Duration
}

// measure lets clients send a body again and again.
func (s *station) measure(clients, each int, body string) sample {
	s.T.Helper()
	before, disk := s.spent(), s.disk()
	out := sample{turns: clients * each, latencies: make([]time.Duration, clients*each)}
	began := time.Now()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range each {
				at := time.Now()
				a := lab.Do(s.Client, http.MethodPost, s.URL+"/v1/responses", nil, strings.NewReader(body))
				out.latencies[c*each+i] = time.Since(at)
				if a.Err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, `"status":"completed"`) {
					s.T.Errorf("status %d, %v: %.1000s", a.Status, a.Err, a.Body)
					return
				}
			}
		})
	}
	all.Wait()
	out.wall = time.Since(began)
	after := s.spent()
	out.spent = spent{after.envoy - before.envoy, after.service - before.service, after.database - before.database}
	out.disk = s.disk() - disk
	if s.T.Failed() {
		s.T.FailNow()
	}
	return out
}

// chainOf stores a chain of turns that the service has not made, but could have. It returns the ids of its responses.
func (s *station) chainOf(turns int) []string {
	s.T.Helper()
	model := s.Create(`"input":"` + shortQuestion + `"`)
	st := s.openStore()
	defer s.closeStore(st)
	tenant := store.TenantOf("")
	r, output, err := st.Get(s.T.Context(), tenant, model.ID, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	input, err := st.InputItems(s.T.Context(), tenant, model.ID, store.Page{Limit: 10, Ascending: true})
	if err != nil {
		s.T.Fatal(err)
	}
	ids := []string{model.ID}
	for n := 1; n < turns; n++ {
		past, err := st.Chain(s.T.Context(), tenant, ids[n-1], store.AtMost(1<<30))
		if err != nil {
			s.T.Fatal(err)
		}
		copied := func(items []store.Item) (list []store.Item) {
			for _, i := range items {
				id := fmt.Sprintf("%s%06d", i.ID[:len(i.ID)-6], n)
				list = append(list, store.Item{ID: id, Type: i.Type, Body: []byte(strings.Replace(string(i.Body), i.ID, id, 1))})
			}
			return list
		}
		id := fmt.Sprintf("%s%06d", model.ID[:len(model.ID)-6], n)
		err = st.Insert(s.T.Context(), tenant, &store.Record{
			Response: store.Response{ID: id, Status: r.Status, CreatedAt: time.Now(),
				Object: []byte(strings.Replace(string(r.Object), r.ID, id, 1))},
			Input: copied(input.Items), Output: copied(output), Retention: time.Hour, Past: past})
		if err != nil {
			s.T.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func (s *station) closeStore(st *store.Store) {
	if err := st.Close(); err != nil {
		s.T.Error(err)
	}
}
