//go:build e2e

package responses

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// turnsOfEach is how many turns each conversation of TestKill has.
const turnsOfEach = 10

// TestKill kills the service and its database while many conversations go on. HARMONY_RESPONSES_KILL makes them as many
// as `make responses-kill` wants.
func TestKill(t *testing.T) {
	talkers, shares := 40, []float64{0.2, 0.6}
	if os.Getenv("HARMONY_RESPONSES_KILL") != "" {
		talkers, shares = 200, []float64{0.1, 0.25, 0.4, 0.55, 0.7, 0.85}
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := lab.StartPostgres(t)
		c := newCrowd(t, server.Database("kill"), talkers)
		c.killers = []killer{
			{"service", c.replicas[0].restart},
			{"PostgreSQL", func() { server.Kill(); server.Start() }},
			{"both", func() { server.Kill(); c.replicas[0].Kill(t); c.replicas[0].begin(); server.Start() }},
		}
		c.run(shares)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		c := newCrowd(t, "", talkers)
		c.killers = []killer{{"service", c.replicas[0].restart}}
		c.run(shares)
	})
}

// killer kills something and starts it again.
type killer struct {
	what string
	kill func()
}

// crowd is many talkers at one gateway.
type crowd struct {
	*fleet
	talkers []*talker
	killers []killer
	// answered counts the turns of all talkers. Each is told to turns, too.
	answered atomic.Int64
	turns    chan struct{}
}

// newCrowd starts a fleet of one replica. Half of the talkers use conversations, and half of each stream. Every tenant
// has some of each.
func newCrowd(t *testing.T, database string, talkers int) *crowd {
	c := &crowd{fleet: startFleet(t, "envoy", database, "", 1, sim.Options{TokensPerSecond: 200, Keep: -1}),
		turns: make(chan struct{}, talkers*turnsOfEach)}
	for i := range talkers {
		k := &talker{client: c.Client, url: c.URL, name: fmt.Sprintf("talker %d", i), streams: i%4 >= 2,
			tenant: fmt.Sprintf("tenant%d", i/4%5)}
		if i%2 == 1 {
			k.conversation = "of its own"
		}
		c.talkers = append(c.talkers, k)
	}
	return c
}

// run lets all talk, and kills what the killers kill when these shares of all turns are answered. Then it compares what
// is stored with what was answered.
func (c *crowd) run(shares []float64) {
	t := c.T
	began := time.Now()
	var all sync.WaitGroup
	for _, k := range c.talkers {
		all.Go(func() {
			if k.conversation != "" {
				if err := k.begin(); err != nil {
					t.Errorf("%s: %v", k.name, err)
					return
				}
			}
			for range turnsOfEach {
				if err := k.talk(); err != nil {
					t.Errorf("%s: %v", k.name, err)
					return
				}
				c.answered.Add(1)
				c.turns <- struct{}{}
			}
		})
	}
	go func() {
		all.Wait()
		close(c.turns)
	}()
	var killed []string
	for range c.turns {
		n := c.answered.Load()
		if i := len(killed); i < len(shares) && float64(n) >= shares[i]*float64(len(c.talkers)*turnsOfEach) {
			k := c.killers[i%len(c.killers)]
			k.kill()
			killed = append(killed, fmt.Sprintf("%s after %d turns", k.what, n))
		}
	}
	if t.Failed() {
		return
	}
	t.Logf("%d conversations, %d turns answered in %s", len(c.talkers), c.answered.Load(),
		time.Since(began).Round(time.Second))
	t.Logf("killed: %s", strings.Join(killed, "; "))
	c.compare()
}

// compare fails the test unless everything that was answered is stored, once, and for its tenant alone.
func (c *crowd) compare() {
	t := c.T
	lost := map[string]int{}
	stored, unanswered, foreign := 0, 0, 0
	for i, k := range c.talkers {
		for _, l := range k.lost {
			for what, n := range l {
				lost[what] += n
			}
		}
		other := c.talkers[(i+4)%len(c.talkers)]
		if other.tenant == k.tenant {
			t.Fatal("the other talker is of the same tenant")
		}
		for _, turn := range k.turns {
			stored += c.readable(k, turn)
			foreign += c.unreadable(other, turn.id)
		}
		unanswered += c.inOrder(k, other)
	}
	t.Logf("attempts without an answer, tried again: %v", lost)
	t.Logf("%d responses that were answered are stored; %d turns are stored whose answers were lost", stored, unanswered)
	t.Logf("%d requests for another tenant's ids were refused", foreign)
}

func (c *crowd) get(k *talker, path string) lab.Answer {
	return lab.Do(c.Client, http.MethodGet, c.URL+"/v1/"+path, k.header(), nil)
}

// readable fails the test unless a response is stored as it was answered.
func (c *crowd) readable(k *talker, turn acknowledged) int {
	r := &response{}
	a := c.get(k, "responses/"+turn.id)
	if a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), r) != nil || r.Status != "completed" ||
		r.Text() != turn.answer {
		c.T.Errorf("%s: %s: status %d: %s", k.name, turn.question, a.Status, a.Body)
		return 0
	}
	return 1
}

// unreadable fails the test unless another tenant's response is refused in each request that may name it.
func (c *crowd) unreadable(k *talker, id string) int {
	for _, ask := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodGet, "responses/" + id, "", http.StatusNotFound},
		{http.MethodGet, "responses/" + id + "/input_items", "", http.StatusNotFound},
		{http.MethodDelete, "responses/" + id, "", http.StatusNotFound},
		{http.MethodPost, "responses", `{"model":"` + lab.Model + `","input":"x","previous_response_id":"` + id + `"}`,
			http.StatusBadRequest},
	} {
		a := lab.Do(c.Client, ask.method, c.URL+"/v1/"+ask.path, k.header(), strings.NewReader(ask.body))
		if a.Status != ask.status {
			c.T.Errorf("%s %s of another tenant: status %d: %s", ask.method, ask.path, a.Status, a.Body)
		}
	}
	return 4
}

// inOrder fails the test unless the items of a talker's conversation, or of its chain, are its turns in their order,
// each once. It returns how many turns are there besides: the client was told that they failed, or told nothing, and
// they are before their next attempt.
func (c *crowd) inOrder(k, other *talker) (unanswered int) {
	t := c.T
	path := "responses/" + k.turns[len(k.turns)-1].id + "/input_items"
	if k.conversation != "" {
		path = "conversations/" + k.conversation + "/items"
		if a := c.get(other, path); a.Status != http.StatusNotFound {
			t.Errorf("%s of another tenant: status %d: %s", path, a.Status, a.Body)
		}
	}
	items := c.items(k, path)
	questions := slices.DeleteFunc(slices.Clone(items), func(i item) bool { return i.Role != "user" })
	turn := 0
	for i, q := range questions {
		switch {
		case turn < len(k.turns) && q.Content[0].Text == k.turns[turn].question &&
			(i+1 == len(questions) || questions[i+1].Content[0].Text != q.Content[0].Text):
			turn++
		case k.conversation != "" && turn < len(k.turns) && q.Content[0].Text == k.turns[turn].question:
			unanswered++
		default:
			t.Errorf("%s: %q is the question %d, after %d turns", k.name, q.Content[0].Text, i, turn)
			return unanswered
		}
	}
	attempts := 0
	for _, lost := range k.lost {
		for _, n := range lost {
			attempts += n
		}
	}
	if turn != len(k.turns) || unanswered > attempts {
		t.Errorf("%s: %d turns of %d are stored, and %d besides with %d attempts that failed", k.name, turn, len(k.turns),
			unanswered, attempts)
	}
	c.answersIn(k, items)
	return unanswered
}

// answersIn fails the test unless each answer of a talker's is among the items once, and no item is there twice.
func (c *crowd) answersIn(k *talker, items []item) {
	ids, answers := map[string]int{}, map[string]int{}
	for _, i := range items {
		ids[i.ID]++
		if i.Type == "message" && i.Role == "assistant" {
			answers[i.Content[0].Text]++
		}
	}
	for id, n := range ids {
		if n > 1 {
			c.T.Errorf("%s: the item %s is there %d times", k.name, id, n)
		}
	}
	turns := k.turns
	if k.conversation == "" {
		turns = turns[:len(turns)-1] // the last answer is no input
	}
	for _, turn := range turns {
		if answers[turn.answer] != 1 {
			c.T.Errorf("%s: the answer %q is there %d times", k.name, turn.answer, answers[turn.answer])
		}
	}
}

// items returns all items of a list, the oldest first.
func (c *crowd) items(k *talker, path string) (items []item) {
	after := ""
	for {
		l := &list{}
		a := c.get(k, path+"?order=asc&limit=50"+after)
		if a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), l) != nil {
			c.T.Errorf("%s: status %d: %s", path, a.Status, a.Body)
			return items
		}
		items = append(items, l.Data...)
		if !l.HasMore {
			return items
		}
		after = "&after=" + l.LastID
	}
}
