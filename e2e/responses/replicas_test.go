//go:build e2e

package responses

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

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
	create := func() *service.Reading {
		return one.Open("POST", "responses", f.Body(streamedBehind)).Until(`delta"`)
	}
	first := create()
	f.replicas[1].launch()
	// Its stream is resumed at the other one, while it goes on.
	at := first.LastNumber()
	resumed := two.Open("GET", "responses/"+first.ID+"?stream=true&starting_after="+strconv.Itoa(at), "")
	followed := two.Open("GET", "responses/"+first.ID+"?stream=true", "").Until(`delta"`)
	running := &response{}
	two.Object("Response", two.Do("GET", "responses/"+first.ID, "", 200), running)
	if running.Status != "in_progress" {
		t.Errorf("%+v", running)
	}
	two.Refused("POST", "responses", f.Body(`"input":"x","previous_response_id":"`+first.ID+`"`), 400, "invalid_value")
	f.Sim.Release()
	whole := first.End()
	if f.LastOf(whole).Text() != "answer one" {
		t.Errorf("%s", whole)
	}
	if got := followed.End(); got != whole {
		t.Errorf("followed at the other replica: %s\nwant %s", got, whole)
	}
	frames := strings.SplitAfter(whole, "\n\n")
	if got, want := resumed.End(), strings.Join(frames[at+1:], ""); got != want {
		t.Errorf("resumed at the other replica after %d: %s\nwant %s", at, got, want)
	}
	next := two.Create(`"input":"second question","previous_response_id":"` + first.ID + `"`)
	if next.Text() != "answer two" {
		t.Errorf("%+v", next)
	}
}

// TestCancelAtOther cancels a response at the replica that does not make it.
func TestCancelAtOther(t *testing.T) {
	server := lab.StartPostgres(t)
	f := startFleet(t, "wazero", server.Database("cancel"), "", 2, held())
	f.replicas[1].Kill(t)
	first := f.at(0).Open("POST", "responses", f.Body(streamedBehind)).Until(`delta"`)
	f.replicas[1].launch()
	cancelled := &response{}
	f.Object("Response", f.at(1).Do("POST", "responses/"+first.ID+"/cancel", "", 200), cancelled)
	if cancelled.Status != "cancelled" {
		t.Errorf("%+v", cancelled)
	}
	if last := f.LastOf(first.End()); last.Status != "cancelled" || len(last.Output) != 0 {
		t.Errorf("the stream ends with %+v", last)
	}
	f.aborted()
	if r := f.at(0).Await(first.ID); r.Status != "cancelled" {
		t.Errorf("%+v", r)
	}
}

// aborted waits until the model's server has been left by its only client.
func (f *fleet) aborted() {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.T.Context(), lab.Patience)
	defer cancel()
	if _, err := f.Sim.Await(ctx, func([]sim.Request) bool {
		all := lab.Completions(f.Sim)
		return len(all) == 1 && all[0].Aborted
	}); err != nil {
		f.T.Errorf("the model's server still works for it: %v", err)
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
	f.Object("ConversationResource", one.Do("POST", "conversations", `{}`, 200), &c)
	begun := one.Open("POST", "responses",
		f.Body(streamedBehind+`,"conversation":"`+c.ID+`"`)).Until(`delta"`)
	waits := one.Create(`"input":"second question","background":true`)
	f.replicas[0].Kill(t)
	if text := begun.End(); strings.Contains(text, "response.completed") {
		t.Errorf("the stream did not end with its replica: %s", text)
	}
	f.Sim.Release()
	next.launch()
	return &dying{f, f.at(replicas - 1), begun.ID, waits.ID, c.ID, name}
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
			d.other.T = t
			d.check(t)
		})
	}
}

func (d *dying) check(t *testing.T) {
	if r := d.other.Await(d.waits); r.Status != "completed" || r.Text() != "answer two" {
		t.Errorf("the response that waited: %+v", r)
	}
	if r := d.other.Await(d.begun); r.Status != "failed" || r.Code() != "server_error" {
		t.Errorf("the response that had begun: %+v", r)
	}
	// Its stream can be resumed, and says how it ended.
	whole := d.other.Do("GET", "responses/"+d.begun+"?stream=true", "", 200).Body
	if last := d.other.LastOf(whole); last.Status != "failed" || !strings.Contains(whole, "response.output_item.added") {
		t.Errorf("its stream: %s", whole)
	}
	// The conversation is free again, and has nothing of it.
	r := d.other.Create(`"input":"third question","conversation":"` + d.conversation + `"`)
	if r.Text() != "answer three" {
		t.Errorf("%+v", r)
	}
	l, path := &list{}, "conversations/"+d.conversation+"/items?order=asc"
	d.other.Object("ConversationItemList", d.other.Do("GET", path, "", 200), l)
	if l.Texts() != "third question|thought three|answer three" {
		t.Error(l.Texts())
	}
}

// TestReplicaStops interrupts a replica that makes a response in the background: the response ends before the program.
func TestReplicaStops(t *testing.T) {
	f := startFleet(t, "wazero", "", "", 1, held())
	begun := f.Open("POST", "responses", f.Body(streamedBehind)).Until(`delta"`)
	f.replicas[0].interrupt()
	f.aborted()
	f.replicas[0].launch()
	r := &response{}
	f.Object("Response", f.Do("GET", "responses/"+begun.ID, "", 200), r)
	if r.Status != "failed" || r.Code() != "server_error" {
		t.Errorf("%+v", r)
	}
	if last := f.LastOf(f.Do("GET", "responses/"+begun.ID+"?stream=true", "", 200).Body); last.Status != "failed" {
		t.Errorf("%+v", last)
	}
}
