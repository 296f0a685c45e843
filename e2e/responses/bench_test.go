//go:build e2e

package responses

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// plan is how much is measured.
type plan struct {
	rounds, clients, turns, streams, paced int
	chains                                 []int
	forks                                  int // turns after each chain
}

// TestBench measures what a stored turn costs, beside one on the straight path. With -update it does so in full and
// writes docs/bench/responses.md. Without, it checks that a long chain costs no more queries than a short one, and that
// history is not stored again.
func TestBench(t *testing.T) {
	if !*lab.Update {
		lab.Long(t, "e2e-long")
	}
	p := plan{rounds: 1, clients: 2, turns: 2, streams: 1, chains: []int{1, 100}, forks: 5}
	if *lab.Update {
		p = plan{rounds: 3, clients: 16, turns: 25, streams: 4, paced: 100, chains: []int{1, 10, 100, 1000}, forks: 20}
	}
	stations := startStations(t, 0)
	var page strings.Builder
	fmt.Fprintf(&page, "# The responses service\n\n`make bench-responses` has written this page. It ran on %s, %s,\n"+
		"which clients, the simulated server, Envoy (one worker), the service and its database shared. The store is encrypted.\n"+
		"SQLite and PostgreSQL %s wait for the disk at each commit. Figures are medians of %d rounds.\n\n",
		time.Now().UTC().Format(time.DateOnly), lab.Machine(), version(stations[1]), p.rounds)
	p.benchTurns(&page, stations)
	if p.paced > 0 {
		p.benchStreams(&page, startStations(t, pace), "Paced streams", p.paced, 1, pacedQuestion, pacedAnswer,
			fmt.Sprintf("at %d tokens a second", pace))
	}
	p.benchStreams(&page, stations, "Fast streams", min(p.clients, 8), p.streams, longQuestion, longAnswer,
		"as fast as they come")
	for _, s := range stations {
		p.benchChains(&page, s)
	}
	t.Logf("\n%s", &page)
	if *lab.Update && !t.Failed() {
		text := strings.TrimSuffix(page.String(), "\n")
		if err := os.WriteFile(lab.File("docs/bench/responses.md"), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func version(s *station) (text string) {
	s.query(&text, "SHOW server_version")
	number, _, _ := strings.Cut(text, " ")
	return number
}

// variant is a way to ask at a station.
type variant struct {
	name    string
	at      *station
	members string
	samples []sample
}

// variants returns the straight path at the first station, and each way to store at all of them.
func variants(stations []*station, straight []string, stored map[string]string, order []string) (all []*variant) {
	for i := 0; i < len(straight); i += 2 {
		all = append(all, &variant{name: straight[i], at: stations[0], members: straight[i+1]})
	}
	for _, name := range order {
		for _, s := range stations {
			all = append(all, &variant{name: name + ", " + s.name, at: s, members: stored[name]})
		}
	}
	return all
}

// middle returns the median of a figure of the samples.
func (v *variant) middle(figure func(*sample) float64) float64 {
	var all []float64
	for i := range v.samples {
		all = append(all, figure(&v.samples[i]))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// latency returns a quantile of all latencies, in milliseconds.
func (v *variant) latency(q float64) string {
	var all []time.Duration
	for i := range v.samples {
		all = append(all, v.samples[i].latencies...)
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f", milliseconds(all[int(q*float64(len(all)-1))]))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// processes are Envoy, the service and the database.
var processes = []func(*spent) time.Duration{
	func(s *spent) time.Duration { return s.envoy },
	func(s *spent) time.Duration { return s.service },
	func(s *spent) time.Duration { return s.database },
}

// cpu returns the processor time of each process for a turn, in milliseconds.
func (v *variant) cpu() []string {
	var cells []string
	for _, of := range processes {
		cells = append(cells, fmt.Sprintf("%.2f", v.middle(func(s *sample) float64 {
			return milliseconds(of(&s.spent)) / float64(s.turns)
		})))
	}
	return cells
}

func (v *variant) diskPerTurn() float64 {
	return v.middle(func(s *sample) float64 { return float64(s.disk) / float64(s.turns) })
}

// benchTurns measures turns with a short answer, as fast as they come.
func (p *plan) benchTurns(page *strings.Builder, stations []*station) {
	short := `"input":"` + shortQuestion + `"`
	all := variants(stations,
		[]string{"straight, whole", short + `,"store":false`, "straight, streamed", short + `,"store":false,"stream":true`},
		map[string]string{"stored, whole": short, "stored, streamed": short + `,"stream":true`},
		[]string{"stored, whole", "stored, streamed"})
	for range p.rounds {
		for _, v := range all {
			v.samples = append(v.samples, v.at.measure(p.clients, p.turns, v.at.Body(v.members)))
		}
	}
	var rows [][]string
	for _, v := range all {
		row := []string{v.name, fmt.Sprintf("%.0f", v.middle(func(s *sample) float64 {
			return float64(s.turns) / s.wall.Seconds()
		}))}
		row = append(append(row, v.cpu()...), v.latency(0.5), v.latency(0.99), fmt.Sprintf("%.0f", v.diskPerTurn()))
		rows = append(rows, row)
	}
	fmt.Fprintf(page, "## Turns\n\n%d clients, each of which asks again as soon as it has its answer of %d tokens. "+
		"A stored turn passes Envoy\ntwice. CPU is in ms a turn, disk in bytes a turn.\n\n", p.clients, shortAnswer)
	lab.WriteTable(page, []string{"", "turns/s", "Envoy", "service", "database", "p50, ms", "p99, ms", "disk"}, rows)
}

// benchStreams measures many streams at once, of answers with so many tokens.
func (p *plan) benchStreams(page *strings.Builder, stations []*station, title string, clients, each int, question string,
	tokens int, speed string) {
	asked := `"input":"` + question + `","stream":true`
	all := variants(stations, []string{"straight", asked + `,"store":false`},
		map[string]string{"stored": asked, "background": asked + `,"background":true`}, []string{"stored", "background"})
	for range p.rounds {
		for _, v := range all {
			v.samples = append(v.samples, v.at.measure(clients, each, v.at.Body(v.members)))
		}
	}
	var rows [][]string
	straight := 0.0
	for i, v := range all {
		row, total := []string{v.name}, 0.0
		for _, of := range processes {
			// Milliseconds for 1,000 tokens are seconds for 1,000,000.
			seconds := v.middle(func(s *sample) float64 {
				return milliseconds(of(&s.spent)) / float64(s.turns) * 1000 / float64(tokens)
			})
			row, total = append(row, fmt.Sprintf("%.1f", seconds)), total+seconds
		}
		added := ""
		if i == 0 {
			straight = total
		} else {
			added = fmt.Sprintf("+%.1f", total-straight)
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1f", total), added))
	}
	fmt.Fprintf(page, "## %s\n\nCPU seconds for 1,000,000 tokens, in %d streams of %d tokens at once, %s.\n\n", title,
		clients, tokens, speed)
	lab.WriteTable(page, []string{"", "Envoy", "service", "database", "all", "over straight"}, rows)
}

// benchChains measures turns that continue chains of different lengths, one after the other.
func (p *plan) benchChains(page *strings.Builder, s *station) {
	ids := s.chainOf(slices.Max(p.chains))
	var rows [][]string
	var first chainCost
	for i, length := range p.chains {
		body := s.Body(`"input":"` + shortQuestion + `","previous_response_id":"` + ids[length-1] + `"`)
		stored := &variant{samples: []sample{s.measure(1, p.forks, body)}}
		whole := s.wholeBody(ids[length-1])
		straight := &variant{samples: []sample{s.measure(1, p.forks, whole)}}
		cost := chainCost{disk: stored.diskPerTurn(), bytes: s.chainBytes(ids[length-1])}
		if s.postgres != nil {
			s.count(&cost, body)
		}
		if i == 0 {
			first = cost
		}
		cost.check(s.T, &first, length)
		row := append([]string{fmt.Sprint(length), stored.latency(0.5)}, stored.cpu()...)
		row = append(row, fmt.Sprintf("%.0f", cost.bytes), fmt.Sprintf("%.0f", cost.disk))
		if s.postgres != nil {
			row = append(row, fmt.Sprintf("%.0f", cost.statements), fmt.Sprintf("%.0f", cost.rows))
		}
		rows = append(rows, append(row, straight.latency(0.5), straight.cpu()[0], fmt.Sprint(len(whole))))
	}
	fmt.Fprintf(page, "## Chains, %s\n\nA turn after a chain of so many turns, each with an answer of %d tokens; one "+
		"client. p50 and CPU are in ms, the items\nthat are read and the growth of the tables in bytes.\n%s\nThe last three "+
		"columns are the same conversation on the straight path, where the client sends all of it.\n\n", s.name,
		shortAnswer, s.countedBy())
	head := []string{"turns", "p50", "Envoy", "service", "database", "items", "disk"}
	if s.postgres != nil {
		head = append(head, "statements", "rows")
	}
	lab.WriteTable(page, append(head, "straight p50", "Envoy", "request, bytes"), rows)
}

// countedBy says where the columns of statements and rows are from.
func (s *station) countedBy() string {
	if s.postgres == nil {
		return "SQLite runs in the service."
	}
	return "PostgreSQL counts the rows; begin and commit are not among the statements."
}

// wholeBody returns a request that continues a response on the straight path: with all of its items.
func (s *station) wholeBody(id string) string {
	s.T.Helper()
	var items []json.RawMessage
	after := ""
	for more := true; more; {
		var l struct {
			Data    []json.RawMessage
			LastID  string `json:"last_id"`
			HasMore bool   `json:"has_more"`
		}
		a := s.Do("GET", "responses/"+id+"/input_items?order=asc&limit=100"+after, "", 200)
		if err := json.Unmarshal([]byte(a.Body), &l); err != nil {
			s.T.Fatal(err)
		}
		items, more, after = append(items, l.Data...), l.HasMore, "&after="+l.LastID
	}
	var r struct{ Output []json.RawMessage }
	if err := json.Unmarshal([]byte(s.Do("GET", "responses/"+id, "", 200).Body), &r); err != nil {
		s.T.Fatal(err)
	}
	items = append(append(items, r.Output...), json.RawMessage(`{"role":"user","content":"`+shortQuestion+`"}`))
	text, err := json.Marshal(items)
	if err != nil {
		s.T.Fatal(err)
	}
	return s.Body(`"store":false,"input":` + string(text))
}
