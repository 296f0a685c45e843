//go:build e2e

package responses

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// reading is a stream that a client reads event by event.
type reading struct {
	g     *gateway
	lines *bufio.Scanner
	// text is what has come, and id the response's.
	text strings.Builder
	id   string
}

// open sends a request for a stream.
func (g *gateway) open(method, path, body string) *reading {
	g.t.Helper()
	request, err := http.NewRequestWithContext(g.t.Context(), method, g.url+"/v1/"+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
	answer, err := g.client.Do(request)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { answer.Body.Close() })
	return &reading{g: g, lines: bufio.NewScanner(answer.Body)}
}

// until reads until a line has a text.
func (r *reading) until(text string) *reading {
	r.g.t.Helper()
	for r.lines.Scan() {
		line := r.lines.Text()
		r.text.WriteString(line + "\n")
		if _, rest, found := strings.Cut(line, `"id":"resp_`); r.id == "" && found {
			id, _, _ := strings.Cut(rest, `"`)
			r.id = "resp_" + id
		}
		if strings.Contains(line, text) {
			r.lines.Scan() // the empty line
			r.text.WriteString("\n")
			return r
		}
	}
	r.g.t.Fatalf("the stream ends before %s: %v\n%s", text, r.lines.Err(), r.text.String())
	return nil
}

// end reads to the end and returns everything.
func (r *reading) end() string {
	for r.lines.Scan() {
		r.text.WriteString(r.lines.Text() + "\n")
	}
	return r.text.String()
}

// lastNumber returns the sequence number of the last event.
func (r *reading) lastNumber() int { return strings.Count(r.text.String(), "\ndata: ") - 1 }

// streamedBehind are the members of a request that is answered in the background, and streamed.
const streamedBehind = `"input":"first question","background":true,"stream":true`

// held are the options of a server that waits in the middle of each answer.
func held() sim.Options { return sim.Options{HoldAfter: 8, Keep: 100, Script: answers()} }

// TestReplicas lets one replica make a response in the background, and asks the other one for it.
func TestReplicas(t *testing.T) {
	server := lab.StartPostgres(t)
	f := startFleet(t, "wazero", server.Database("replicas"), "", 2, held())
	one, two := f.at(0), f.at(1)
	f.replicas[1].Kill(t) // the first one makes the responses
	create := func() *reading {
		return one.open("POST", "responses", f.body(streamedBehind)).until(`delta"`)
	}
	first := create()
	f.replicas[1].launch()
	// Its stream is resumed at the other one, while it goes on.
	at := first.lastNumber()
	resumed := two.open("GET", "responses/"+first.id+"?stream=true&starting_after="+strconv.Itoa(at), "")
	followed := two.open("GET", "responses/"+first.id+"?stream=true", "").until(`delta"`)
	running := &response{}
	two.object("Response", two.do("GET", "responses/"+first.id, "", 200), running)
	if running.Status != "in_progress" {
		t.Errorf("%+v", running)
	}
	two.refused("POST", "responses", f.body(`"input":"x","previous_response_id":"`+first.id+`"`), 400, "invalid_value")
	f.sim.Release()
	whole := first.end()
	if f.lastOf(whole).text() != "answer one" {
		t.Errorf("%s", whole)
	}
	if got := followed.end(); got != whole {
		t.Errorf("followed at the other replica: %s\nwant %s", got, whole)
	}
	frames := strings.SplitAfter(whole, "\n\n")
	if got, want := resumed.end(), strings.Join(frames[at+1:], ""); got != want {
		t.Errorf("resumed at the other replica after %d: %s\nwant %s", at, got, want)
	}
	next := two.create(`"input":"second question","previous_response_id":"` + first.id + `"`)
	if next.text() != "answer two" {
		t.Errorf("%+v", next)
	}
}

// TestCancelAtOther cancels a response at the replica that does not make it.
func TestCancelAtOther(t *testing.T) {
	server := lab.StartPostgres(t)
	f := startFleet(t, "wazero", server.Database("cancel"), "", 2, held())
	f.replicas[1].Kill(t)
	first := f.at(0).open("POST", "responses", f.body(streamedBehind)).until(`delta"`)
	f.replicas[1].launch()
	cancelled := &response{}
	f.object("Response", f.at(1).do("POST", "responses/"+first.id+"/cancel", "", 200), cancelled)
	if cancelled.Status != "cancelled" {
		t.Errorf("%+v", cancelled)
	}
	if last := f.lastOf(first.end()); last.Status != "cancelled" || len(last.Output) != 0 {
		t.Errorf("the stream ends with %+v", last)
	}
	f.aborted()
	if r := f.at(0).await(first.id); r.Status != "cancelled" {
		t.Errorf("%+v", r)
	}
}

// aborted waits until the model's server has been left by its only client.
func (f *fleet) aborted() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), lab.Patience)
	defer cancel()
	if _, err := f.sim.Await(ctx, func([]sim.Request) bool {
		all := lab.Completions(f.sim)
		return len(all) == 1 && all[0].Aborted
	}); err != nil {
		f.t.Errorf("the model's server still works for it: %v", err)
	}
}

// dying is a fleet one of whose replicas was killed while it made a response in the background. Another response
// waited.
type dying struct {
	*fleet
	// other asks the replica that is left, or the same one after its restart.
	other              *gateway
	begun, waits       string
	conversation, name string
}

// die kills the first replica of a fleet, and starts the last, which may be the same.
func die(t *testing.T, name, database string, replicas int) *dying {
	t.Helper()
	f := startFleet(t, "wazero", database, "  background: 1\n", replicas, held())
	next := f.replicas[replicas-1]
	if replicas > 1 {
		next.Kill(t)
	}
	one := f.at(0)
	var c struct{ ID string }
	f.object("ConversationResource", one.do("POST", "conversations", `{}`, 200), &c)
	begun := one.open("POST", "responses",
		f.body(streamedBehind+`,"conversation":"`+c.ID+`"`)).until(`delta"`)
	waits := one.create(`"input":"second question","background":true`)
	f.replicas[0].Kill(t)
	if text := begun.end(); strings.Contains(text, "response.completed") {
		t.Errorf("the stream did not end with its replica: %s", text)
	}
	f.sim.Release()
	next.launch()
	return &dying{f, f.at(replicas - 1), begun.id, waits.ID, c.ID, name}
}

// TestReplicaDies kills a replica that makes responses in the background. One of them has begun, in a conversation; one
// waits. Another replica, or the same one after its restart, makes the one that waited, and ends the other as failed.
func TestReplicaDies(t *testing.T) {
	server := lab.StartPostgres(t)
	// The leases of the dead end at the same time.
	for _, d := range []*dying{
		die(t, "another replica", server.Database("dies"), 2),
		die(t, "a restart with PostgreSQL", server.Database("restart"), 1),
		die(t, "a restart with SQLite", "", 1),
	} {
		t.Run(d.name, func(t *testing.T) {
			d.other.t = t
			d.check(t)
		})
	}
}

func (d *dying) check(t *testing.T) {
	if r := d.other.await(d.waits); r.Status != "completed" || r.text() != "answer two" {
		t.Errorf("the response that waited: %+v", r)
	}
	if r := d.other.await(d.begun); r.Status != "failed" || r.code() != "server_error" {
		t.Errorf("the response that had begun: %+v", r)
	}
	// Its stream can be resumed, and says how it ended.
	whole := d.other.do("GET", "responses/"+d.begun+"?stream=true", "", 200).Body
	if last := d.other.lastOf(whole); last.Status != "failed" || !strings.Contains(whole, "response.output_item.added") {
		t.Errorf("its stream: %s", whole)
	}
	// The conversation is free again, and has nothing of it.
	r := d.other.create(`"input":"third question","conversation":"` + d.conversation + `"`)
	if r.text() != "answer three" {
		t.Errorf("%+v", r)
	}
	l, path := &list{}, "conversations/"+d.conversation+"/items?order=asc"
	d.other.object("ConversationItemList", d.other.do("GET", path, "", 200), l)
	if l.texts() != "third question|thought three|answer three" {
		t.Error(l.texts())
	}
}

// TestReplicaStops interrupts a replica that makes a response in the background: the response ends before the program.
func TestReplicaStops(t *testing.T) {
	f := startFleet(t, "wazero", "", "", 1, held())
	begun := f.open("POST", "responses", f.body(streamedBehind)).until(`delta"`)
	f.replicas[0].interrupt()
	f.aborted()
	f.replicas[0].launch()
	r := &response{}
	f.object("Response", f.do("GET", "responses/"+begun.id, "", 200), r)
	if r.Status != "failed" || r.code() != "server_error" {
		t.Errorf("%+v", r)
	}
	if last := f.lastOf(f.do("GET", "responses/"+begun.id+"?stream=true", "", 200).Body); last.Status != "failed" {
		t.Errorf("%+v", last)
	}
}
