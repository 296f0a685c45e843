//go:build e2e

package responses

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/services/responses/store/storetest"
	"github.com/harmonyedge/harmonyedge/sim"
)

// onDatabases runs a test with a service on each database, behind the filter without Envoy. settings are YAML for it.
func onDatabases(t *testing.T, settings string, o sim.Options, test func(f *fleet, db *storetest.DB)) {
	server := lab.StartPostgres(t)
	for name, database := range map[string]string{
		"sqlite": filepath.Join(t.TempDir(), "responses.db"), "postgres": server.Database("failures"),
	} {
		t.Run(name, func(t *testing.T) {
			test(startFleet(t, "wazero", database, settings, 1, o), storetest.OpenSQL(t, database))
		})
	}
}

// atOnce are the options of a server that answers at once.
func atOnce() sim.Options { return sim.Options{Keep: 1000, Script: answers()} }

// TestForgedIDs asks for ids that nobody was given, in each place that takes one.
func TestForgedIDs(t *testing.T) {
	onDatabases(t, "", atOnce(), func(f *fleet, _ *storetest.DB) {
		real := f.Create(`"input":"first question"`)
		var c struct{ ID string }
		f.Object("ConversationResource", f.Do("POST", "conversations", `{}`, 200), &c)
		for _, id := range []string{
			real.ID[:len(real.ID)-1], real.ID + "0", strings.ToUpper(real.ID), "resp_", "'", "' OR '1'='1", "%25", "\\u0000",
			real.ID + "\\u0000", "é", strings.Repeat("x", 100_000),
		} {
			short := id[:min(len(id), 80)]
			f.Refused("POST", "responses", f.Body(`"input":"x","previous_response_id":"`+id+`"`), 400,
				"previous_response_not_found")
			f.Refused("POST", "responses", f.Body(`"input":"x","conversation":"`+id+`"`), 404, "")
			f.Refused("POST", "responses", f.Body(`"input":[{"type":"item_reference","id":"`+id+`"}]`), 400, "invalid_value")
			f.Refused("POST", "conversations", `{"items":[{"type":"item_reference","id":"`+id+`"}]}`, 400, "invalid_value")
			if strings.ContainsAny(short, "\\' ") || len(id) > 1000 {
				continue // these do not stand in a path so
			}
			for _, path := range []string{"responses/" + id, "responses/" + id + "/input_items", "conversations/" + id,
				"conversations/" + id + "/items", "conversations/" + c.ID + "/items/" + id} {
				f.Refused("GET", path, "", 404, "")
			}
			f.Refused("GET", "responses/"+real.ID+"/input_items?after="+id, "", 400, "invalid_value")
			f.Refused("POST", "responses/"+id+"/cancel", "", 404, "")
			f.Refused("DELETE", "responses/"+id, "", 404, "")
			f.Refused("DELETE", "conversations/"+id, "", 404, "")
		}
		direct := f.at(0) // Envoy refuses some of these paths
		for _, id := range []string{"%00", "resp_%00", "%ff", "%27%20OR%201=1"} {
			direct.Refused("GET", "responses/"+id, "", 404, "")
			direct.Refused("GET", "conversations/"+id+"/items", "", 404, "")
			direct.Refused("POST", "conversations/"+id, `{"metadata":{}}`, 404, "")
			direct.Refused("DELETE", "conversations/"+c.ID+"/items/"+id, "", 404, "")
			direct.Refused("GET", "conversations/"+c.ID+"/items?after="+id, "", 400, "invalid_value")
		}
		// An item that a client names itself is stored under a name that every database has.
		f.Object("ConversationItemList", f.Do("POST", "conversations/"+c.ID+"/items",
			`{"items":[{"type":"message","id":"a\u0000b","role":"user","content":"one\u0000two"}]}`, 200), &list{})
		f.Refused("POST", "conversations", `{"items":[{"type":"mess\u0000age","role":"user","content":"one"}]}`, 400,
			"invalid_value")
		if n := len(f.Prompts()); n != 1 {
			f.T.Errorf("the model was asked %d times", n)
		}
	})
}

// TestCorruptRow changes what is stored: the change is told, and everything else can be read.
func TestCorruptRow(t *testing.T) {
	onDatabases(t, "", atOnce(), func(f *fleet, db *storetest.DB) {
		one := f.Create(`"input":"first question"`)
		two := f.Create(`"input":"second question","previous_response_id":"` + one.ID + `"`)
		three := f.Create(`"input":"third question"`)
		four := f.Create(`"input":"first question","background":true,"stream":false`)
		f.Await(four.ID)
		for _, statement := range []string{
			"UPDATE items SET body = (SELECT body FROM items WHERE id = '" + two.Output[1].ID + "') " +
				"WHERE id = '" + one.Output[1].ID + "'",
			"UPDATE responses SET object = (SELECT object FROM responses WHERE id = '" + one.ID + "') " +
				"WHERE id = '" + four.ID + "'",
		} {
			if result, err := db.ExecContext(f.T.Context(), statement); err != nil {
				f.T.Fatal(err)
			} else if n, err := result.RowsAffected(); n != 1 || err != nil {
				f.T.Fatal(n, err)
			}
		}
		before := len(f.Prompts())
		f.Refused("GET", "responses/"+one.ID, "", 500, "stored_data_unreadable")
		f.Refused("GET", "responses/"+two.ID+"/input_items", "", 500, "stored_data_unreadable")
		f.Refused("POST", "responses", f.Body(`"input":"x","previous_response_id":"`+two.ID+`"`), 500,
			"stored_data_unreadable")
		f.Refused("POST", "responses", f.Body(`"input":"x","stream":true,"previous_response_id":"`+two.ID+`"`), 500,
			"stored_data_unreadable")
		f.Refused("GET", "responses/"+four.ID, "", 500, "stored_data_unreadable")
		if n := len(f.Prompts()); n != before {
			f.T.Errorf("the model was asked with half a conversation: %s", f.LastPrompt())
		}
		f.Do("GET", "responses/"+two.ID, "", 200)
		if r := f.Create(`"input":"first question","previous_response_id":"` + three.ID + `"`); r.Text() != "answer three" {
			f.T.Errorf("%+v", r)
		}
		if text := f.replicas[0].Stderr.String(); !strings.Contains(text, "item "+one.Output[1].ID) ||
			!strings.Contains(text, "response "+four.ID) || strings.Contains(text, "question") {
			f.T.Errorf("the log: %s", text)
		}
	})
}

// TestCorruptJob changes what is stored of responses that wait to be made in the background: they fail, and the others
// are made.
func TestCorruptJob(t *testing.T) {
	onDatabases(t, "  background: 1\n", held(), func(f *fleet, db *storetest.DB) {
		var ids []string
		for i := range 4 {
			if i == 1 {
				f.Asked(1) // the others wait
			}
			ids = append(ids, f.Create(`"input":"first question","background":true`).ID)
		}
		streamed := f.Open("POST", "responses", f.Body(streamedBehind))
		for _, statement := range []string{
			"UPDATE responses SET request = (SELECT request FROM responses WHERE id = '" + ids[3] + "') WHERE streamed OR " +
				"id = '" + ids[1] + "'",
			"UPDATE items SET body = (SELECT i.body FROM items i JOIN responses r ON i.response = r.key " +
				"WHERE r.id = '" + ids[3] + "') WHERE response = (SELECT key FROM responses WHERE id = '" + ids[2] + "')",
		} {
			if _, err := db.ExecContext(f.T.Context(), statement); err != nil {
				f.T.Fatal(err)
			}
		}
		f.Sim.Release()
		for i, want := range []string{"completed", "failed", "failed", "completed"} {
			if r := f.Await(ids[i]); r.Status != want || want == "failed" && r.Code() != "server_error" {
				f.T.Errorf("response %d: %+v", i, r)
			}
		}
		if r := f.LastOf(streamed.End()); r.Status != "failed" || r.Code() != "server_error" {
			f.T.Errorf("the streamed response: %+v", r)
		}
	})
}

// TestNotThisStore starts the service with a key that is not the store's, without any, and with a store of a newer
// version: it says what is wrong, and ends.
func TestNotThisStore(t *testing.T) {
	onDatabases(t, "", atOnce(), func(f *fleet, db *storetest.DB) {
		one := f.Create(`"input":"first question"`)
		r := f.replicas[0]
		r.Kill(f.T)
		refuses := func(environment, want string) {
			f.T.Helper()
			p := lab.RunHarmony(f.T, []string{environment}, r.arguments...)
			if !p.Ended(lab.ReadyLimit) {
				f.T.Fatalf("it runs with %.30s…", environment)
			}
			if code := p.ExitCode(f.T); code != 2 || !strings.Contains(p.Stderr.String(), want) {
				f.T.Errorf("exit status %d: %s", code, &p.Stderr)
			}
		}
		refuses("HARMONY_STORE_KEYS=", "set HARMONY_STORE_KEYS")
		refuses("HARMONY_STORE_KEYS=test:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=", "is not the one")
		refuses("HARMONY_STORE_KEYS=other:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=", "records of the key test")
		refuses("HARMONY_STORE_KEYS=test:short", "HARMONY_STORE_KEYS")
		newer := func(statement string) {
			f.T.Helper()
			if _, err := db.ExecContext(f.T.Context(), statement); err != nil {
				f.T.Fatal(err)
			}
		}
		newer("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)")
		refuses(service.StoreKeys, "the store has version 99")
		newer("DELETE FROM goose_db_version WHERE version_id = 99")
		r.launch()
		f.Do("GET", "responses/"+one.ID, "", 200)
	})
}

// unavailable fails the test unless all that needs the store is refused, and nothing else is. reads reports whether
// nothing can be read either. Else the store is full.
func (f *fleet) unavailable(reads bool) {
	f.T.Helper()
	status, code := 503, "store_unavailable"
	if !reads {
		status, code = 507, "store_full"
	}
	for _, members := range []string{`"input":"first question"`, `"input":"first question","background":true`,
		`"input":"first question","background":true,"stream":true`} {
		a := f.Refused("POST", "responses", f.Body(members), status, code)
		if reads && a.Header.Get("retry-after") == "" {
			f.T.Errorf("no retry-after: %v", a.Header)
		}
	}
	f.Refused("POST", "conversations", `{}`, status, code)
	if reads {
		f.Refused("GET", "responses/resp_1", "", 503, "store_unavailable")
		f.Refused("POST", "responses", f.Body(`"input":"x","previous_response_id":"resp_1"`), 503, "store_unavailable")
		f.Refused("GET", "conversations/conv_1/items", "", 503, "store_unavailable")
	}
	if r := f.Create(`"input":"first question","store":false`); r.Text() != "answer one" {
		f.T.Errorf("%+v", r)
	}
	if r, _ := f.Stream(`"input":"first question","store":false`); r.Text() != "answer one" {
		f.T.Errorf("%+v", r)
	}
}

// TestDatabaseGone kills PostgreSQL, and starts it again.
func TestDatabaseGone(t *testing.T) {
	server := lab.StartPostgres(t)
	f := startFleet(t, "wazero", server.Database("gone"), "", 1, atOnce())
	one := f.Create(`"input":"first question"`)
	server.Kill()
	f.unavailable(true)
	// A stream that has begun cannot be refused any more. It ends as failed, because it could not be continued.
	if r, _ := f.Stream(`"input":"first question"`); r.Status != "failed" || r.Code() != "server_error" {
		t.Errorf("%+v", r)
	}
	f.replicas[0].Kill(t)
	f.replicas[0].begin() // it waits for the database
	f.unavailable(true)
	server.Start()
	f.replicas[0].ready()
	if r := f.Create(`"input":"second question","previous_response_id":"` + one.ID + `"`); r.Text() != "answer two" {
		t.Errorf("%+v", r)
	}
}

// TestDatabaseBack kills PostgreSQL under a response in the background, and starts it again. The client's stream is
// cut; the response is made all the same, and the stream is whole when it is resumed.
func TestDatabaseBack(t *testing.T) {
	server := lab.StartPostgres(t)
	f := startFleet(t, "wazero", server.Database("back"), "", 1, held())
	begun := f.Open("POST", "responses", f.Body(streamedBehind)).Until(`delta"`)
	at, seen := begun.LastNumber(), begun.Text.String()
	server.Kill()
	if text := begun.End(); strings.Contains(text, "response.completed") || strings.Contains(text, "response.failed") {
		t.Errorf("the stream has an end: %s", text)
	}
	f.Sim.Release()
	server.Start()
	f.untilAnswered("responses/" + begun.ID) // connections of before the kill may fail once more
	if r := f.Await(begun.ID); r.Status != "completed" || r.Text() != "answer one" {
		t.Errorf("%+v", r)
	}
	rest := f.Do("GET", fmt.Sprintf("responses/%s?stream=true&starting_after=%d", begun.ID, at), "", 200).Body
	if last := f.LastOf(seen + rest); last.Text() != "answer one" {
		t.Errorf("%+v", last)
	}
}

// TestFullDisk lets the file of SQLite grow no more, as a full disk does, and then again.
func TestFullDisk(t *testing.T) {
	f := startFleet(t, "wazero", "", "", 1, atOnce())
	one := f.Create(`"input":"first question"`)
	limit := func(size string) {
		t.Helper()
		pid := fmt.Sprint(f.replicas[0].Cmd.Process.Pid)
		if output, err := exec.Command("prlimit", "--pid", pid, "--fsize="+size+":").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	limit("4096")
	f.unavailable(false)
	if r, _ := f.Stream(`"input":"first question"`); r.Status != "failed" || r.Code() != "server_error" {
		t.Errorf("%+v", r)
	}
	f.Do("GET", "responses/"+one.ID, "", 200)
	f.Refused("DELETE", "responses/"+one.ID, "", 507, "store_full")
	limit("unlimited")
	two := f.Create(`"input":"second question","previous_response_id":"` + one.ID + `"`)
	f.replicas[0].restart()
	l := &list{}
	f.Object("ResponseItemList", f.Do("GET", "responses/"+two.ID+"/input_items?order=asc", "", 200), l)
	if l.Texts() != "first question|thought one|answer one|second question" {
		t.Error(l.Texts())
	}
}

// TestMigrationCut kills a replica in the middle of the first migration of PostgreSQL. The next one begins again.
func TestMigrationCut(t *testing.T) {
	server := lab.StartPostgres(t)
	other := server.Database("other")
	f := startFleet(t, "wazero", other, "", 1, atOnce())
	database := server.Database("cut")
	db := storetest.OpenSQL(t, database)
	// A table of that name which is not committed makes the migration wait after it has made other tables.
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "CREATE TABLE items (key BIGINT)"); err != nil {
		t.Fatal(err)
	}
	r := f.replicas[0]
	r.Kill(t)
	r.useStore(other, database)
	r.begin()
	waits := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "+
			"AND datname = current_database() AND query LIKE '%CREATE TABLE items%'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for end := time.Now().Add(lab.Patience); waits() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the migration does not wait")
		}
	}
	f.unavailable(true)
	r.Kill(t)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	r.launch()
	one := f.Create(`"input":"first question"`)
	if r := f.Create(`"input":"second question","previous_response_id":"` + one.ID + `"`); r.Text() != "answer two" {
		t.Errorf("%+v", r)
	}
}

// untilAnswered waits until a GET is not answered 503.
func (g *gateway) untilAnswered(path string) {
	g.T.Helper()
	for end := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
		if a := lab.Do(g.Client, "GET", g.URL+"/v1/"+path, nil, nil); a.Err == nil && a.Status != 503 {
			return
		} else if time.Now().After(end) {
			g.T.Fatalf("%d, %v: %s", a.Status, a.Err, a.Body)
		}
	}
}
