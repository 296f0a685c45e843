//go:build e2e

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// earlyPrograms make the requests of the real clients, which speak HTTP/1.1. LangChain and openai-agents are
// openai-python here.
var earlyPrograms = map[string]string{
	python: "openai-python/early.py", asyncPython: "openai-python/early.py", node: "early.mjs", vercel: "early.mjs",
}

// earlyResult is what became of a row.
type earlyResult struct {
	finish string
	// had is how many tokens had come when the answer ended.
	had int
	err error
}

// runEarly makes the requests of all rows at once.
func runEarly(t *testing.T, server *sim.Server, programs, url, protocol string, rows []earlyRow,
	ids []string) []earlyResult {
	client := lab.HTTP1(t)
	if protocol == "h2" {
		client = lab.HTTP2(t)
	}
	results := make([]earlyResult, len(rows))
	var all sync.WaitGroup
	tasks := map[string][]earlyTask{}
	places := map[string][]int{}
	for i, r := range rows {
		if program := earlyPrograms[r.client]; program != "" {
			tasks[program], places[program] = append(tasks[program], r.task(ids[i])), append(places[program], i)
			continue
		}
		all.Go(func() { results[i] = r.run(server, client, url, ids[i]) })
	}
	for program := range tasks {
		command := clientCommand(t, programs, program, url)
		all.Go(func() {
			for i, result := range runEarlyProgram(t, programs, command, tasks[program]) {
				results[places[program][i]] = result
			}
		})
	}
	all.Wait()
	return results
}

func (r earlyRow) run(server *sim.Server, client *http.Client, url, id string) earlyResult {
	path := lab.ChatPath
	if strings.HasPrefix(r.asks, "responses") {
		path = lab.ResponsesPath
	}
	ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
	defer cancel()
	body := fmt.Sprintf(earlyBodies[r.asks], r.stream)
	if r.stream && path == lab.ChatPath {
		body = `{"stream_options":{"include_usage":true},` + body[1:]
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(body))
	if err != nil {
		return earlyResult{err: err}
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-row", id)
	if r.client == leaves && !r.stream {
		return leaveWhole(ctx, server, client, request, id)
	}
	response, err := client.Do(request)
	if err != nil {
		return earlyResult{err: err}
	}
	defer response.Body.Close()
	var seen bytes.Buffer
	chunk := make([]byte, 4<<10)
	for {
		n, err := response.Body.Read(chunk)
		seen.Write(chunk[:n])
		if r.client == leaves && strings.Contains(seen.String(), "think") {
			return earlyResult{had: sentFor(server, id)}
		}
		done := r.client == stopsAtDone && bytes.HasSuffix(seen.Bytes(), []byte(lab.LastWord))
		if err == nil && !done {
			continue
		}
		if err == io.EOF || done {
			err = nil
		}
		return earlyResult{finish: finishOf(seen.String()), had: tokensOf(seen.String()), err: err}
	}
}

// leaveWhole is a client that gives up while it waits for a whole answer.
func leaveWhole(ctx context.Context, server *sim.Server, client *http.Client, request *http.Request,
	id string) earlyResult {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	var had int
	go func() {
		_, _ = server.Await(ctx, func(list []sim.Request) bool {
			for _, q := range list {
				if q.Header.Get("x-row") == id && q.TokensSent >= 3 {
					had = q.TokensSent
					return true
				}
			}
			return false
		})
		leave()
	}()
	response, err := client.Do(request.WithContext(gone))
	if err == nil {
		response.Body.Close()
		return earlyResult{err: fmt.Errorf("status %d", response.StatusCode)}
	}
	return earlyResult{had: had}
}

func sentFor(server *sim.Server, id string) int {
	for _, q := range server.Requests() {
		if q.Header.Get("x-row") == id {
			return q.TokensSent
		}
	}
	return 0
}

var (
	finishPattern = regexp.MustCompile(
		`"finish_reason":"([a-z_]+)"|"type":"response\.(incomplete|completed)"|"status":"(incomplete|completed)","background"`)
	tokensPattern = regexp.MustCompile(`"(?:completion|output)_tokens":(\d+)`)
)

func finishOf(body string) string {
	m := finishPattern.FindAllStringSubmatch(body, -1)
	if len(m) == 0 {
		return ""
	}
	last := m[len(m)-1]
	return last[1] + last[2] + last[3]
}

func tokensOf(body string) int {
	m := tokensPattern.FindStringSubmatch(body)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// earlyTask is a row as early.py and early.mjs read it.
type earlyTask struct {
	Row    string         `json:"row"`
	Client string         `json:"client"`
	API    string         `json:"api"`
	Stream bool           `json:"stream"`
	Body   map[string]any `json:"body"`
}

func (r earlyRow) task(id string) earlyTask {
	api, _, _ := strings.Cut(r.asks, " ")
	task := earlyTask{Row: id, Client: r.client, API: api, Stream: r.stream}
	_ = json.Unmarshal(fmt.Appendf(nil, earlyBodies[r.asks], r.stream), &task.Body)
	delete(task.Body, "stream")
	if r.stream && api == "chat" {
		task.Body["stream_options"] = map[string]any{"include_usage": true}
	}
	return task
}

// runEarlyProgram runs a program on tasks and returns what became of each.
func runEarlyProgram(t *testing.T, programs string, command []string, tasks []earlyTask) []earlyResult {
	lines := runTasks(t, programs, command, tasks)
	results := make([]earlyResult, len(tasks))
	if len(lines) != len(tasks) {
		t.Errorf("%d results of %d tasks: %s", len(lines), len(tasks), lines)
		return results
	}
	for i, line := range lines {
		var seen struct {
			Finish, Error string
			Tokens        int
		}
		if err := json.Unmarshal([]byte(line), &seen); err != nil {
			t.Error(err)
		}
		results[i] = earlyResult{finish: seen.Finish, had: seen.Tokens}
		if seen.Error != "" {
			results[i].err = fmt.Errorf("%s", seen.Error)
		}
	}
	return results
}
