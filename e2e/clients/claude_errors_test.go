//go:build e2e

package clients

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/sim"
)

// claudeFailure is a row of the table of failures.
type claudeFailure struct {
	title string
	// acts are what the model does, and fault is what its server does with each of them. finish is the reason for an
	// answer that has no token at its end.
	acts          []act
	fault, finish string
	// model is the name, if it is not lab.Model, and key the client's, if it is not the one that is known.
	model, key string
	// environment is added to Claude Code's.
	environment []string
	// narrow reports whether its gateway is an Envoy of its own, which holds little of a request.
	narrow bool
	// host is the only host that can fail so, if it is not every one.
	host string
	// prepare, if it is set, makes the folder ready, or what must be there.
	prepare func(t *testing.T, c *claudeCell)
	// says is how what the user sees begins, and asks how many requests Claude Code makes at most.
	says string
	asks int32
}

// The models of the gateway of failures.
const (
	tinyModel   = "tiny"    // has no place for Claude Code's prompt
	smallModel  = "small"   // has place for little more
	fullModel   = "full"    // its server works on one request at once
	filterModel = "filters" // its server takes conversations
	absentModel = "absent"  // its server does not run
	dropModel   = "drops"   // reads a note for each picture
	freeModel   = "free"    // its server cannot be held to a form of the answer
)

// The clients' keys. Those after the first have limits.
const (
	theKey    = "sk-harmony-of-a-test"
	minuteKey = "sk-harmony-of-a-minute"
	dayKey    = "sk-harmony-of-a-day"
	fewKey    = "sk-harmony-of-few-tokens"
)

// claudeKeys is the keys file.
func claudeKeys(t *testing.T) string {
	t.Helper()
	return lab.WriteConfig(t, fmt.Sprintf(`
clients:
  - { name: a, hashes: [%q] }
  - { name: minute, hashes: [%q], limits: { requests_per_minute: 2 } }
  - { name: day, hashes: [%q], limits: { requests_per_day: 1 } }
  - { name: few, hashes: [%q], limits: { tokens_per_minute: 1000 } }
`, clients.HashOf(theKey), clients.HashOf(minuteKey), clients.HashOf(dayKey), clients.HashOf(fewKey)))
}

// answered are the acts of a model that only answers.
var answered = []act{asked(saying(done))}

// nothing is what the user sees of an answer without a text.
const nothing = "nothing"

// numbersAnd is a command with some thousand tokens of output, which end with a word.
func numbersAnd(word string) string { return command("seq 1 1600; echo " + word) }

// unended is a long answer without a token at its end.
func unended(words int) string {
	return thought + "<|channel|>final<|message|>" + strings.Repeat("One more word. ", words/3)
}

// countRequests is a proxy that counts requests for answers.
func countRequests(t *testing.T, to string, n *atomic.Int32) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/messages" {
			n.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// claudeFailuresConfig is the configuration of the gateway.
const claudeFailuresConfig = `
clients: { keys_file: %[1]q }
body_limit: 256KiB
stall_timeout: 5s
models:
  - { name: ` + lab.Model + `, servers: ['vllm=%[3]s'] }
  - { name: ` + tinyModel + `, server_model: ` + lab.Model + `, servers: ['vllm=%[3]s'], context_length: 4096 }
  - { name: ` + smallModel + `, server_model: ` + lab.Model + `, servers: ['vllm=%[3]s'], context_length: 20000 }
  - { name: ` + filterModel + `, server_model: ` + lab.Model + `, servers: ['chat=%[4]s'] }
  - { name: ` + dropModel + `, server_model: ` + lab.Model + `, servers: ['vllm=%[3]s'], unsupported_content: drop }
  - { name: ` + absentModel + `, server_model: ` + lab.Model + `, servers: ['vllm=http://%[5]s'] }
  - { name: ` + freeModel + `, server_model: ` + lab.Model + `, servers: ['vllm=%[3]s'], structured_outputs: refuse }
%[6]s%[2]s`

// claudeLimitsConfig is what only Envoy can do.
const claudeLimitsConfig = `  - { name: ` + fullModel + `, server_model: ` + lab.Model + `, pool: full }
pools: [{ name: full, kind: vllm, servers: ['%s'], capacity: 1 }]
limits: { url: '%s', on_failure: refuse, timeout: 30s }
`

// startClaudeFailures starts a gateway before servers that fail. Only Envoy asks a rate limit service.
func startClaudeFailures(t *testing.T, host string) (url string) {
	t.Helper()
	_, ids := lab.RunSim(t, sim.Options{Script: sim.NewScript(failureLines(t)...)})
	_, chat := lab.RunSim(t, sim.Options{Kind: sim.Chat, Script: sim.NewScript(failureLines(t)...)})
	keys, limits := claudeKeys(t), ""
	if host == "envoy" {
		_, slow := lab.RunSim(t, sim.Options{TokensPerSecond: 2, Script: sim.NewScript(
			sim.Line{Match: "Occupy", Tokens: lab.Tokens(unended(6000))})})
		service := lab.RunHarmony(t, nil, "limits", "--keys", keys, "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0")
		limits = fmt.Sprintf(claudeLimitsConfig, slow, "http://"+service.Announced(t, `serving Envoys on (\S+)`))
	}
	_, url = lab.StartUp(t, "--host", host, "--config",
		lab.WriteConfig(t, fmt.Sprintf(claudeFailuresConfig, keys, limits, ids, chat, lab.FreeAddress(t),
			startRefusing(t))))
	return url
}

// TestClaudeFailures lets requests of Claude Code fail, and looks at what its user sees in the end. Without
// HARMONY_CLAUDE it takes the picture, on one host. -update writes the page's table.
func TestClaudeFailures(t *testing.T) {
	rows := make([][]string, len(claudeFailures))
	t.Run("hosts", func(t *testing.T) {
		for _, host := range clientHosts {
			if !wholeClaudeTable() && host != "wazero" {
				continue
			}
			t.Run(host, func(t *testing.T) {
				gateway := startClaudeFailures(t, host)
				for i, f := range claudeFailures {
					if !wholeClaudeTable() && f.title != "a picture that is refused" || f.host != "" && f.host != host {
						continue
					}
					t.Run(f.title, func(t *testing.T) { rows[i] = append(rows[i], f.play(t, i, gateway)) })
				}
			})
		}
	})
	table := "| what fails | requests | the user sees |\n|---|---|---|\n"
	for i, f := range claudeFailures {
		row := strings.Join(rows[i][:min(1, len(rows[i]))], "")
		if len(rows[i]) == 2 && rows[i][1] != row {
			t.Errorf("%s: the hosts differ: %q", f.title, rows[i])
		}
		table += "| " + f.title + " | " + row + " |\n"
	}
	if wholeClaudeTable() {
		claudeTable().compareTable(t, "failures", table)
	}
}

// play lets it happen, and returns how many requests were made and what the user sees.
func (f *claudeFailure) play(t *testing.T, row int, gateway string) string {
	var requests atomic.Int32
	model, key := cmp.Or(f.model, lab.Model), cmp.Or(f.key, theKey)
	if f.narrow {
		gateway = startNarrowEnvoy(t)
	}
	c := &claudeCell{tag: cellTag(0, row), room: &codexRoom{url: gateway},
		claude: newClaude(t, countRequests(t, gateway, &requests), model)}
	c.claude.environment = append([]string{"CLAUDE_CODE_MAX_RETRIES=2", "ANTHROPIC_AUTH_TOKEN=" + key}, f.environment...)
	if f.prepare != nil {
		f.prepare(t, c)
	}
	defer takeCore()()
	turn := c.claude.run(t, c.task())
	c.log(t, turn)
	n, seen := requests.Load(), cmp.Or(turn.result, nothing)
	works := slices.Contains([]string{done, nothing, hookStops}, f.says)
	if works == turn.failed || !strings.HasPrefix(seen, f.says) || n > f.asks {
		t.Errorf("%d requests, failed: %v, and the user sees %q", n, turn.failed, seen)
	}
	return fmt.Sprintf("%d | %s", n, seenText(seen))
}

// useUp uses up a limit of requests.
func (c *claudeCell) useUp(t *testing.T, key string, requests int) {
	t.Helper()
	for range requests {
		if a := c.say(t, lab.Model, key, "Hello."); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
}

// say sends a short request to the gateway.
func (c *claudeCell) say(t *testing.T, model, key, text string) lab.Answer {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"max_tokens":16,"messages":[{"role":"user","content":%q}]}`, model, text)
	return lab.Do(lab.HTTP1(t), http.MethodPost, c.room.url+contract.MessagesPath, http.Header{"X-Api-Key": {key}},
		strings.NewReader(body))
}

// occupy has the server of the full pool write an answer until the test ends.
func (c *claudeCell) occupy(t *testing.T) {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"max_tokens":4000,"stream":true,"messages":[{"role":"user","content":"Occupy it."}]}`,
		fullModel)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.room.url+contract.MessagesPath,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", theKey)
	answer, err := lab.HTTP1(t).Do(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", answer, err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
}

// page is a PDF.
func page() []byte {
	content := "BT /F1 18 Tf 20 100 Td (Hello) Tj ET"
	text, offsets := "%PDF-1.4\n", ""
	for i, object := range []string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"} {
		offsets += fmt.Sprintf("%010d 00000 n \n", len(text))
		text += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	return fmt.Appendf(nil, "%sxref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n",
		text, offsets, len(text))
}

// noise is a picture of so many pixels each way, which nothing makes smaller.
func noise(size int) []byte {
	m, random := image.NewNRGBA(image.Rect(0, 0, size, size)), rand.New(rand.NewPCG(1, uint64(size)))
	for i := range m.Pix {
		m.Pix[i] = byte(random.Uint32()) | 0x03 // at least a little opaque
	}
	var file bytes.Buffer
	_ = png.Encode(&file, m) // a bytes.Buffer takes everything
	return file.Bytes()
}

// varying are counts that differ from run to run: paths are in the prompts.
var varying = regexp.MustCompile(`~\d+`)

// mostSeen is how many characters of what a user sees a cell has.
const mostSeen = 60

// seenText is what a user sees, for a cell of a table: its first sentence, or how that begins.
func seenText(text string) string {
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "|", "/"), "\n")
	text, _, _ = strings.Cut(text, ". ")
	text, _, _ = strings.Cut(text, " (limit ")
	text = varying.ReplaceAllString(text, "N")
	if all := []rune(text); len(all) > mostSeen {
		text = string(all[:mostSeen]) + "…"
	}
	return text
}
