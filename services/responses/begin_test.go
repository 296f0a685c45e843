package responses

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/internal/memlog"
	"github.com/harmonyedge/harmonyedge/services/responses/store/storetest"
)

// notBegun is what the service logs when a response in the background cannot be marked as begun.
const notBegun = "cannot be begun"

// TestStoreAwayAtFirstToken: a response in the background is made, though the store is away when its model begins to
// answer.
func TestStoreAwayAtFirstToken(t *testing.T) {
	server := toolservers.Plain(t, saying("hello"))
	for name, tt := range map[string]struct {
		members string
		answers []string
	}{
		"whole":    {`"stream":false`, []string{answerOf("completed", 1, 1, textItem("done"))}},
		"streamed": {`"stream":true`, []string{answerOf("completed", 1, 1, textItem("done"))}},
		// Tools run only when the store knows that the response has begun.
		"tools": {`"stream":false,` + never, []string{answerOf("completed", 1, 1, callItem("t", "say_it", `{}`)),
			answerOf("completed", 1, 1, textItem("done"))}},
	} {
		t.Run(name, func(t *testing.T) {
			model, asked, hold := &script{answers: tt.answers}, make(chan struct{}, 10), make(chan struct{})
			log := &memlog.Log{}
			before := len(server.Calls())
			o := running(ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.Streamable()}}})
			o.Log = slog.New(slog.NewTextHandler(log, nil))
			o.Store.URL = t.TempDir() + "/responses.db"
			f := startAt(t, o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-hold
				model.ServeHTTP(w, r)
			}))
			db := storetest.OpenSQL(t, o.Store.URL)
			rename := func(from, to string) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), fmt.Sprintf("ALTER TABLE %s RENAME TO %s", from, to)); err != nil {
					t.Fatal(err)
				}
			}
			ended := make(chan struct{})
			go func() { // its stream is cut when the store is away
				defer close(ended)
				answer, err := http.Post(f.url+"/v1/responses", "application/json", strings.NewReader(
					`{"model":"m","input":"x","background":true,`+tt.members+`}`))
				if err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}()
			<-asked
			var id string
			if err := db.QueryRowContext(t.Context(), "SELECT id FROM responses").Scan(&id); err != nil {
				t.Fatal(err)
			}
			rename("responses", "away")
			close(hold)
			await(t, func() bool { return strings.Contains(log.String(), notBegun) })
			if n := len(server.Calls()) - before; n > 0 {
				t.Errorf("%d calls were run before the store knew", n)
			}
			rename("away", "responses")
			body := ""
			await(t, func() bool {
				_, body = f.do("GET", "/v1/responses/"+id, "")
				return strings.Contains(body, `"status":"completed"`) && strings.Contains(body, "done") ||
					strings.Contains(body, `"status":"failed"`)
			})
			if strings.Contains(body, `"status":"failed"`) {
				t.Errorf("%s\n%s", body, log)
			}
			if len(model.asked) != len(tt.answers) {
				t.Errorf("the model was asked %d times", len(model.asked))
			}
			<-ended
		})
	}
}
